package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
)

// TryAcquire makes one attempt, in one round trip, or two if another owner has a key that seemed
// free. Then it fails with a [*driver.HeldError]. It also fails if the key is free but others
// wait for it; then it grants the key to the first of them.
func (b *backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, _, err := b.attempt(ctx, r, cmp.Or(r.From, modeTry), nil)
	return g, err
}

// Enqueue implements [driver.Queuer]. If the key contains a lock of another kind, it
// takes no place.
func (b *backend) Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error) {
	w := b.inbox.waiterOf(r)
	asked := time.Now()
	g, issued, err := b.attempt(ctx, r, modeEnqueue, w)
	switch {
	case err == nil:
		w.end()
	case errors.Is(err, driver.ErrNotAcquired) && !errors.Is(err, driver.ErrForeign):
		w.refused(asked, issued)
	default:
		w.endUnwatched()
	}
	return g, err
}

// Turn implements [driver.Waker]. The channel receives the grant as soon as the message
// arrives that the key was granted to the owner. An owner without a place has no
// channel.
func (b *backend) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	b.inbox.open()
	return b.inbox.watch(ctx, r.Owner, b.grantOf)
}

// grantOf returns the grant in a message, if the function may start before the claim.
// The key is the owner's for the claim window, and the first renewal is the claim.
//
// The message itself says nothing about when the server began to count: it may be late.
// But the attempt before was refused, and was sent at the time asked. So the claim
// window began after that, if the message is newer than the refusal: then the tokens
// are larger than all that were issued before. If less than half of the claim window
// is left, or if replicas have to confirm the lock, the next attempt claims the key.
func (b *backend) grantOf(r driver.Request, m message, asked time.Time, issued uint64) driver.Grant {
	if m.tokens == "" || !r.Renews || b.replicas.n > 0 {
		return driver.Grant{}
	}
	g, _, ok := granted(r, m.tokens)
	if !ok || g.Token <= issued {
		return driver.Grant{}
	}
	g.Sent = time.Now()
	window := clock.SafeTTL(min(m.claim, r.TTL))
	if clock.Elapsed(asked, g.Sent) > window/2 {
		return driver.Grant{}
	}
	g.Until = asked.Add(window)
	b.dispatcher.plain.saw(g.LastToken)
	return g
}

// Extend extends g and issues further tokens, in one round trip, unless others wait for
// the key. Only exclusive locks can be extended; for others the error also wraps
// [driver.ErrNotAcquired].
func (b *backend) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	if share(g.Mode, g.Permits) != "" {
		return driver.Grant{}, errExtendShared
	}
	r := driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL, Tokens: tokens}
	more, _, err := b.attempt(ctx, r, modeExtend, nil)
	return more, err
}

var errExtendShared = fmt.Errorf("redislock: only an exclusive lock can be extended: %w", driver.ErrNotAcquired)

// attempt runs acquire.lua once. If another owner has the key, it returns a HeldError,
// and the last token that was issued before.
func (b *backend) attempt(ctx context.Context, r driver.Request, mode string, w *waiter) (_ driver.Grant, issued uint64, _ error) {
	if err := b.checkRequest(r); err != nil {
		return driver.Grant{}, 0, err
	}
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, 0, err // nothing was sent
	}
	by := time.Now().Add(b.cfg.OpTimeout)
	b.checkEviction()

	a := b.dispatcher.do(ctx, &request{
		script: acquireScript, key: r.Key, owner: r.Owner, share: share(r.Mode, r.Permits),
		ttl: r.TTL.Milliseconds(), mode: mode, tokens: r.Tokens, once: b.replicas.n > 0, waiter: w,
		// A script that is still on its way could give back what a plain attempt has
		// taken.
		plain: (mode == modeTry || mode == modeEnqueue) && r.TTL <= maxPlainTTL && b.inDoubt.Of(r.Owner) == 0,
	})
	if !a.OutcomeKnown {
		b.inDoubt.Add(r.Owner, doubt.Attempt)
	}
	switch {
	case a.Err != nil && redis.HasErrorPrefix(a.Err, "WRONGTYPE"):
		err := b.wrongType(ctx, r.Key, a.Err)
		if (mode == modeExtend || r.From != "") && errors.Is(err, driver.ErrForeign) {
			err = fmt.Errorf("redislock: the owner does not have the key: %w", driver.ErrLost)
		}
		return driver.Grant{}, 0, err
	case a.Err != nil && a.OutcomeKnown && !rediskit.Answered(a.Err):
		return driver.Grant{}, 0, driver.NotSent(a.Err)
	case a.Err != nil:
		return driver.Grant{}, 0, a.Err
	}
	g, issued, err := b.parseReply(r, a)
	if err == nil && mode != modeExtend && a.Value.confirmed < b.replicas.n {
		return driver.Grant{}, 0, b.replicas.unconfirmed(a.Value.confirmed)
	}
	if several := b.checkServer(ctx, by); several != nil {
		return driver.Grant{}, 0, several
	}
	if mode == modeTry && !a.OutcomeKnown && errors.Is(err, driver.ErrNotAcquired) {
		// A caller that does not queue does not release after a refusal. The copy that had
		// no answer could still take the key, and no caller would have it.
		if lost := b.Release(ctx, r.Grant()); lost != nil && !errors.Is(lost, driver.ErrLost) {
			return driver.Grant{}, 0, fmt.Errorf("redislock: the attempt is in doubt: %w", lost)
		}
	}
	return g, issued, err
}

// parseReply parses the reply of acquire.lua.
func (b *backend) parseReply(r driver.Request, a dispatch.Result[reply]) (_ driver.Grant, issued uint64, _ error) {
	if last := a.Value.issued; last > 0 {
		g := grant(r, last-uint64(plainTokens(r.Tokens)), last)
		g.Sent = a.Sent
		b.dispatcher.plain.saw(last)
		return g, 0, nil
	}
	status, rest, _ := strings.Cut(a.Value.line, " ")
	switch status {
	case "1":
		if g, clock, ok := granted(r, rest); ok {
			g.Sent = a.Sent
			b.dispatcher.plain.granted(g, clock)
			return g, 0, nil
		}
	case "0":
		if held, issued := parseRefusal(rest); held != nil {
			b.dispatcher.plain.saw(issued)
			return driver.Grant{}, issued, held
		}
	case "2":
		return driver.Grant{}, 0, fmt.Errorf("redislock: the owner does not have the key: %w", driver.ErrLost)
	}
	b.inDoubt.Add(r.Owner, doubt.Attempt)
	return driver.Grant{}, 0, fmt.Errorf("redislock: acquire answered %q", a.Value.line)
}

// granted parses what follows the 1 of a grant: the last token that was issued before,
// the last one of this grant, and whether others wait. It also reports whether the last
// token is the server's time: a repeated grant and a clock that was set back issue few
// tokens.
func granted(r driver.Request, rest string) (g driver.Grant, clock, ok bool) {
	before, rest, _ := strings.Cut(rest, " ")
	last, others, _ := strings.Cut(rest, " ")
	b, err := strconv.ParseUint(before, 10, 64)
	l, err2 := strconv.ParseUint(last, 10, 64)
	if err != nil || err2 != nil || b >= l {
		return driver.Grant{}, false, false
	}
	g = grant(r, b, l)
	g.Contended = others == "1"
	return g, l-b > maxPlainTokens, true
}

// grant returns the grant of an attempt that has issued the tokens after before, up to
// last.
func grant(r driver.Request, before, last uint64) driver.Grant {
	g := r.Grant()
	g.Token, g.LastToken = max(before+1, last-min(last, uint64(max(r.Tokens, 1))-1)), last
	return g
}

// parseRefusal parses what follows the 0 of a refusal: see refusal.lua. It returns nil
// if it cannot be parsed.
func parseRefusal(rest string) (held *driver.HeldError, issued uint64) {
	words := strings.Fields(rest)
	if len(words) < 2 {
		return nil, 0
	}
	ms, err := strconv.ParseInt(words[0], 10, 64)
	issued, err2 := strconv.ParseUint(words[1], 10, 64)
	if err != nil || err2 != nil {
		return nil, 0 //nolint:nilerr // the caller reports the reply
	}
	held = new(driver.HeldError)
	if ms >= 0 {
		held.RetryAfter = time.Duration(ms+1) * time.Millisecond // the server rounds down
	}
	if len(words) > 2 {
		if us, err := strconv.ParseInt(words[2], 10, 64); err == nil && us > 0 {
			held.Held = time.Duration(us) * time.Microsecond
		}
	}
	if len(words) > 3 {
		held.Holder = words[3]
	}
	return held, issued
}

func (b *backend) checkRequest(r driver.Request) error {
	if r.TTL < time.Millisecond {
		return fmt.Errorf("redislock: a TTL of %v is less than a millisecond", r.TTL)
	}
	if err := checkMode(r.Mode, r.Permits); err != nil {
		return err
	}
	return b.checkNames(r.Key, r.Owner)
}
