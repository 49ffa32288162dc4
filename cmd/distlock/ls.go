package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
)

func lsCommand(stdout io.Writer) *cli.Command {
	return storeCommand(10*time.Second, "print an array of objects, with times in RFC 3339 and milliseconds", &cli.Command{
		Name:  "ls",
		Usage: "list the locks that have holders or waiters",
		Description: "There is a line for each holder, and one for each key that has only waiters. Below it are the first\n" +
			"16 waiters in the order of the queue, if the store keeps one. A process has one place there, however\n" +
			"many of its callers wait: its lockui and its metrics count them. HOLDER is the name of the process, by\n" +
			"default its host and process id; - if it has none, as with the locks of other libraries. OWNER is a\n" +
			"fingerprint, which stays the same as long as one process has the key. A TOKEN of 1024…2047 is one of\n" +
			"these, of which the process gives out one at a time; after … are only the digits of the last one that\n" +
			"differ. SINCE and LEFT are the store's values; a live holder renews its lease, so it can hold the lock\n" +
			"for longer than LEFT. If the prefix is a whole key, a value of another program is listed, too: its MODE\n" +
			"is foreign, with the type that the store reports.",
		UsageText: "distlock ls [-backend URL] [-prefix orders:] [-limit 100] [-timeout 10s] [-json]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "prefix", Usage: "only keys that begin with `TEXT`"},
			&cli.IntFlag{Name: "limit", Value: 100, Usage: "at most `N` keys"},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			limit := c.Int("limit")
			if limit < 1 {
				return usageErrorf("-limit is %d: want at least 1", limit)
			}
			return withLocker(ctx, c, func(locker *distlock.Locker) error {
				locks, err := admin.Inspect(ctx, locker, c.String("prefix"), limit)
				switch {
				case err != nil:
					return err
				case c.Bool("json"):
					return writeJSON(stdout, locks)
				default:
					return writeTable(stdout, locks)
				}
			})
		},
	})
}

// lockJSON is a key in the output of -json.
type lockJSON struct {
	Key     string       `json:"key"`
	Mode    string       `json:"mode"` // exclusive, shared, permits or foreign
	Foreign string       `json:"foreign,omitempty"`
	Held    int          `json:"held"`
	Waiting int          `json:"waiting"`
	Holders []holderJSON `json:"holders"`
	Waiters []waiterJSON `json:"waiters"`
}

// holderJSON is a holder. Unknown fields are omitted.
type holderJSON struct {
	Holder    string    `json:"holder,omitempty"`
	Owner     string    `json:"owner,omitempty"`
	Token     uint64    `json:"token,omitempty"`
	LastToken uint64    `json:"last_token,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	ExpiresMS int64     `json:"expires_in_ms,omitempty"`
}

// waiterJSON is a waiter. Unknown fields are omitted.
type waiterJSON struct {
	Waiter  string    `json:"waiter,omitempty"`
	Owner   string    `json:"owner,omitempty"`
	Mode    string    `json:"mode"` // exclusive, shared or permits
	Permits int       `json:"permits,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

func writeJSON(w io.Writer, locks []driver.KeyInfo) error {
	out := make([]lockJSON, 0, len(locks)) // not null in JSON
	for _, l := range locks {
		j := lockJSON{
			l.Key, l.ModeName(), l.Foreign, l.Held, l.Waiting,
			make([]holderJSON, 0, len(l.Holders)), make([]waiterJSON, 0, len(l.Waiters)),
		}
		for _, h := range l.Holders {
			j.Holders = append(j.Holders, holderJSON{h.Holder, h.Owner, h.Token, h.LastToken, h.Since, max(0, h.ExpiresIn.Milliseconds())})
		}
		for _, w := range l.Waiters {
			j.Waiters = append(j.Waiters, waiterJSON{w.Waiter, w.Owner, w.ModeName(), w.Permits, w.Since})
		}
		out = append(out, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
