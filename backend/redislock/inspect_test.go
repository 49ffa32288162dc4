package redislock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

func mustInspect(t *testing.T, b *redislock.Backend, prefix string) []driver.KeyInfo {
	t.Helper()
	infos, err := b.Inspect(t.Context(), prefix, 10_000)
	if err != nil {
		t.Fatalf("Inspect(%q): %v", prefix, err)
	}
	return infos
}

func keysOf(infos []driver.KeyInfo) (keys []string) {
	for _, info := range infos {
		keys = append(keys, info.Key)
	}
	return keys
}

func TestInspectOthersKeys(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		ctx := t.Context()
		g := must(b.TryAcquire(ctx, request("shop:lock")))
		s.Set(ctx, "shop:text", "some text", time.Hour)
		s.Set(ctx, "shop:id", uuid.NewString(), 0)
		s.HSet(ctx, "shop:hash", "a", "b")
		s.RPush(ctx, "shop:list", "a")
		s.ZAdd(ctx, "shop:scores", redis.Z{Score: 1e18, Member: "alice"})
		s.ZAdd(ctx, "shop:mixed", redis.Z{Score: 1e18, Member: "r alice"}, redis.Z{Score: 2e18, Member: "alice"})
		s.Set(ctx, "shop:aspect", uuid.NewString(), time.Hour) // as the usual aspects write it
		s.Set(ctx, "shop:busy", "redsync", time.Hour)          // it has a waiter here
		waiter := request("shop:busy")
		waiter.Backoff = driver.NewBackoff(time.Millisecond, 2)
		if _, err := b.Acquire(ctx, waiter); err == nil {
			t.Fatal("granted")
		}
		before := s.dump(t)

		infos := mustInspect(t, b, "shop:")
		if got, want := keysOf(infos), []string{"shop:aspect", "shop:busy", "shop:lock"}; !slices.Equal(got, want) {
			t.Fatalf("listed %q, want %q", got, want)
		}
		if strings.Contains(fmt.Sprintf("%+v", infos), g.Owner) {
			t.Error("an owner is shown")
		}
		if busy := infos[1]; busy.Held != 1 || busy.Waiting != 1 || busy.Holders[0].Token != 0 || !busy.Holders[0].Since.IsZero() {
			t.Errorf("a lock of others is %+v", busy)
		}
		lock := infos[2].Holders[0]
		now := time.Now()
		if s.mini == nil { // the clock of the simulated server stands still
			now = s.Time(ctx).Val()
		}
		if lock.Token != g.Token || now.Sub(lock.Since) < 0 || now.Sub(lock.Since) > time.Minute || lock.ExpiresIn > 10*time.Second || lock.ExpiresIn <= 0 {
			t.Errorf("the lock is %+v, the token is %d", lock, g.Token)
		}

		for _, key := range []string{"shop:text", "shop:id", "shop:hash", "shop:list", "shop:scores", "shop:mixed"} {
			if held, err := b.ForceRelease(ctx, key); held || err == nil {
				t.Errorf("ForceRelease(%q): %v, %v", key, held, err)
			}
		}
		if held, err := b.ForceRelease(ctx, "shop:none"); held || err != nil {
			t.Errorf("ForceRelease of nothing: %v, %v", held, err)
		}
		if after := s.dump(t); after != before && s.mini == nil {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		if held, err := b.ForceRelease(ctx, "shop:aspect"); !held || err != nil {
			t.Errorf("ForceRelease of another kit's lock: %v, %v", held, err)
		}
		if err := b.Release(ctx, waiter.Grant()); err != nil {
			t.Log(err)
		}
	})
}

// A lock that outlives the clock keeps its token, and the next one gets a larger token.
func TestInspectWithoutClock(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		g := must(b.TryAcquire(t.Context(), request(lockKey)))
		s.Del(t.Context(), clockKey)
		infos := mustInspect(t, b, lockKey)
		if len(infos) != 1 || infos[0].Held != 1 || infos[0].Holders[0].Token != g.Token {
			t.Fatalf("listed %+v", infos)
		}
		if held, err := b.ForceRelease(t.Context(), lockKey); !held || err != nil {
			t.Fatalf("ForceRelease: %v, %v", held, err)
		}
		next := must(b.TryAcquire(t.Context(), request(lockKey)))
		if next.Token <= g.LastToken {
			t.Errorf("token %d after %d", next.Token, g.LastToken)
		}
	})
}

// A repeated order, after a lost reply, does not affect the next holder.
func TestScriptForceRepeated(t *testing.T) {
	eachServer(t, func(t *testing.T, srv server) {
		s := scripts{server: srv, t: t}
		force := func(order string) string {
			t.Helper()
			lines, err := redislock.RunForce(t.Context(), s.Client, "a", testClaim, "in:", redislock.ScriptOp{Key: lockKey, Owner: order})
			if err != nil {
				t.Fatal(err)
			}
			return lines[0]
		}
		_, last := s.take("a1")
		s.busy("b1", true)
		for range 3 {
			if line := force("order1"); line != "1" {
				t.Errorf("answered %q", line)
			}
			s.holder("b1")
		}
		if first, _ := s.take("b1"); first <= last {
			t.Errorf("token %d after %d", first, last)
		}
		if line := force("order1"); line != "1" {
			t.Errorf("after the claim: %q", line)
		}
		s.holder("b1")
		if line := force("order2"); line != "1" || s.Exists(t.Context(), lockKey).Val() != 0 {
			t.Errorf("another order: %q", line)
		}
		if line := force("order3"); line != "2" {
			t.Errorf("a free lock: %q", line)
		}
		// A late attempt by the old holder fails.
		if _, err := s.try("b1", "", false); err == nil {
			t.Error("the deposed owner is back")
		}
	})
}

// A lock without a holder, because a message was lost, goes to the waiter.
func TestForceReleaseOfNobodys(t *testing.T) {
	eachServer(t, func(t *testing.T, srv server) {
		s := scripts{server: srv, t: t}
		s.take("a1")
		s.busy("b1", true)
		s.Del(t.Context(), lockKey)
		b := newBackend(t, s.Client)
		infos := mustInspect(t, b, lockKey)
		if len(infos) != 1 || infos[0].Held != 0 || infos[0].Waiting != 1 {
			t.Errorf("listed %+v", infos)
		}
		if held, err := b.ForceRelease(t.Context(), lockKey); held || err != nil {
			t.Errorf("ForceRelease: %v, %v", held, err)
		}
		s.holder("b1")
	})
}

// A clock that is not a token keeps locks from being granted, but not from being taken
// away.
func TestForceReleaseBadClock(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		g := must(b.TryAcquire(t.Context(), request(lockKey)))
		s.Set(t.Context(), clockKey, "rubbish", 0)
		if infos := mustInspect(t, b, lockKey); len(infos) != 1 || infos[0].Holders[0].Token != g.Token {
			t.Errorf("listed %+v", infos)
		}
		if held, err := b.ForceRelease(t.Context(), lockKey); !held || err != nil {
			t.Errorf("ForceRelease: %v, %v", held, err)
		}
		_, err := b.TryAcquire(t.Context(), request(lockKey))
		says(t, "TryAcquire", err, "BADCLOCK")
		if got := s.Get(t.Context(), clockKey).Val(); got != "rubbish" {
			t.Errorf("the clock is %q", got)
		}
	})
}

// More keys than one reply of SCAN has, among keys that are not locks.
func TestInspectMany(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		pipe := s.Pipeline()
		for i := range 3000 {
			pipe.Set(t.Context(), fmt.Sprint("data:", i), "x", time.Hour)
			if i%10 == 0 {
				pipe.Set(t.Context(), fmt.Sprint("lock:", i), uuid.NewString(), time.Hour)
			}
		}
		must(pipe.Exec(t.Context()))
		if n := len(mustInspect(t, b, "lock:")); n != 300 {
			t.Errorf("%d locks, want 300", n)
		}
		if n := len(mustInspect(t, b, "")); n != 300 {
			t.Errorf("%d locks of all, want 300", n)
		}
		if infos, err := b.Inspect(t.Context(), "lock:", 7); err != nil || len(infos) != 7 {
			t.Errorf("%d locks, want 7; %v", len(infos), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Inspect(ctx, "", 1); err == nil {
			t.Error("no error of the context")
		}
	})
}

func TestInspectCluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	c := redistest.ClusterClient(t, servers)
	b := newBackend(t, c)
	for i := range 20 { // in other slots than the queues of locks with these names
		noError(t, c.Set(t.Context(), fmt.Sprintf("shop:{%d}:cart", i), "x", time.Hour).Err())
	}
	var want []string
	for i := range 60 {
		g := must(b.TryAcquire(t.Context(), request(fmt.Sprintf("shop:%02d", i))))
		want = append(want, g.Key)
	}
	infos := mustInspect(t, b, "shop:")
	if got := keysOf(infos); !slices.Equal(got, want) {
		t.Fatalf("listed %q", got)
	}
	for _, info := range infos {
		if info.Held != 1 || info.Holders[0].Token == 0 {
			t.Errorf("listed %+v", info)
		}
		if held, err := b.ForceRelease(t.Context(), info.Key); !held || err != nil {
			t.Errorf("ForceRelease(%q): %v, %v", info.Key, held, err)
		}
	}
	if infos := mustInspect(t, b, ""); len(infos) != 0 {
		t.Errorf("left: %+v", infos)
	}
}

func TestForceReleaseWithoutMemory(t *testing.T) {
	t.Parallel()
	s := scripts{server: realServer(t, "--maxmemory-policy", "noeviction"), t: t}
	b := newBackend(t, s.Client)
	s.take("a1")
	s.busy("b1", true)
	if err := s.ConfigSet(t.Context(), "maxmemory", "100kb").Err(); err != nil {
		t.Fatal(err)
	}
	if held, err := b.ForceRelease(t.Context(), lockKey); !held || err != nil {
		t.Errorf("ForceRelease: %v, %v", held, err)
	}
	s.holder("b1")
}

// The rules in doc.go are sufficient with those for inspection, and each of these is
// needed.
func TestInspectACL(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	more := []string{"+scan", "+zcount", "+zrangebyscore"}
	use := func(more []string) error {
		redistest.SetUser(t, s.Client, append(documentedRules(t), more...))
		s.FlushAll(t.Context())
		b := newBackend(t, s.real.Client(t, redistest.AsUser))
		r := request("shop:sale")
		r.Permits = 2
		must(b.TryAcquire(t.Context(), r))
		_, err := b.Inspect(t.Context(), "shop:", 10)
		if err != nil {
			return err
		}
		_, err = b.ForceRelease(t.Context(), r.Key)
		return err
	}
	if err := use(more); err != nil {
		t.Fatal(err)
	}
	for i, rule := range more {
		if err := use(slices.Delete(slices.Clone(more), i, i+1)); err == nil {
			t.Errorf("without %s there is no error", rule)
		}
	}
}

// Inspect waits for a server that hangs for at most the operation timeout.
func TestInspectHungServer(t *testing.T) {
	s := redistest.Start(t)
	b := newBackend(t, s.Client(t), redislock.WithOpTimeout(100*time.Millisecond))
	must(newBackend(t, s.Client(t)).TryAcquire(t.Context(), request(lockKey)))
	s.Stop()
	defer s.Cont()
	start := time.Now()
	if _, err := b.Inspect(t.Context(), "", 10); err == nil {
		t.Error("no error")
	}
	if _, err := b.ForceRelease(t.Context(), lockKey); err == nil {
		t.Error("no error")
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
}
