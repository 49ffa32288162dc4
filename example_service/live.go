package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// lookEvery is how often a viewer of the page gets a new state, at most; while a
	// demonstration runs, which takes a second or two, twice as often.
	lookEvery = 250 * time.Millisecond

	// keepAlive is after how long a stream without events gets a comment, so that a
	// viewer that is gone is noticed.
	keepAlive = 15 * time.Second

	// sendFor is how long a viewer may take to read an event.
	sendFor = 5 * time.Second
)

// state is what the page shows. Its item may be changed by other processes, too; the
// rest is about this process.
type state struct {
	At       time.Time  `json:"at"`
	Item     itemState  `json:"item"`
	Locked   tallyState `json:"locked"`
	Unlocked tallyState `json:"unlocked"`
	Locks    lockCounts `json:"locks"`
	Demo     demoState  `json:"demo"`
	CanStop  bool       `json:"can_stop"`
	WhyNot   string     `json:"why_not,omitempty"` // the reason, if CanStop is false
}

// itemState is the state of the sale of the page's item.
type itemState struct {
	SKU      string `json:"sku"`
	Start    int    `json:"start"` // the stock with which it began
	Stock    int    `json:"stock"`
	Sold     int    `json:"sold"`
	Oversold int    `json:"oversold"` // pieces that were sold and did not exist
}

// tallyState is a tally for the page.
type tallyState struct {
	Start     int     `json:"start"`
	Sold      int     `json:"sold"`
	SoldOut   int     `json:"sold_out"`
	Failed    int     `json:"failed"`
	Oversold  int     `json:"oversold"`
	PerSecond float64 `json:"per_second"` // orders, from the begin of the first to the end of the last
}

// live makes the state for all viewers. The database is asked once for all of them, and
// only while there are viewers.
type live struct {
	ledger *ledger
	demo   *demo
	item   func(ctx context.Context, sku string) (item, error) // of the shop
	ended  chan struct{}                                       // closed when the shop shuts down

	mu      sync.Mutex
	last    item      // the answer of the database
	looked  time.Time // when the state was made
	version int       // how often it has changed
	event   []byte    // the state as a server-sent event
	content []byte    // without the time
}

func newLive(sh *shop, d *demo) *live {
	return &live{ledger: sh.ledger, demo: d, item: sh.item, ended: make(chan struct{})}
}

// ServeHTTP sends the state as server-sent events: at once, and when it has changed.
func (v *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	// The server's time limit for a response is too short for a stream. A writer that
	// does not support deadlines is not a network connection.
	rc := http.NewResponseController(w)
	tick := time.NewTicker(lookEvery / 2)
	defer tick.Stop()
	seen, sent := 0, time.Now()
	for {
		event, version := v.current(r.Context())
		if version == seen {
			event = []byte(":\n\n")
		}
		if version != seen || time.Since(sent) >= keepAlive {
			_ = rc.SetWriteDeadline(time.Now().Add(sendFor))
			if _, err := w.Write(event); err != nil || rc.Flush() != nil {
				return
			}
			seen, sent = version, time.Now()
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-v.ended:
			return
		}
	}
}

// current returns the state as an event, and its version.
func (v *live) current(ctx context.Context) (event []byte, version int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	demo, pause := v.demo.current(), lookEvery
	if demo.Running {
		pause /= 2
	}
	if v.version > 0 && now.Sub(v.looked) < pause*9/10 { // a tick may come early
		return v.event, v.version
	}
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if it, err := v.item(limited, shown); err == nil {
		v.last = it // otherwise the page keeps the last answer
	}
	v.looked = time.Now() // after the answer: the next viewer does not wait for another one
	s := v.ledger.state(v.last)
	s.Demo = demo
	s.WhyNot = v.demo.whyNot
	s.CanStop = s.WhyNot == ""
	content, _ := json.Marshal(s)
	if !bytes.Equal(content, v.content) {
		v.content = content
		v.version++
		s.At = now
		content, _ = json.Marshal(s)
		v.event = fmt.Appendf(nil, "event: state\ndata: %s\n\n", content)
	}
	return v.event, v.version
}
