package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// run plays a demonstration to its end and returns the last state.
func (p *pageTest) run(name string) state {
	p.Helper()
	if a := p.do("POST", "/demo/"+name); a.status != http.StatusAccepted || len(a.body) > 0 {
		p.Fatalf("%d %s", a.status, a.body)
	}
	v := p.watch()
	defer v.leave()
	for {
		<-time.After(lookEvery)
		synctest.Wait()
		v.mu.Lock()
		s := v.states[len(v.states)-1]
		v.mu.Unlock()
		if !s.Demo.Running {
			return s
		}
	}
}

// With the lock exactly the stock is sold; without it more.
func TestDemoOfRush(t *testing.T) {
	withPage(t, func(p *pageTest) {
		for i := range 2 {
			s := p.run("locked")
			if s.Item != (itemState{SKU: shown, Start: demoStock, Sold: demoStock}) {
				p.Errorf("with the lock: %+v", s.Item)
			}
			if s.Locked.Sold != demoStock || s.Locked.SoldOut != buyers-demoStock || s.Locked.Failed != 0 || s.Locked.Oversold != 0 || s.Locked.PerSecond <= 0 {
				p.Errorf("with the lock: %+v", s.Locked)
			}
			if s.Locks.Acquired != buyers || s.Locks.HandedOver == 0 || s.Locks.Lost+s.Locks.Held+s.Locks.Waiting != 0 {
				p.Errorf("with the lock: %+v", s.Locks)
			}
			if want := (demoState{Run: 2*i + 1, Name: "locked", Buyers: buyers, Done: buyers}); fmt.Sprint(s.Demo) != fmt.Sprint(want) {
				p.Errorf("with the lock: %+v, want %+v", s.Demo, want)
			}
			locked := s.Locked

			s = p.run("unlocked")
			it, err := p.shop.item(p.Context(), shown)
			if err != nil {
				p.Fatal(err)
			}
			if it.Sold <= demoStock || s.Item != (itemState{shown, demoStock, it.Stock, it.Sold, it.Sold - demoStock}) {
				p.Errorf("without the lock: %+v; the database: %+v", s.Item, it)
			}
			if u := s.Unlocked; u.Sold != it.Sold || u.Sold+u.SoldOut != buyers || u.Oversold != s.Item.Oversold {
				p.Errorf("without the lock: %+v; the database: %+v", u, it)
			}
			if s.Locked != locked || s.Locks != (lockCounts{}) {
				p.Errorf("without the lock: %+v, %+v", s.Locked, s.Locks)
			}
		}
	})
}

// One demonstration runs at a time, and only pages of the shop can start one.
func TestDemoIsRefused(t *testing.T) {
	withPage(t, func(p *pageTest) {
		for _, c := range []struct {
			header, want string
			status       int
		}{
			{"Sec-Fetch-Site: cross-site", "cross_origin", http.StatusForbidden},
			{"Sec-Fetch-Site: same-site", "cross_origin", http.StatusForbidden},
			{"Origin: http://example.org", "cross_origin", http.StatusForbidden},
			{"Origin: null", "cross_origin", http.StatusForbidden},
			{"Sec-Fetch-Site: same-origin", "", http.StatusAccepted},
			{"", "demo_running", http.StatusConflict},
		} {
			a := p.do("POST", "/demo/locked", c.header)
			if a.status != c.status || c.want != "" && a.problem(p.T).Type != c.want {
				p.Errorf("%s: %d %s", c.header, a.status, a.body)
			}
		}
		if a := p.do("POST", "/demo/stop"); a.status != http.StatusNotImplemented || a.problem(p.T).Type != "demo_impossible" {
			p.Errorf("%d %s", a.status, a.body)
		}
		if s := p.state(); s.CanStop || s.WhyNot == "" || !s.Demo.Running || s.Demo.Run != 1 {
			p.Errorf("%+v", s)
		}
	})
}

// A demonstration that fails says why, and the next one can start.
func TestDemoFails(t *testing.T) {
	withPage(t, func(p *pageTest) {
		if err := p.shop.store.close(); err != nil {
			p.Fatal(err)
		}
		for i := range 2 {
			s := p.run("locked")
			if len(s.Demo.Steps) != i+1 || s.Demo.Steps[i].Kind != "bad" || !strings.Contains(s.Demo.Steps[i].Text, noDatabase.Title) {
				p.Errorf("%+v", s.Demo)
			}
		}
	})
}

// A demonstration ends with the page.
func TestDemoEnds(t *testing.T) {
	withPage(t, func(p *pageTest) {
		p.do("POST", "/demo/locked")
		<-time.After(20 * browse)
		start := time.Now()
		p.end()
		if d := time.Since(start); d > 0 {
			p.Errorf("after %v", d)
		}
		if n := p.shop.ledger.state(item{}).Locked; n.Sold < 1 || n.Sold >= demoStock {
			p.Errorf("%+v", n)
		}
	})
}
