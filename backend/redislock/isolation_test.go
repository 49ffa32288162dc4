package redislock_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// badKey is the key of a lock that cannot be used. The keys of the locks beside it
// begin with "good".
const badKey = "bad"

// wrong is a reason why a lock cannot be used.
type wrong struct {
	place     string // lock, queue or gone
	kind      string // hash, or what the user may do with the key: nothing or read
	forbidden bool
}

// at returns the key with the given place.
func at(place string) string {
	if place == "lock" {
		return badKey
	}
	return "{" + badKey + "}:" + place
}

// wrongs returns every wrong at every key of a lock.
func wrongs() map[string]wrong {
	all := make(map[string]wrong)
	for _, place := range []string{"lock", "queue", "gone"} {
		all[place+" is a hash"] = wrong{place, "hash", false}
		for _, may := range []string{"nothing", "read"} {
			all[fmt.Sprintf("%s allows %s", place, may)] = wrong{place, may, true}
		}
	}
	return all
}

// apply makes the lock wrong. It is of use to clients that log in as the user.
func (w wrong) apply(t *testing.T, s server) {
	t.Helper()
	if !w.forbidden {
		noError(t, s.Del(t.Context(), at(w.place)).Err())
		noError(t, s.HSet(t.Context(), at(w.place), "a", "b").Err())
		return
	}
	rules := []string{"~good*", "~{good*", "~distlock:clock", "&*"}
	for _, r := range documentedRules(t) {
		if strings.ContainsRune("+-", rune(r[0])) {
			rules = append(rules, r)
		}
	}
	for _, place := range []string{"lock", "queue", "gone"} {
		switch {
		case place != w.place:
			rules = append(rules, "~"+at(place))
		case w.kind == "read":
			rules = append(rules, "%R~"+at(place))
		}
	}
	redistest.SetUser(t, s.Client, rules)
}

// says is a pattern of the error of an acquisition.
func (w wrong) says() string {
	switch {
	case w.forbidden:
		return "NOPERM"
	case w.place == "lock":
		return "held by another"
	default:
		return `"?{bad}:` + w.place + `"? is a ` + w.kind
	}
}

// badContents returns the keys of the bad lock with their values.
func badContents(t *testing.T, s server) map[string]string {
	t.Helper()
	all := s.contents(t)
	maps.DeleteFunc(all, func(key, _ string) bool { return !strings.Contains(key, badKey) })
	return all
}

// isolated returns a server, a Backend whose user may do everything, and 200 requests
// of all modes, each for a key of its own.
func isolated(t *testing.T, s server) (b *redislock.Backend, good []driver.Request) {
	t.Helper()
	s.FlushAll(t.Context())
	redistest.SetUser(t, s.Client, []string{"~*", "&*", "+@all"})
	asks := []func(string) driver.Request{modes["exclusive"], modes["exclusive"], modes["shared"], modes["permits"]}
	for i := range 200 {
		good = append(good, asks[i%len(asks)]("good"+strconv.Itoa(i)))
	}
	return newBackend(t, s.real.Client(t, redistest.AsUser)), good
}

// What is wrong with one lock fails the requests for that lock, and leaves it as it
// was. Requests for other locks, which share scripts with it, are granted and released.
func TestWrongLockIsRefusedAlone(t *testing.T) {
	s := realServer(t)
	for name, w := range wrongs() {
		t.Run(name, func(t *testing.T) {
			b, good := isolated(t, s)
			w.apply(t, s)
			before := badContents(t, s)
			refused := func(what string, try func() error) {
				err := try()
				// A plain attempt of another goroutine may have the key until a script
				// refuses it.
				for n := 0; n < 1000 && w.place != "lock" && errors.Is(err, driver.ErrNotAcquired); n++ {
					time.Sleep(time.Millisecond)
					err = try()
				}
				if err == nil || errors.Is(err, driver.ErrNotAcquired) != (w.place == "lock" && !w.forbidden) {
					t.Errorf("the bad key, %s: %v", what, err)
				}
				readable(t, "the bad key, "+what, err, w.says())
			}

			var all sync.WaitGroup
			for _, r := range good {
				all.Go(func() {
					for range 5 {
						r.Owner = request("").Owner
						g, err := b.TryAcquire(t.Context(), r)
						if err != nil {
							t.Errorf("%s: %v", r.Key, err)
							return
						}
						if err := b.Release(t.Context(), g); err != nil {
							t.Errorf("%s: release: %v", r.Key, err)
						}
					}
				})
			}
			for mode, ask := range modes {
				all.Go(func() {
					for range 5 {
						refused(mode+", TryAcquire", func() error {
							_, err := b.TryAcquire(t.Context(), ask(badKey))
							return err
						})
					}
				})
				if mode == "exclusive" && w.kind == "read" && w.place != "lock" {
					continue // a plain attempt only reads the queue and the tombstones
				}
				all.Go(func() {
					for range 5 {
						refused(mode+", Acquire", func() error {
							r := ask(badKey)
							_, err := b.Enqueue(t.Context(), r)
							_ = b.Release(t.Context(), r.Grant()) // it may have queued
							return err
						})
					}
				})
			}
			all.Wait()

			for _, key := range []string{"good1", "good2"} {
				mustRelease(t, b, mustTry(t, b, request(key)))
			}
			after := badContents(t, s)
			if w.place != "gone" {
				delete(after, at("gone")) // on a slow machine, an owner may be in doubt
			}
			if !maps.Equal(before, after) {
				t.Errorf("the keys %q have changed to %q", slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
			}
		})
	}
}

// The same for locks that are held when one of them becomes wrong: the others are
// renewed and released. The wrong one is either given back or not, as its release says.
func TestWrongLockIsReleasedAlone(t *testing.T) {
	s := realServer(t)
	for name, w := range wrongs() {
		for mode, ask := range modes {
			t.Run(mode+"/"+name, func(t *testing.T) {
				b, requests := isolated(t, s)
				bad := len(requests) / 2
				requests[bad] = ask(badKey)
				grants := make([]driver.Grant, len(requests))
				for i, r := range requests {
					grants[i] = mustTry(t, b, r)
				}
				w.apply(t, s)
				before := badContents(t, s)

				for i, got := range driver.RenewAll(t.Context(), b, grants) {
					switch {
					case i != bad && got != nil:
						t.Errorf("%s: renewal: %v", requests[i].Key, got)
					case i == bad && w.place != "lock" && got != nil:
						t.Errorf("renewal: %v", got)
					case i == bad && w.place == "lock" && !w.forbidden && !errors.Is(got, driver.ErrLost):
						t.Errorf("a renewal of what is gone: %v", got)
					case i == bad && w.place == "lock" && w.forbidden:
						if !await.InDoubt(got) {
							t.Errorf("a renewal that is forbidden: %v", got)
						}
						readable(t, "a renewal that is forbidden", got, "NOPERM")
					}
				}

				errs := make([]error, len(grants))
				var all sync.WaitGroup
				for i, g := range grants {
					all.Go(func() { errs[i] = b.Release(t.Context(), g) })
				}
				all.Wait()
				for i, err := range errs {
					if i != bad && err != nil {
						t.Errorf("%s: release: %v", requests[i].Key, err)
					}
				}
				after := badContents(t, s)
				_, has := after[badKey]
				switch err := errs[bad]; {
				case w.place == "lock" && !w.forbidden:
					matches(t, "release of what is another's", err, driver.ErrLost)
					if !maps.Equal(before, after) {
						t.Errorf("the release changed %q to %q", before, after)
					}
				case errors.Is(err, driver.ErrLost), (err != nil) != has:
					t.Errorf("release: %v, and the lock is held: %v", err, has)
				case after[at(w.place)] != before[at(w.place)] && w.place != "lock":
					t.Errorf("the release changed %q", at(w.place))
				}
			})
		}
	}
}
