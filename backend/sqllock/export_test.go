package sqllock

import "context"

// Sweep deletes the rows of unused keys at once.
func (b *Backend) Sweep(ctx context.Context) error { return b.sweep(ctx, 0) }

// Says returns what an error says: undone, useless, ended or nothing.
func Says(err error) (what string) {
	for name, says := range map[string]func(error) bool{"undone": undone, "useless": useless, "ended": ended} {
		if says(err) {
			what += name
		}
	}
	return what
}

// Listed returns how many members Inspect reads of the keys with the prefix.
func (b *Backend) Listed(ctx context.Context, prefix string) (members int, err error) {
	page, err := b.find(ctx, forAttempt, b.sql.list, values{"from": "", "prefix": prefix, "to": prefix + lastCharacter})
	for _, k := range page {
		members += len(k.members)
	}
	return members, err
}
