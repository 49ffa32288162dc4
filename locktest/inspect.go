package locktest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var inspectCases = []testCase{
	{
		name:        "held",
		explanation: "Inspect must list a held key with the name of its holder, its token and the rest of its lease, but without the owner itself. It must not list a free key.",
		run: func(p *process) {
			key := p.key()
			mustList(p, key, 10)
			r := p.request(key, long)
			r.Tokens = 8
			before := time.Now()
			g := p.try(r)
			info := mustCount(p, key, 1, 0)
			if info.Mode != driver.Exclusive || info.Semaphore {
				p.Errorf("held by one owner, listed as %+v", info)
			}
			h := info.Holders[0]
			if h.Owner != driver.Fingerprint(g.Owner) {
				p.Errorf("the owner is shown as %q", h.Owner)
			}
			if h.Holder != holderName {
				p.Errorf("the holder is named %q, want %q", h.Holder, holderName)
			}
			if h.Token != 0 && (h.Token > g.Token || h.LastToken < g.LastToken) {
				p.Errorf("listed with tokens %d to %d, granted with %d to %d", h.Token, h.LastToken, g.Token, g.LastToken)
			}
			if d := h.Since.Sub(before); !h.Since.IsZero() && (d < -patience || d > patience) {
				p.Errorf("listed since %v after the request", d)
			}
			if h.ExpiresIn > long || h.ExpiresIn < long/2 {
				p.Errorf("expires in %v, with a lease of %v", h.ExpiresIn, long)
			}
			p.release(g)
			mustList(p, key, 10)
		},
	},
	{
		name: "prefix-and-limit",
		explanation: "Inspect must list only keys with the prefix, whatever characters it contains, and at most as many as asked for. " +
			"If the prefix is a key itself, that key must be among them. With limit 0 it must list only that key.",
		needs: []need{needsList},
		run: func(p *process) {
			base := p.key()
			var want []string
			for _, tail := range []string{"*", "?", "[ab]", `\`, "x*", "xy", "a", "b", "^", "{a}", "\U0010ffff"} {
				g := p.try(p.request(base+tail, long))
				want = append(want, g.Key)
			}
			slices.Sort(want)
			mustList(p, base, 100, want...)
			for _, key := range want {
				if key == base+"x*" || key == base+"xy" {
					continue
				}
				mustList(p, key, 100, key)
			}
			mustList(p, base+"x", 100, base+"x*", base+"xy")
			mustList(p, base+"no", 100)
			for _, limit := range []int{1, 4, len(want)} {
				if infos := list(p, base, limit); len(infos) != limit {
					p.Errorf("of %d keys with a limit of %d there are %d", len(want), limit, len(infos))
				}
			}
			mustList(p, base, 0)
			p.try(p.request(base, long))
			mustList(p, base, 1, base)
			mustList(p, base, 0, base)
		},
	},
	{
		name: "waiters",
		explanation: "Inspect must list the first 16 places in the queue, in its order, with the names of the waiters and what they ask for. " +
			"It must count the others, and not list a waiter that has left or was served.",
		needs: []need{needsQueue},
		run: func(p *process) {
			key, g := p.hold(long)
			processes := []*process{p, p.last()}
			modes := p.modes()
			var waiting []driver.Request
			of := make(map[string]*process) // the process of an owner
			before := time.Now()
			for i := range driver.MaxWaiterInfos + 4 {
				p := processes[i%len(processes)]
				r := modes[i%len(modes)](key, long)
				r.Owner = newOwnerNamed(fmt.Sprintf("host/%d", i))
				of[r.Owner] = p
				takePlace(p, r)
				waiting = append(waiting, r)
				if i == 0 {
					mustWaitFor(p, key, before, waiting)
				}
			}
			mustWaitFor(p, key, before, waiting)
			for _, i := range []int{len(waiting) - 1, 7, 0} {
				of[waiting[i].Owner].giveUp(waiting[i])
				waiting = slices.Delete(waiting, i, i+1)
			}
			mustWaitFor(p, key, before, waiting)
			for _, r := range waiting {
				of[r.Owner].giveUp(r)
			}
			mustWaitFor(p, key, before, nil)
			last := queueUp(p, p.request(key, long))
			mustCount(p, key, 1, 1)
			p.release(g)
			g = last.served(p)
			mustCount(p, key, 1, 0)
			p.release(g)
			mustList(p, key, 10)
		},
	},
	{
		name:        "together",
		explanation: "Inspect must list all holders of a key in the order in which their leases end, and how they share it.",
		needs:       []need{needsShare},
		run: func(p *process) {
			key := p.key()
			var owners []string
			for _, ttl := range []time.Duration{long, long / 2, long} {
				owners = append(owners, driver.Fingerprint(p.try(p.reader(key, ttl)).Owner))
			}
			info := mustCount(p, key, 3, 0)
			if info.Mode != driver.Shared || info.Semaphore {
				p.Errorf("readers are listed as %+v", info)
			}
			for i, h := range info.Holders {
				if !slices.Contains(owners, h.Owner) || h.ExpiresIn < info.Holders[max(0, i-1)].ExpiresIn {
					p.Errorf("%q is not one of the readers, or not in order: %+v", h.Owner, info.Holders)
				}
			}
			key = p.key()
			p.take(key, permits)
			if info := mustCount(p, key, permits, 0); info.Mode != driver.Exclusive || !info.Semaphore {
				p.Errorf("holders of permits are listed as %+v", info)
			}
		},
	},
	{
		name:        "expired",
		explanation: "Inspect must not list a holder after the end of its lease, even if nobody has asked for the key since, and whether or not others have it, too.",
		run: func(p *process) {
			key := p.key()
			p.try(p.request(key, p.Lease))
			mustVanish(p, key, 0)
			if p.can.Sharing {
				key = p.key()
				p.try(p.reader(key, p.Lease))
				p.try(p.reader(key, long))
				mustVanish(p, key, 1)
			}
		},
	},
	{
		name: "force",
		explanation: "ForceRelease must take the key from its holder: the next renewal is Lost, Release wraps ErrLost, and the next token is larger " +
			"than all that the holder was given.",
		run: func(p *process) {
			key := p.key()
			r := p.request(key, long)
			r.Tokens = 64
			for range 3 {
				p.mustSay(false, p.inspector.ForceRelease, key)
				g := p.try(r)
				p.mustSay(true, p.inspector.ForceRelease, key)
				mustList(p, key, 10)
				mustReport(p, renewAll(p, g), driver.ErrLost)
				p.releaseLost(g)
				r.Owner = newOwner()
				next := p.try(r)
				p.mustRise(g, next)
				p.releaseLost(g)
				mustReport(p, renewAll(p, g, next), driver.ErrLost, nil)
				p.release(next)
				r.Owner = newOwner()
			}
		},
	},
	{
		name:        "force-with-waiters",
		explanation: "ForceRelease must pass the key on to the first waiter, as a release does. Another ForceRelease takes it from that one.",
		needs:       []need{needsQueue},
		run: func(p *process) {
			key, g := p.hold(long)
			w1, w2 := queueUp(p, p.request(key, long)), queueUp(p, p.request(key, long))
			p.mustSay(true, p.inspector.ForceRelease, key)
			next := w1.served(p)
			p.mustRise(g, next)
			w2.mustWait(p)
			mustReport(p, renewAll(p, g), driver.ErrLost)
			p.releaseLost(g)
			mustReport(p, renewAll(p, next), nil)
			p.mustSay(true, p.inspector.ForceRelease, key)
			last := w2.served(p)
			p.mustRise(next, last)
			mustReport(p, renewAll(p, next), driver.ErrLost)
			p.releaseLast(last)
		},
	},
	{
		name:        "force-sharers",
		explanation: "ForceRelease must take the key from all its holders.",
		needs:       []need{needsShare},
		run: func(p *process) {
			key := p.key()
			grants := p.take(key, permits)
			p.mustSay(true, p.inspector.ForceRelease, key)
			mustList(p, key, 10)
			alone := p.try(p.request(key, long))
			for _, g := range grants {
				mustReport(p, renewAll(p, g), driver.ErrLost)
				p.releaseLost(g)
				p.mustRise(g, alone)
			}
			p.releaseLast(alone)
		},
	},
}

// mustVanish waits until a lease that was acquired just now is not listed any more, and the
// others are.
func mustVanish(p *process, key string, others int) {
	p.Helper()
	for start := time.Now(); ; time.Sleep(p.tick()) {
		held := 0
		for _, info := range list(p, key, 1) {
			held += info.Held
		}
		if held == others {
			return
		}
		if took := time.Since(start); held < others || took > p.Lease+p.soon() {
			p.Fatalf("%d holders are listed after %v, want %d after %v", held, took, others, p.Lease)
		}
	}
}

// list returns the keys with the prefix.
func list(p *process, prefix string, limit int) []driver.KeyInfo {
	p.Helper()
	infos, err := p.inspector.Inspect(p.Context(), prefix, limit)
	if errors.Is(err, errors.ErrUnsupported) {
		infos, err = p.inspector.Inspect(p.Context(), prefix, 0)
	}
	if err != nil {
		p.Fatalf("Inspect: %v", err)
	}
	return infos
}

// mustList checks which keys with the prefix are listed. Each must have one holder.
func mustList(p *process, prefix string, limit int, want ...string) {
	p.Helper()
	var keys []string
	for _, info := range list(p, prefix, limit) {
		keys = append(keys, info.Key)
		if info.Held != 1 || info.Waiting != 0 {
			p.Errorf("held by one owner, listed as %+v", info)
		}
	}
	if slices.Sort(keys); !slices.Equal(keys, want) {
		p.Errorf("with prefix %q there are %q, want %q", prefix, keys, want)
	}
}

// mustWaitFor checks which waiters are listed. The first of them came after that time.
func mustWaitFor(p *process, key string, since time.Time, want []driver.Request) {
	p.Helper()
	info := mustCount(p, key, 1, len(want))
	for i, w := range info.Waiters {
		r := &want[i]
		if w.Owner != driver.Fingerprint(r.Owner) || w.Waiter != driver.HolderOf(r.Owner) || w.Mode != r.Mode || w.Permits != r.Permits {
			p.Errorf("place %d: listed %+v; waits %+v", i+1, w, r)
		}
		if d := w.Since.Sub(since); !w.Since.IsZero() && (d < -patience || w.Since.After(time.Now().Add(patience))) {
			p.Errorf("place %d: waits since %v after the first took its place", i+1, d)
		}
	}
}

// mustCount checks the number of holders and of waiters, and how many of each are listed.
func mustCount(p *process, key string, held, waiting int) driver.KeyInfo {
	p.Helper()
	infos := list(p, key, 10)
	if len(infos) != 1 || infos[0].Key != key || infos[0].Held != held || len(infos[0].Holders) != held || infos[0].Waiting != waiting ||
		len(infos[0].Waiters) != min(waiting, driver.MaxWaiterInfos) {
		p.Fatalf("%d holders and %d waiters of %q, listed as %+v", held, waiting, key, infos)
	}
	return infos[0]
}
