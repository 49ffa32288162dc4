package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testmode"
)

// A viewer gets the state at once, and then each change within lookEvery, but not every
// change.
func TestViewerSeesChanges(t *testing.T) {
	withPage(t, func(p *pageTest) {
		p.reset(1000)
		v := p.watch()
		begun := time.Now()
		for range 500 { // each takes a millisecond
			if _, err := p.shop.placeUnlocked(p.Context(), orderRequest{shown, "u1", 1}); err != nil {
				p.Fatal(err)
			}
		}
		<-time.After(2 * lookEvery)
		v.leave()
		if n := len(v.states); n < 3 || n > 4 || !v.at[0].Equal(begun) {
			p.Fatalf("%d states, the first after %v", n, v.at[0].Sub(begun))
		}
		for i := 1; i < len(v.at); i++ {
			if d := v.at[i].Sub(v.at[i-1]); d < lookEvery {
				p.Errorf("a state came %v after the one before", d)
			}
		}
		if got, want := v.states[0].Item, (itemState{SKU: shown, Start: 1000, Stock: 1000}); got != want {
			p.Errorf("at once: %+v, want %+v", got, want)
		}
		if got, want := v.states[len(v.states)-1].Item, (itemState{SKU: shown, Start: 1000, Stock: 500, Sold: 500}); got != want {
			p.Errorf("in the end: %+v, want %+v", got, want)
		}
		if v.header.Get("Content-Type") != "text/event-stream" || v.header.Get("Cache-Control") != "no-store" {
			p.Error(v.header)
		}
	})
}

// The database is asked once for all viewers, and only while there are viewers. Without
// a change a viewer gets only comments.
func TestQuietPage(t *testing.T) {
	withPage(t, func(p *pageTest) {
		asked := 0
		ask := p.live.item
		p.live.item = func(ctx context.Context, sku string) (item, error) {
			asked++
			return ask(ctx, sku)
		}
		<-time.After(time.Minute)
		if asked != 0 {
			p.Errorf("asked %d times for no viewer", asked)
		}
		var viewers []*viewer
		for range 10 {
			viewers = append(viewers, p.watch())
			<-time.After(7 * time.Millisecond)
		}
		<-time.After(time.Minute)
		for _, v := range viewers {
			v.leave()
		}
		if most := int(time.Minute/lookEvery) + 2; asked < most/2 || asked > most {
			p.Errorf("asked %d times in a minute", asked)
		}
		for _, v := range viewers {
			if len(v.states) != 1 || v.comments != 3 && v.comments != 4 {
				p.Errorf("%d states and %d comments in a minute", len(v.states), v.comments)
			}
		}
	})
}

// The streams end at once with the page.
func TestStreamsEnd(t *testing.T) {
	withPage(t, func(p *pageTest) {
		viewers := []*viewer{p.watch()}
		synctest.Wait()
		p.end()
		viewers = append(viewers, p.watch())
		synctest.Wait()
		for i, v := range viewers {
			select {
			case <-v.ended:
			default:
				p.Errorf("stream %d goes on", i)
				v.leave()
			}
		}
	})
}

// The orders and the locks of the item are counted, whichever way they come, and those
// of other items are not.
func TestCounts(t *testing.T) {
	withPage(t, func(p *pageTest) {
		if got, want := p.state().Item, (itemState{SKU: shown}); got != want {
			p.Errorf("before the first sale: %+v", got)
		}
		p.reset(4)
		if _, err := p.shop.reset(p.Context(), stockRequest{"coffee", 10}); err != nil {
			p.Fatal(err)
		}
		order := func(place distlock.Func[orderRequest, order], sku string, quantity int, want error) {
			p.Helper()
			if _, err := place(p.Context(), orderRequest{sku, "u1", quantity}); !errors.Is(err, want) {
				p.Errorf("%v, want %v", err, want)
			}
		}
		order(p.shop.place, shown, 2, nil)
		order(p.shop.place, shown, 3, errSoldOut)
		order(p.shop.place, "coffee", 1, nil)
		order(p.shop.placeUnlocked, shown, 1, nil)
		order(p.shop.placeUnlocked, "coffee", 1, nil)
		lock := itemLock(config{wait: time.Second})
		hasty := newShop(p.locker, lock, p.shop.store, p.shop.ledger, thinkFor(0))
		lease, err := p.locker.Acquire(p.Context(), keyOf(p.T, shown), distlock.Opts{})
		if err != nil {
			p.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() {
			_, err := hasty.place(p.Context(), orderRequest{shown, "u1", 1})
			waited <- err
		}()
		s := p.state()
		if got, want := s.Locks, (lockCounts{Acquired: 3, Waiting: 1, Held: 1}); got != want {
			p.Errorf("while an order waits: %+v, want %+v", got, want)
		}
		if err := <-waited; !errors.Is(err, distlock.ErrNotAcquired) {
			p.Error(err)
		}
		if err := lease.Release(p.Context()); err != nil {
			p.Error(err)
		}
		s = p.state()
		if got, want := s.Item, (itemState{SKU: shown, Start: 4, Stock: 1, Sold: 3}); got != want {
			p.Errorf("%+v, want %+v", got, want)
		}
		if got, want := s.Locks, (lockCounts{Acquired: 3}); got != want {
			p.Errorf("%+v, want %+v", got, want)
		}
		s.Locked.PerSecond, s.Unlocked.PerSecond = 0, 0
		if got, want := s.Locked, (tallyState{Start: 4, Sold: 2, SoldOut: 1, Failed: 1}); got != want {
			p.Errorf("with the lock: %+v, want %+v", got, want)
		}
		if got, want := s.Unlocked, (tallyState{Start: 4, Sold: 1}); got != want {
			p.Errorf("without the lock: %+v, want %+v", got, want)
		}

		// A new sale: the counts of each way stay until it has its first order.
		p.reset(1)
		order(p.shop.placeUnlocked, shown, 1, nil)
		s = p.state()
		if s.Locked.Sold != 2 || s.Unlocked != (tallyState{Start: 1, Sold: 1, PerSecond: 1000}) || s.Locks != (lockCounts{}) {
			p.Errorf("after the restart: %+v", s)
		}
	})
}

// A holder that hands the lock over in this process, and one that loses it.
func TestCountsOfLocks(t *testing.T) {
	withPage(t, func(p *pageTest) {
		p.reset(10)
		orders := make(chan error)
		for range 3 {
			go func() {
				_, err := p.shop.place(p.Context(), orderRequest{shown, "u1", 1})
				orders <- err
			}()
		}
		for range 3 {
			if err := <-orders; err != nil {
				p.Error(err)
			}
		}
		lease, err := p.locker.Acquire(p.Context(), keyOf(p.T, shown), distlock.Opts{})
		if err != nil {
			p.Fatal(err)
		}
		if _, err := p.locker.ForceRelease(p.Context(), keyOf(p.T, shown)); err != nil {
			p.Fatal(err)
		}
		<-lease.Context().Done()
		_ = lease.Release(p.Context()) // it is lost
		if got, want := p.state().Locks, (lockCounts{Acquired: 4, HandedOver: 2, Lost: 1}); got != want {
			p.Errorf("%+v, want %+v", got, want)
		}
	})
}

// While the database fails, the page keeps what it knows.
func TestPageWithoutDatabase(t *testing.T) {
	withPage(t, func(p *pageTest) {
		p.reset(7)
		before := p.state().Item
		if err := p.shop.store.close(); err != nil {
			p.Fatal(err)
		}
		if after := p.state().Item; after != before || after.Stock != 7 {
			p.Errorf("%+v, want %+v", after, before)
		}
	})
}

// The time limit of the server for responses does not end a stream.
func TestStreamOutlivesWriteTimeout(t *testing.T) {
	testmode.InRealTime(t)
	const limit = 50 * time.Millisecond
	stock := 0
	v := &live{ledger: &ledger{}, demo: &demo{}, ended: make(chan struct{}), item: func(context.Context, string) (item, error) {
		stock++ // each look is a change
		return item{shown, stock, 0}, nil
	}}
	s := httptest.NewUnstartedServer(v)
	s.Config.WriteTimeout = limit
	s.Start()
	defer s.Close()
	defer close(v.ended)
	res, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	start := time.Now()
	watch(t, res.Body, func(s state) bool { return time.Since(start) > 4*limit && s.Item.Stock > 2 })
}

// A database that does not answer is asked once for all viewers, too: the next viewer
// does not wait for a time limit of its own.
func TestPageWithSlowDatabase(t *testing.T) {
	withPage(t, func(p *pageTest) {
		asked := 0
		p.live.item = func(ctx context.Context, _ string) (item, error) {
			asked++
			<-ctx.Done()
			return item{}, ctx.Err()
		}
		for range 50 {
			p.live.current(p.Context())
		}
		if asked != 1 {
			p.Errorf("50 viewers asked %d times", asked)
		}
	})
}
