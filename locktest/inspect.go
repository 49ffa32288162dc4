package locktest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var inspectCases = []testCase{
	{
		name:        "held",
		explanation: "Inspect must list a held key with the name of its holder, its token and the rest of its lease, but without the owner itself. It must not list a free key.",
		run: func(f *fixture) {
			key := f.key()
			f.mustList(key, 10)
			r := f.request(key, long)
			r.Tokens = 8
			before := time.Now()
			g := f.try(r)
			info := f.mustCount(key, 1, 0)
			if info.Mode != driver.Exclusive || info.Semaphore {
				f.Errorf("held by one owner, listed as %+v", info)
			}
			h := info.Holders[0]
			if h.Owner != driver.Fingerprint(g.Owner) {
				f.Errorf("the owner is shown as %q", h.Owner)
			}
			if h.Holder != holderName {
				f.Errorf("the holder is named %q, want %q", h.Holder, holderName)
			}
			if h.Token != 0 && (h.Token > g.Token || h.LastToken < g.LastToken) {
				f.Errorf("listed with tokens %d to %d, granted with %d to %d", h.Token, h.LastToken, g.Token, g.LastToken)
			}
			if d := h.Since.Sub(before); !h.Since.IsZero() && (d < -patience || d > patience) {
				f.Errorf("listed since %v after the request", d)
			}
			if h.ExpiresIn > long || h.ExpiresIn < long/2 {
				f.Errorf("expires in %v, with a lease of %v", h.ExpiresIn, long)
			}
			f.release(g)
			f.mustList(key, 10)
		},
	},
	{
		name:        "prefix-and-limit",
		explanation: "Inspect must list only keys with the prefix, whatever characters it contains, in order, and at most as many as asked for. If the prefix is a key itself, that key must be among them. With limit 0 it must list only that key.",
		run: func(f *fixture) {
			base := f.key()
			var want []string
			for _, tail := range []string{"*", "?", "[ab]", `\`, "x*", "xy", "a", "b", "^", "{a}"} {
				g := f.try(f.request(base+tail, long))
				want = append(want, g.Key)
			}
			slices.Sort(want)
			f.mustList(base, 100, want...)
			for _, key := range want {
				if key == base+"x*" || key == base+"xy" {
					continue
				}
				f.mustList(key, 100, key)
			}
			f.mustList(base+"x", 100, base+"x*", base+"xy")
			f.mustList(base+"no", 100)
			for _, limit := range []int{1, 4, len(want)} {
				if infos := f.list(base, limit); len(infos) != limit {
					f.Errorf("of %d keys with a limit of %d there are %d", len(want), limit, len(infos))
				}
			}
			f.mustList(base, 0)
			f.try(f.request(base, long))
			f.mustList(base, 1, base)
			f.mustList(base, 0, base)
		},
	},
	{
		name: "waiters",
		explanation: "Inspect must list the first 16 places in the queue, in its order, with the names of the waiters and what they ask for. " +
			"It must count the others, and not list a waiter that has left or was served.",
		needs: []need{needsQueue},
		run: func(f *fixture) {
			key, g := f.hold(long)
			processes := []*fixture{f, f.last()}
			modes := f.modes()
			var waiting []driver.Request
			of := make(map[string]*fixture) // the process of an owner
			before := time.Now()
			for i := range driver.MaxWaiterInfos + 4 {
				p := processes[i%len(processes)]
				r := modes[i%len(modes)](key, long)
				r.Owner = newOwnerNamed(fmt.Sprintf("host/%d", i))
				of[r.Owner] = p
				p.takePlace(r)
				waiting = append(waiting, r)
				if i == 0 {
					f.mustWaitFor(key, before, waiting)
				}
			}
			f.mustWaitFor(key, before, waiting)
			for _, i := range []int{len(waiting) - 1, 7, 0} {
				of[waiting[i].Owner].giveUp(waiting[i])
				waiting = slices.Delete(waiting, i, i+1)
			}
			f.mustWaitFor(key, before, waiting)
			for _, r := range waiting {
				of[r.Owner].giveUp(r)
			}
			f.mustWaitFor(key, before, nil)
			last := f.queueUp(f.request(key, long))
			f.mustCount(key, 1, 1)
			f.release(g)
			g = last.served(f)
			f.mustCount(key, 1, 0)
			f.release(g)
			f.mustList(key, 10)
		},
	},
	{
		name:        "together",
		explanation: "Inspect must list all holders of a key, and how they share it.",
		needs:       []need{needsShare},
		run: func(f *fixture) {
			key := f.key()
			var owners []string
			for range 3 {
				owners = append(owners, driver.Fingerprint(f.try(f.reader(key, long)).Owner))
			}
			info := f.mustCount(key, 3, 0)
			if info.Mode != driver.Shared || info.Semaphore {
				f.Errorf("readers are listed as %+v", info)
			}
			for _, h := range info.Holders {
				if !slices.Contains(owners, h.Owner) {
					f.Errorf("%q is not one of the readers", h.Owner)
				}
			}
			key = f.key()
			f.take(key, permits)
			if info := f.mustCount(key, permits, 0); info.Mode != driver.Exclusive || !info.Semaphore {
				f.Errorf("holders of permits are listed as %+v", info)
			}
		},
	},
	{
		name:        "expired",
		explanation: "Inspect must not list a holder after the end of its lease, even if nobody has asked for the key since, and whether or not others have it, too.",
		run: func(f *fixture) {
			key := f.key()
			f.try(f.request(key, f.Lease))
			f.mustVanish(key, 0)
			if f.can.Sharing {
				key = f.key()
				f.try(f.reader(key, f.Lease))
				f.try(f.reader(key, long))
				f.mustVanish(key, 1)
			}
		},
	},
	{
		name: "force",
		explanation: "ForceRelease must take the key from its holder: the next renewal is Lost, Release wraps ErrLost, and the next token is larger " +
			"than all that the holder was given.",
		run: func(f *fixture) {
			key := f.key()
			r := f.request(key, long)
			r.Tokens = 64
			for range 3 {
				f.mustSay(false, f.inspector.ForceRelease, key)
				g := f.try(r)
				f.mustSay(true, f.inspector.ForceRelease, key)
				f.mustList(key, 10)
				f.want(f.renewAll(g), driver.Lost)
				f.releaseLost(g)
				r.Owner = newOwner()
				next := f.try(r)
				f.mustRise(g, next)
				f.releaseLost(g)
				f.want(f.renewAll(g, next), driver.Lost, driver.Renewed)
				f.release(next)
				r.Owner = newOwner()
			}
		},
	},
	{
		name:        "force-with-waiters",
		explanation: "ForceRelease must pass the key on to the first waiter, as a release does. Another ForceRelease takes it from that one.",
		needs:       []need{needsQueue},
		run: func(f *fixture) {
			key, g := f.hold(long)
			w1, w2 := f.queueUp(f.request(key, long)), f.queueUp(f.request(key, long))
			f.mustSay(true, f.inspector.ForceRelease, key)
			next := w1.served(f)
			f.mustRise(g, next)
			w2.mustWait(f)
			f.want(f.renewAll(g), driver.Lost)
			f.releaseLost(g)
			f.want(f.renewAll(next), driver.Renewed)
			f.mustSay(true, f.inspector.ForceRelease, key)
			last := w2.served(f)
			f.mustRise(next, last)
			f.want(f.renewAll(next), driver.Lost)
			f.releaseLast(last)
		},
	},
	{
		name:        "force-sharers",
		explanation: "ForceRelease must take the key from all its holders.",
		needs:       []need{needsShare},
		run: func(f *fixture) {
			key := f.key()
			grants := f.take(key, permits)
			f.mustSay(true, f.inspector.ForceRelease, key)
			f.mustList(key, 10)
			alone := f.try(f.request(key, long))
			for _, g := range grants {
				f.want(f.renewAll(g), driver.Lost)
				f.releaseLost(g)
				f.mustRise(g, alone)
			}
			f.releaseLast(alone)
		},
	},
}

// mustVanish waits until a lease that was acquired just now is not listed any more, and the
// others are.
func (f *fixture) mustVanish(key string, others int) {
	f.Helper()
	for start := time.Now(); ; time.Sleep(f.tick()) {
		held := 0
		for _, info := range f.list(key, 1) {
			held += info.Held
		}
		if held == others {
			return
		}
		if took := time.Since(start); held < others || took > f.Lease+f.soon() {
			f.Fatalf("%d holders are listed after %v, want %d after %v", held, took, others, f.Lease)
		}
	}
}

// list returns the keys with the prefix.
func (f *fixture) list(prefix string, limit int) []driver.KeyInfo {
	f.Helper()
	infos, err := f.inspector.Inspect(f.Context(), prefix, limit)
	if err != nil {
		f.Fatalf("Inspect: %v", err)
	}
	return infos
}

// mustList checks which keys with the prefix are listed. Each must have one holder.
func (f *fixture) mustList(prefix string, limit int, want ...string) {
	f.Helper()
	var keys []string
	for _, info := range f.list(prefix, limit) {
		keys = append(keys, info.Key)
		if info.Held != 1 || info.Waiting != 0 {
			f.Errorf("held by one owner, listed as %+v", info)
		}
	}
	if !slices.Equal(keys, want) {
		f.Errorf("with prefix %q there are %q, want %q", prefix, keys, want)
	}
}

// mustWaitFor checks which waiters are listed. The first of them came after that time.
func (f *fixture) mustWaitFor(key string, since time.Time, want []driver.Request) {
	f.Helper()
	info := f.mustCount(key, 1, len(want))
	for i, w := range info.Waiters {
		r := &want[i]
		if w.Owner != driver.Fingerprint(r.Owner) || w.Waiter != driver.HolderOf(r.Owner) || w.Mode != r.Mode || w.Permits != r.Permits {
			f.Errorf("place %d: listed %+v; waits %+v", i+1, w, r)
		}
		if d := w.Since.Sub(since); !w.Since.IsZero() && (d < -patience || w.Since.After(time.Now().Add(patience))) {
			f.Errorf("place %d: waits since %v after the first took its place", i+1, d)
		}
	}
}

// mustCount checks the number of holders and of waiters, and how many of each are listed.
func (f *fixture) mustCount(key string, held, waiting int) driver.KeyInfo {
	f.Helper()
	infos := f.list(key, 10)
	if len(infos) != 1 || infos[0].Key != key || infos[0].Held != held || len(infos[0].Holders) != held || infos[0].Waiting != waiting ||
		len(infos[0].Waiters) != min(waiting, driver.MaxWaiterInfos) {
		f.Fatalf("%d holders and %d waiters of %q, listed as %+v", held, waiting, key, infos)
	}
	return infos[0]
}

// mustSay calls ForceRelease or Revoke, which must say whether the key is held.
func (f *fixture) mustSay(held bool, ask func(context.Context, string) (bool, error), key string) {
	f.Helper()
	if got, err := ask(f.Context(), key); err != nil || got != held {
		f.Fatalf("ForceRelease or Revoke returned %v, %v; want %v", got, err, held)
	}
}
