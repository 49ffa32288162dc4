package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/locktest"
)

// tickets is a row of a user's database: the number of the next ticket.
type tickets struct {
	mu         sync.Mutex
	next       int
	token      uint64
	compare    bool        // AND token <= $1
	tickets    map[int]int // by number
	ticketsFor map[int]int // by buyer
}

var errOld = errors.New("an older token")

func (d *tickets) do(token uint64, statement func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.compare && token < d.token {
		return errOld
	}
	d.token = token
	statement()
	return nil
}

// office is a user's program, which sells a ticket in three seconds. Its faults are planted.
type office struct {
	noToken bool // the database does not compare tokens
	deaf    bool // it works on when its lock is lost
	blind   bool // it does not look at the error of the database
	again   bool // it repeats a sale that is in doubt
}

func (f office) sell(ctx context.Context, d *tickets, buyer int) error {
	lease, _ := distlock.FromContext(ctx)
	var number int
	if err := d.do(lease.Token(), func() { number = d.next }); err != nil {
		return err
	}
	done := ctx.Done()
	if f.deaf {
		done = nil
	}
	select {
	case <-time.After(3 * time.Second):
	case <-done:
		return context.Cause(ctx)
	}
	err := d.do(lease.Token(), func() { d.next = number + 1; d.tickets[number]++; d.ticketsFor[buyer]++ })
	if f.blind {
		return nil
	}
	return err
}

// run returns whether the buyer has a ticket, as far as the program knows.
func (f office) run(ctx context.Context, l *distlock.Locker, d *tickets, buyer int) bool {
	for {
		err := l.Do(ctx, "1", distlock.Opts{Prefix: "tickets:", KeyTimeout: 3 * time.Second, MaxWait: 20 * time.Second},
			func(ctx context.Context) error { return f.sell(ctx, d, buyer) })
		if !f.again || err == nil || !distlock.Ran(err) {
			return err == nil
		}
	}
}

// faults returns how many of 400 seeds find a fault.
func (f office) faults(t *testing.T) (found, sold int) {
	t.Helper()
	for seed := range uint64(400) {
		synctest.Test(t, func(t *testing.T) {
			store, fault := locktest.Unreliable(memlock.New(), seed), false
			d := &tickets{compare: !f.noToken, tickets: map[int]int{}, ticketsFor: map[int]int{}}
			var buyers sync.WaitGroup
			for buyer := range 4 {
				l := testkit.NewLocker(t, store, distlock.Config{}) // a process
				buyers.Go(func() {
					told := f.run(t.Context(), l, d, buyer)
					d.mu.Lock()
					defer d.mu.Unlock()
					fault = fault || d.ticketsFor[buyer] > 1 || told && d.ticketsFor[buyer] == 0
				})
			}
			buyers.Wait()
			for _, n := range d.tickets {
				sold, fault = sold+n, fault || n > 1
			}
			if fault {
				found++
			}
		})
	}
	return found, sold
}

// TestUnreliableFinds: each planted fault is found, and a right program has none.
func TestUnreliableFinds(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]office{
		"no token": {noToken: true}, "works on": {noToken: true, deaf: true}, "ignores an error": {blind: true}, "repeats": {again: true},
	} {
		if found, sold := f.faults(t); found == 0 {
			t.Errorf("%s: not found among %d sales", name, sold)
		}
	}
	for name, f := range map[string]office{"right": {}, "late, but refused": {deaf: true}} {
		if found, sold := f.faults(t); found != 0 || sold < 400 {
			t.Errorf("%s: %d faults among %d sales", name, found, sold)
		}
	}
}

// fates returns what becomes of calls in ten minutes, and when.
func fates(t *testing.T, seed uint64) (fates []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store, start := memlock.New(), time.Now()
		b := locktest.Unreliable(store, seed)
		for i := 0; time.Since(start) < 10*time.Minute; i++ {
			r := driver.Request{Key: "k", Owner: strconv.Itoa(i), TTL: time.Minute, Tokens: 1}
			_, err := b.TryAcquire(t.Context(), r)
			if errors.Is(err, driver.ErrNotAcquired) {
				t.Errorf("a key that is free: %v", err)
			}
			time.Sleep(100 * time.Millisecond)
			sent := time.Now()
			result := driver.RenewAll(t.Context(), b, []driver.Grant{r.Grant()})[0]
			fate := "in doubt"
			switch {
			case result == nil:
				fate = "renewed"
			case errors.Is(result, driver.ErrLost):
				fate = "lost"
			}
			fate += fmt.Sprintf(", late %t", time.Since(sent) > 0)
			if time.Since(sent) > 3*time.Second {
				t.Errorf("%s after %v", fate, time.Since(sent))
			}
			fates = append(fates, fmt.Sprint(sent.Sub(start), " ", fate))
			released := store.Release(t.Context(), r.Grant())
			if err == nil && errors.Is(result, driver.ErrLost) && !errors.Is(released, driver.ErrLost) {
				t.Errorf("%s, and its release: %v", fate, released)
			}
		}
	})
	return fates
}

// TestUnreliableIsRepeated: a seed has the same faults each time, another has others, and
// each fault comes.
func TestUnreliableIsRepeated(t *testing.T) {
	t.Parallel()
	first := fates(t, 1)
	if !slices.Equal(first, fates(t, 1)) || slices.Equal(first, fates(t, 2)) {
		t.Error("the seed does not decide")
	}
	all := strings.Join(first, "\n")
	for _, fate := range []string{
		"renewed, late false", "renewed, late true", "lost, late false", // it works
		"in doubt, late false", "in doubt, late true", // it fails, and keeps a reply back
	} {
		if !strings.Contains(all, fate) {
			t.Errorf("never: %s", fate)
		}
	}
}
