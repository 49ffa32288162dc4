package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
)

func lsCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name:  "ls",
		Usage: "list the locks that have holders or waiters",
		Description: "There is a line for each holder, and one for each key that has only waiters. HOLDER is the name\n" +
			"of the process, by default its host and process id; - if it has none, as with the locks of other\n" +
			"libraries. OWNER is a fingerprint, which stays the same as long as one process has the key. SINCE\n" +
			"and LEFT are the store's values; a live holder renews its lease, so it can hold the lock for longer\n" +
			"than LEFT. If the prefix is a whole key, a value of another program is listed, too: its MODE is\n" +
			"foreign, with the type that the store reports.",
		UsageText: "distlock ls [-backend URL] [-prefix orders:] [-limit 100] [-timeout 10s] [-json]",
		Flags: []cli.Flag{
			backendFlag(),
			&cli.StringFlag{Name: "prefix", Usage: "only keys that begin with `TEXT`"},
			&cli.IntFlag{Name: "limit", Value: 100, Usage: "at most `N` keys"},
			timeoutFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print an array of objects, with times in RFC 3339 and milliseconds"},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := noArguments(c); err != nil {
				return err
			}
			limit := c.Int("limit")
			if limit < 1 {
				return usageErrorf("-limit is %d: want at least 1", limit)
			}
			ctx, cancel, err := withTimeout(ctx, c)
			if err != nil {
				return err
			}
			defer cancel()
			locker, closeAll, err := openLocker(ctx, c)
			if err != nil {
				return err
			}
			defer closeAll() //nolint:errcheck // nothing was written
			locks, err := locker.Inspect(ctx, c.String("prefix"), limit)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return writeJSON(stdout, locks)
			}
			return writeTable(stdout, locks)
		},
	}
}

func timeoutFlag() cli.Flag {
	return &cli.DurationFlag{Name: "timeout", Value: 10 * time.Second, Usage: "stop after `TIME`"}
}

func withTimeout(ctx context.Context, c *cli.Command) (context.Context, context.CancelFunc, error) {
	d := c.Duration("timeout")
	if d <= 0 {
		return nil, nil, usageErrorf("-timeout is %v: want more than 0", d)
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	return ctx, cancel, nil
}

// lockJSON is a key in the output of -json.
type lockJSON struct {
	Key     string       `json:"key"`
	Mode    string       `json:"mode"` // exclusive, shared, permits or foreign
	Foreign string       `json:"foreign,omitempty"`
	Held    int          `json:"held"`
	Waiting int          `json:"waiting"`
	Holders []holderJSON `json:"holders"`
}

// holderJSON is a holder. Unknown fields are omitted.
type holderJSON struct {
	Holder    string    `json:"holder,omitempty"`
	Owner     string    `json:"owner,omitempty"`
	Token     uint64    `json:"token,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	ExpiresMS int64     `json:"expires_in_ms,omitempty"`
}

func writeJSON(w io.Writer, locks []distlock.KeyInfo) error {
	out := make([]lockJSON, 0, len(locks)) // not null in JSON
	for _, l := range locks {
		j := lockJSON{l.Key, modeName(l), l.Foreign, l.Held, l.Waiting, make([]holderJSON, 0, len(l.Holders))}
		for _, h := range l.Holders {
			j.Holders = append(j.Holders, holderJSON{h.Holder, h.Owner, h.Token, h.Since, max(0, h.ExpiresIn.Milliseconds())})
		}
		out = append(out, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func writeTable(w io.Writer, locks []distlock.KeyInfo) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "KEY\tMODE\tHELD\tWAITING\tHOLDER\tOWNER\tTOKEN\tSINCE\tLEFT")
	for _, l := range locks {
		mode := modeName(l)
		if l.Foreign != "" {
			mode += ":" + l.Foreign
		}
		key := fmt.Sprintf("%s\t%s\t%d\t%d\t", printable(l.Key), mode, l.Held, l.Waiting)
		if len(l.Holders) == 0 {
			_, _ = fmt.Fprintln(t, key+"-\t-\t-\t-\t-")
		}
		for _, h := range l.Holders {
			holder, owner := cmp.Or(printable(h.Holder), "-"), cmp.Or(h.Owner, "-")
			since, left, token := "-", "-", "-"
			if !h.Since.IsZero() {
				since = h.Since.Local().Format(time.DateTime)
			}
			if h.ExpiresIn > 0 {
				left = h.ExpiresIn.Round(100 * time.Millisecond).String()
			}
			if h.Token != 0 {
				token = fmt.Sprint(h.Token)
			}
			_, _ = fmt.Fprintln(t, key+strings.Join([]string{holder, owner, token, since, left}, "\t"))
		}
	}
	return t.Flush()
}

// printable quotes a key or a name that would break the table or the terminal.
func printable(text string) string {
	if quoted := fmt.Sprintf("%q", text); quoted != `"`+text+`"` || strings.Contains(text, " ") {
		return quoted
	}
	return text
}

func modeName(l distlock.KeyInfo) string {
	switch {
	case l.Foreign != "":
		return "foreign"
	case l.Semaphore:
		return "permits"
	default:
		return l.Mode.String()
	}
}
