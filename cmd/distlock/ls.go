package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
)

func lsCommand(stdout io.Writer, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name:  "ls",
		Usage: "list the locks that have holders or waiters",
		Description: "There is a line for each holder, and one for each key that has only waiters. HOLDER is the name\n" +
			"of the process, by default its host and process id; - if it has none, as with the locks of other\n" +
			"libraries. OWNER is a fingerprint, which stays the same as long as one process has the key. SINCE\n" +
			"and LEFT are the store's values; a live holder renews its lease, so it can hold the lock for longer\n" +
			"than LEFT. If the prefix is a whole key, a value of another program is listed, too: its MODE is\n" +
			"foreign, with the type that the store reports.",
		UsageText: "distlock ls [-backend URL] [-prefix orders:] [-limit 100] [-watch 1s] [-timeout 10s] [-json]",
		Flags: []cli.Flag{
			backendFlag(),
			&cli.StringFlag{Name: "prefix", Usage: "only keys that begin with `TEXT`"},
			&cli.IntFlag{Name: "limit", Value: 100, Usage: "at most `N` keys"},
			&cli.DurationFlag{Name: "watch", HideDefault: true, Usage: "list them again every `TIME`, until Ctrl-C"},
			timeoutFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print an array of objects, with times in RFC 3339 and milliseconds"},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := noArguments(c); err != nil {
				return err
			}
			switch limit, every := c.Int("limit"), c.Duration("watch"); {
			case limit < 1:
				return usageErrorf("-limit is %d: want at least 1", limit)
			case c.IsSet("watch") && every < minWatch:
				return usageErrorf("-watch is %v: want at least %v", every, minWatch)
			}
			opening, cancel, err := withTimeout(ctx, c)
			if err != nil {
				return err
			}
			defer cancel()
			locker, closeAll, err := openLocker(opening, c)
			if err != nil {
				return err
			}
			defer closeAll() //nolint:errcheck // nothing was written
			if !c.IsSet("watch") {
				return list(opening, c, locker, stdout)
			}
			return watch(ctx, c, locker, stdout, stderr)
		},
	}
}

// list prints the locks once.
func list(ctx context.Context, c *cli.Command, locker *distlock.Locker, stdout io.Writer) error {
	locks, err := admin.Inspect(ctx, locker, c.String("prefix"), c.Int("limit"))
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return writeJSON(stdout, locks)
	default:
		return writeTable(stdout, locks)
	}
}

const (
	minWatch    = 100 * time.Millisecond
	clearScreen = "\x1b[H\x1b[2J"
)

// watch prints the locks until the context ends. A store that does not answer is asked again.
func watch(ctx context.Context, c *cli.Command, locker *distlock.Locker, stdout, stderr io.Writer) error {
	for ctx.Err() == nil {
		var page strings.Builder
		once, cancel, err := withTimeout(ctx, c)
		if err == nil {
			err = list(once, c, locker, &page)
			cancel()
		}
		if err != nil {
			_, _ = fmt.Fprintln(stderr, "distlock: "+time.Now().Format(time.TimeOnly)+": "+oneLine(err.Error()))
		} else if _, err := io.WriteString(stdout, atTop(stdout)+page.String()); err != nil {
			return err
		}
		select {
		case <-time.After(c.Duration("watch")):
		case <-ctx.Done():
		}
	}
	return nil
}

// atTop returns what clears a terminal. In a file the tables follow each other.
func atTop(stdout io.Writer) string {
	f, isFile := stdout.(*os.File)
	if !isFile {
		return ""
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return ""
	}
	return clearScreen
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

func writeJSON(w io.Writer, locks []driver.KeyInfo) error {
	out := make([]lockJSON, 0, len(locks)) // not null in JSON
	for _, l := range locks {
		j := lockJSON{l.Key, l.ModeName(), l.Foreign, l.Held, l.Waiting, make([]holderJSON, 0, len(l.Holders))}
		for _, h := range l.Holders {
			j.Holders = append(j.Holders, holderJSON{h.Holder, h.Owner, h.Token, h.Since, max(0, h.ExpiresIn.Milliseconds())})
		}
		out = append(out, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
