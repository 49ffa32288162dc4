package leasestate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/leasestate"
)

func TestTokensRiseFromHolderToHolder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newLease(t, writer, limits, true)
		for i := range 4 {
			if i > 0 {
				s.transfers(true)
			}
			time.Sleep(time.Second)
			a, _ := s.assign(fmt.Sprint(i), 0)
			if want := (leasestate.Assignment{Token: uint64(i) + 1, Since: time.Now(), HandedOver: i > 0}); a != want {
				t.Errorf("holder %d: %+v, want %+v", i, a, want)
			}
		}
		s.transfers(false) // there is no token left
		if h, _ := s.Holder(); h != "3" {
			t.Errorf("the holder is %q after a refused transfer", h)
		}
	})
}

func TestHandOversAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, c := range []compat.Class{writer, reader} {
			s := newLease(t, c, leasestate.Limits{HandOvers: 3, Time: time.Hour}, false)
			s.assign("first", 0)
			for i := range 3 {
				if c.Shares() {
					s.attaches(true)
				} else {
					s.transfers(true)
				}
				s.assign(fmt.Sprint(i), 0)
			}
			s.attaches(false)
			s.transfers(false)
		}
	})
}

func TestMoreTokens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newLease(t, writer, limits, true)
		s.assign("first", 0)
		for i := range 3 {
			if s.RequestExtend() != nil {
				t.Fatalf("the store is asked after %d hand-overs", i)
			}
			s.transfers(true)
			s.assign(fmt.Sprint(i), 0)
		}
		done := s.RequestExtend()
		if done == nil {
			t.Fatal("the store is not asked after three hand-overs")
		}
		if s.RequestExtend() != nil {
			t.Error("the store is asked twice")
		}
		if s.ExtendRequested() != (<-chan struct{})(done) {
			t.Error("ExtendRequested is another channel")
		}
		if s.transfers(false) != (<-chan struct{})(done) {
			t.Error("Transfer does not say that the answer is pending")
		}
		s.AddTokens(100, 110)
		close(done)
		if g := s.LastGrant(); g.Token != 1 || g.LastToken != 110 {
			t.Errorf("the last grant has the tokens %d to %d", g.Token, g.LastToken)
		}
		s.transfers(true)
		if a, _ := s.assign("next", 0); a.Token != 100 {
			t.Errorf("token %d, want 100", a.Token)
		}
		if g := s.LastGrant(); g.LastToken != 110 {
			t.Errorf("the last token is %d", g.LastToken)
		}
		if s.ExtendRequested() != nil || s.RequestExtend() != nil {
			t.Error("the store is asked again at once")
		}
	})
}

func TestMoreTokensAreNotAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		contended := &lease{t: t}
		contended.Init(driver.Grant{TTL: ttl, Sent: time.Now(), Contended: true}, writer, limits, false, nil)
		over := newLease(t, writer, limits, false)
		for _, s := range []*lease{contended, over} {
			for range 10 {
				s.assign("h", 0)
				s.transfers(true)
			}
		}
		if contended.RequestExtend() != nil {
			t.Error("asked although other owners wait")
		}
		_ = over.Release()
		if over.RequestExtend() != nil {
			t.Error("asked although the lease is over")
		}
		over.AddTokens(7, 9)
		if g := over.LastGrant(); g.LastToken != 0 {
			t.Error("took tokens after the end")
		}
	})
}
