package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/backendurl"
)

const (
	// buyers is how many orders come at once, for demoStock pieces.
	buyers, demoStock = 200, 100

	// browse is how long an order of a demonstration thinks at least, so that there is
	// something to watch.
	browse = 15 * time.Millisecond

	// demoWait is how long such an order waits for its lock at least: for the orders
	// before it on a slow machine, and for the end of a lease or of a session.
	demoWait = time.Minute
)

var (
	errNoDemo  = errors.New("no such demonstration")
	errRunning = errors.New("a demonstration is running")
	errNotHere = errors.New("this demonstration is not possible here")
)

// demo plays the demonstrations of the page, one at a time.
type demo struct {
	shop    *shop
	stopped *stopped
	whyNot  string // why there is no stopped, or ""
	log     *slog.Logger
	next    chan string // the name of the demonstration to play

	mu    sync.Mutex
	state demoState
}

// demoState is the demonstration that is running, or the last one.
type demoState struct {
	Run     int        `json:"run"` // how many were started
	Name    string     `json:"name"`
	Running bool       `json:"running"`
	Buyers  int        `json:"buyers"`
	Done    int        `json:"done"` // buyers that have an answer
	Steps   []demoStep `json:"steps"`
}

// demoStep is a line about what happens.
type demoStep struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	Kind string    `json:"kind"` // info, good or bad
}

// newDemo returns the demonstrations of a shop, with shops of their own: their orders
// take longer, and wait longer for their lock.
func newDemo(cfg config, sh *shop, l *distlock.Locker, b *backendurl.Backend, log *slog.Logger) *demo {
	lock, think := itemLock(cfg), thinkFor(max(cfg.think, browse))
	lock.MaxWait = max(lock.MaxWait, demoWait)
	d := &demo{
		shop: newShop(l, lock, sh.store, sh.ledger, think),
		log:  log, next: make(chan string, 1), state: demoState{Steps: []demoStep{}},
	}
	// The single order after the stop is not counted: the page keeps the results of the
	// other demonstrations, which a viewer compares.
	d.stopped, d.whyNot = newStopped(cfg, newShop(l, lock, sh.store, &ledger{}, think), b)
	return d
}

// start starts the goroutine that plays the demonstrations. The returned function waits
// for the end of that goroutine, after the end of ctx.
func (d *demo) start(ctx context.Context) (wait func()) {
	var playing sync.WaitGroup
	playing.Go(func() {
		for {
			select {
			case name := <-d.next:
				d.play(ctx, name)
			case <-ctx.Done():
				return
			}
		}
	})
	return playing.Wait
}

// request asks for a demonstration: locked, unlocked or stop.
func (d *demo) request(name string) error {
	switch {
	case !slices.Contains([]string{"locked", "unlocked", "stop"}, name):
		return errNoDemo
	case name == "stop" && d.whyNot != "":
		return errNotHere
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.Running {
		return errRunning
	}
	steps := d.state.Steps
	if name == "stop" {
		steps = []demoStep{}
	}
	d.state = demoState{Run: d.state.Run + 1, Name: name, Running: true, Steps: steps}
	d.next <- name
	return nil
}

// play starts a sale and plays a demonstration.
func (d *demo) play(ctx context.Context, name string) {
	_, err := d.shop.reset(ctx, stockRequest{shown, demoStock})
	switch {
	case err != nil:
	case name == "locked":
		d.rush(ctx, true, d.shop.place)
	case name == "unlocked":
		d.rush(ctx, false, d.shop.placeUnlocked)
	default:
		err = d.stopped.play(ctx, d.tell)
	}
	if err != nil && ctx.Err() == nil {
		d.log.ErrorContext(ctx, "demonstration failed", "name", name, "err", err)
		reason := "the log of the shop says why"
		if p := problemOf(err); p.Status != http.StatusInternalServerError {
			reason = p.Title
		}
		d.tell("bad", "The demonstration failed: "+reason+".")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.Running = false
}

// rush lets all buyers order at once.
func (d *demo) rush(ctx context.Context, withLock bool, place distlock.Func[orderRequest, order]) {
	d.shop.ledger.begin(withLock)
	d.mu.Lock()
	d.state.Buyers = buyers
	d.mu.Unlock()
	var ordering sync.WaitGroup
	for i := range buyers {
		ordering.Go(func() {
			// The ledger counts the result.
			_, _ = place(ctx, orderRequest{shown, fmt.Sprintf("buyer %d", i+1), 1})
			d.mu.Lock()
			defer d.mu.Unlock()
			d.state.Done++
		})
	}
	ordering.Wait()
}

// tell adds a line about what happens.
func (d *demo) tell(kind, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.Steps = append(d.state.Steps, demoStep{At: time.Now(), Text: text, Kind: kind})
}

// current returns the state for the page.
func (d *demo) current() demoState {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	s.Steps = slices.Clone(s.Steps)
	return s
}
