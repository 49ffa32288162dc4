package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
)

const (
	minInterval = 100 * time.Millisecond

	// answerTime limits one request of top to the store.
	answerTime = 10 * time.Second
)

// topColumns returns the columns for a terminal of that width. They begin with the keys,
// the waiters and the holders, which fit on it; the end of a line may be cut.
func topColumns(width int) []column {
	most := max(16, min(50, (width-len(waitingColumn.title)-len("    "))/2))
	short := func(c column) column {
		return column{c.title, func(l *driver.KeyInfo, h *driver.HolderInfo) string { return shortened(c.cell(l, h), most) }}
	}
	return []column{
		short(keyColumn), waitingColumn, short(holderColumn), leftColumn, modeColumn, heldColumn, sinceColumn, tokenColumn, ownerColumn,
	}
}

func topCommand(stdout io.Writer, hide func(string) string) *cli.Command {
	return &cli.Command{
		Name:  "top",
		Usage: "show the locks in the terminal, again every second",
		Description: "The table is that of ls. The keys with the most waiters come first, then those that have been held\n" +
			"for the longest time. If the store does not answer, top says since when, and asks again. It ends\n" +
			"with q or Ctrl-C. It needs a terminal: ls prints the table once.",
		UsageText: "distlock top [-backend URL] [-prefix orders:] [-limit 100] [-interval 1s]",
		Flags: []cli.Flag{
			backendFlag(),
			prefixFlag(),
			limitFlag(),
			&cli.DurationFlag{Name: "interval", Value: time.Second, Usage: "ask the store every `TIME`"},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := noArguments(c); err != nil {
				return err
			}
			limit, err := limitOf(c)
			if err != nil {
				return err
			}
			interval := c.Duration("interval")
			if interval < minInterval {
				return usageErrorf("-interval is %v: want at least %v", interval, minInterval)
			}
			out, ok := stdout.(*os.File)
			if !ok || !term.IsTerminal(int(out.Fd())) {
				return usageErrorf("the output is not a terminal: distlock ls prints the table once")
			}
			opening, cancel := context.WithTimeout(ctx, answerTime)
			locker, closeAll, err := openLocker(opening, c)
			cancel()
			if err != nil {
				return err
			}
			defer closeAll() //nolint:errcheck // nothing was written
			t := &top{limit: limit, interval: interval, hide: hide}
			t.inspect = func(ctx context.Context) ([]driver.KeyInfo, error) {
				return admin.Inspect(ctx, locker, c.String("prefix"), limit+1)
			}
			return t.run(ctx, out)
		},
	}
}

// top shows what the store answers.
type top struct {
	limit    int
	interval time.Duration
	hide     func(string) string                                 // the passwords in an error
	inspect  func(ctx context.Context) ([]driver.KeyInfo, error) // one more than limit, if there are more

	locks []driver.KeyInfo
	more  bool
	asked time.Time // when the request for locks was sent; zero: no answer yet
	err   error     // of the last request
}

// run shows the locks until the user or a signal ends it.
func (t *top) run(ctx context.Context, out *os.File) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endingSignals...)
	defer signal.Stop(signals)
	s, err := openScreen(os.Stdin, out)
	if err != nil {
		return &exitError{exitOS, err}
	}
	defer s.close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	answers := make(chan func(), 1)
	ask := func() {
		asked := time.Now()
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		locks, err := t.inspect(ctx)
		answers <- func() { t.update(asked, locks, err) }
	}
	go ask()
	asking := true
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case sig := <-signals:
			return &exitError{code: exitSignal + number(sig)}
		case key := <-s.keys:
			if slices.Contains(endingKeys, key) {
				return nil
			}
		case update := <-answers:
			update()
			asking = false
			s.draw(t.now)
		case <-tick.C:
			if !asking {
				asking = true
				go ask()
			}
			s.draw(t.now) // the terminal may have another size
		}
	}
}

// shortened returns the beginning and the end of a text that is longer than most
// characters: it would push the other columns off the screen.
func shortened(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	begin := most * 2 / 5
	return string(runes[:begin]) + "…" + string(runes[len(runes)-(most-begin-1):])
}

// update takes an answer of the store. After an error the locks are those of before.
func (t *top) update(asked time.Time, locks []driver.KeyInfo, err error) {
	if t.err = err; err != nil {
		return
	}
	t.more = len(locks) > t.limit
	t.locks, t.asked = locks[:min(len(locks), t.limit)], asked
	slices.SortStableFunc(t.locks, func(a, b driver.KeyInfo) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), heldSince(a).Compare(heldSince(b)), cmp.Compare(a.Key, b.Key))
	})
}

// heldSince returns since when the key has its oldest holder; a late time if that is not
// known.
func heldSince(l driver.KeyInfo) time.Time {
	oldest := time.Unix(1<<40, 0)
	for _, h := range l.Holders {
		if !h.Since.IsZero() && h.Since.Before(oldest) {
			oldest = h.Since
		}
	}
	return oldest
}

func (t *top) now(width int) []string { return t.lines(time.Now(), width) }

// lines returns what a screen of that width shows: a line about the store, and the table.
func (t *top) lines(now time.Time, width int) []string {
	var head string
	switch {
	case t.err == nil && t.asked.IsZero():
		head = "waiting for the store (q ends)"
	case t.err == nil:
		head = t.summary()
	case t.asked.IsZero():
		head = "the store does not answer: " + oneLine(t.hide(t.err.Error()))
	default:
		head = fmt.Sprintf("the store has not answered since %s: %s", t.asked.Format(time.TimeOnly), oneLine(t.hide(t.err.Error())))
	}
	var table strings.Builder
	_ = writeTable(&table, topColumns(width), t.locks) // a Builder does not fail
	lines := strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n")
	return append([]string{now.Format(time.TimeOnly) + "  " + head, ""}, lines...) // the header is headerLine
}

func (t *top) summary() string {
	held, waiting, of := 0, 0, ""
	for _, l := range t.locks {
		held, waiting = held+l.Held, waiting+l.Waiting
	}
	if t.more {
		of = " of more"
	}
	return fmt.Sprintf("keys: %d%s, holders: %d, waiting: %d (q ends)", len(t.locks), of, held, waiting)
}
