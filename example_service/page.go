package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/lockui"
)

//go:embed assets
var assets embed.FS

const (
	// shown is the item of the page.
	shown = "tea"

	// buyers is how many orders come at once, for pieces of the item.
	buyers, pieces = 200, 100

	// browse is how long an order of the page thinks, so that there is something to
	// see.
	browse = 15 * time.Millisecond
)

// page is what a browser shows: a sale, with the lock and without it, the scene of a
// holder that is stopped, and the locks.
type page struct {
	shop  *shop
	redis string // its URL, for the scene
	locks *lockui.Handler
	ctx   context.Context //nolint:containedctx // ends what runs when the service ends
	end   context.CancelFunc
	runs  sync.WaitGroup

	mu    sync.Mutex
	state pageState
}

// pageState is what the page shows, in JSON.
type pageState struct {
	Item     item   `json:"item"`
	Pieces   int    `json:"pieces"`  // on sale at first
	Running  string `json:"running"` // unlocked, locked, stop, or "" if nothing runs
	Unlocked tally  `json:"unlocked"`
	Locked   tally  `json:"locked"`
	Steps    []step `json:"steps"` // of the scene
	CanStop  bool   `json:"can_stop"`
}

// tally counts the answers to the buyers of one sale.
type tally struct {
	Sold    int `json:"sold"`
	SoldOut int `json:"sold_out"`
	Failed  int `json:"failed"`
}

// step is a line about what happens.
type step struct {
	Kind string `json:"kind"` // info, good or bad
	Text string `json:"text"`
}

func newPage(ctx context.Context, c config, sh *shop, l *distlock.Locker, redisURL string) *page {
	lock := itemLock(c)
	lock.MaxWait = max(c.wait, time.Minute) // for 200 buyers on a slow machine
	p := &page{
		shop:  newShop(l, lock, sh.stock, max(c.think, browse)),
		redis: redisURL,
		locks: lockui.New(l, lockui.WithPrefix(lock.Prefix)),
		state: pageState{Pieces: pieces, Steps: []step{}, CanStop: child.CanStop},
	}
	p.ctx, p.end = context.WithCancel(ctx)
	return p
}

// close ends what runs, and the streams of the locks. It does not wait.
func (p *page) close() {
	p.end()
	p.locks.Close()
}

func (p *page) routes(mux *http.ServeMux) {
	serve := func(w http.ResponseWriter, r *http.Request, file string) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeFileFS(w, r, assets, "assets/"+file)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { serve(w, r, "index.html") })
	mux.HandleFunc("GET /assets/{file}", func(w http.ResponseWriter, r *http.Request) { serve(w, r, r.PathValue("file")) })
	mux.Handle("/locks/", http.StripPrefix("/locks", p.locks))
	mux.HandleFunc("GET /sale", func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, http.StatusOK, p.current(r.Context()), nil)
	})
	// A page of another site cannot press the buttons.
	mux.Handle("POST /demo/{name}", http.NewCrossOriginProtection().Handler(http.HandlerFunc(p.postDemo)))
}

// current returns the state, with the item as it is now.
func (p *page) current(ctx context.Context) pageState {
	it, err := p.shop.stock.get(ctx, shown, 0)
	if err != nil {
		it = item{SKU: shown, Stock: pieces} // before the first sale
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	s.Item = it
	return s
}

// postDemo starts what a button says, unless something runs.
func (p *page) postDemo(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	play, ok := map[string]func() error{
		"unlocked": func() error { return p.rush(&p.state.Unlocked, p.shop.placeUnlocked) },
		"locked":   func() error { return p.rush(&p.state.Locked, p.shop.place) },
		"stop":     func() error { return playStopped(p.ctx, p.redis, p.shop, p.tell) },
	}[name]
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !ok, name == "stop" && !child.CanStop:
		http.NotFound(w, r)
		return
	case p.state.Running != "":
		http.Error(w, "another demonstration is running", http.StatusConflict)
		return
	}
	p.state.Running = name
	if name == "stop" {
		p.state.Steps = []step{}
	}
	p.runs.Go(func() {
		if _, err := p.shop.reset(p.ctx, sale{shown, pieces}); err != nil {
			p.tell("bad", "The sale does not start: %v", err)
		} else if err := play(); err != nil {
			p.tell("bad", "It failed: %v", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.state.Running = ""
	})
	w.WriteHeader(http.StatusAccepted)
}

// rush lets all buyers order at once, and counts their answers.
func (p *page) rush(t *tally, place distlock.Func[order, receipt]) error {
	p.mu.Lock()
	*t = tally{}
	p.mu.Unlock()
	var ordering sync.WaitGroup
	for i := range buyers {
		ordering.Go(func() {
			_, err := place(p.ctx, order{shown, fmt.Sprintf("buyer %d", i+1), 1})
			p.mu.Lock()
			defer p.mu.Unlock()
			switch {
			case err == nil:
				t.Sold++
			case errors.Is(err, errSoldOut):
				t.SoldOut++
			default:
				t.Failed++
			}
		})
	}
	ordering.Wait()
	return nil
}

// tell adds a line about what happens.
func (p *page) tell(kind, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Steps = append(p.state.Steps[:len(p.state.Steps):len(p.state.Steps)], step{kind, fmt.Sprintf(format, args...)})
}
