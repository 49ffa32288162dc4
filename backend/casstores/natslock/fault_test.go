package natslock_test

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/backend/casstores/natslock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A bucket that cannot keep locks is refused at the first use, by the name of what is wrong.
func TestUnfitBucket(t *testing.T) {
	c := startCluster(t, 3)
	js := c.jetstream(t)
	for i, b := range []struct {
		stream jetstream.StreamConfig
		cfg    natslock.Config
		want   string
	}{
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, Storage: jetstream.MemoryStorage}, natslock.Config{}, "kept in memory"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, Storage: jetstream.MemoryStorage}, natslock.Config{Memory: true}, ""},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1}, natslock.Config{Replicas: 3}, "1 replicas, and Config.Replicas is 3"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 5}, natslock.Config{}, "history is 5"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, AllowDirect: true, Replicas: 3}, natslock.Config{}, "allows direct reads"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, MaxBytes: 1 << 20}, natslock.Config{}, "discard: old"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, MaxAge: time.Hour}, natslock.Config{}, "forgets keys after 1h0m0s, and a lease needs 48h0m0s"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, MaxAge: 48 * time.Hour}, natslock.Config{}, ""},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, Retention: jetstream.InterestPolicy}, natslock.Config{}, "retention must be limits"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, NoAck: true}, natslock.Config{}, "without no_ack"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, DiscardNewPerSubject: true, Discard: jetstream.DiscardNew}, natslock.Config{}, "discard_new_per_subject"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, PersistMode: jetstream.AsyncPersistMode}, natslock.Config{}, "persist_mode: async"},
	} {
		b.cfg.Bucket = "bucket" + string(rune('a'+i))
		b.stream.Name, b.stream.Subjects = "KV_"+b.cfg.Bucket, []string{"$KV." + b.cfg.Bucket + ".>"}
		if _, err := js.CreateStream(t.Context(), b.stream); err != nil {
			t.Fatal(err)
		}
		err := natslock.New(c.connect(t), b.cfg).(driver.Pinger).Ping(t.Context())
		if b.want == "" && err != nil || b.want != "" && (err == nil || !strings.Contains(err.Error(), b.want)) {
			t.Errorf("%+v with %+v: %v, want %q", b.stream, b.cfg, err, b.want)
		}
	}
}

// Each operation says what to do if somebody has deleted the bucket. The next repeats no version.
func TestDeletedBucket(t *testing.T) {
	c := startCluster(t, 1)
	b := natslock.New(c.connect(t), natslock.Config{})
	g := testkit.MustTry(t, b, testkit.NewRequest("held"))
	if err := c.jetstream(t).DeleteStream(t.Context(), "KV_distlock"); err != nil {
		t.Fatal(err)
	}
	_, attempt := b.TryAcquire(t.Context(), testkit.NewRequest("another"))
	_, look := b.(driver.Inspector).Inspect(t.Context(), "", 1)
	for _, err := range []error{attempt, look, testkit.Renewed(t, b, g), b.Release(t.Context(), g)} {
		if err == nil || !strings.Contains(err.Error(), `if the bucket "distlock" was deleted`) {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for range 8 { // that make it at the same time
		anew := natslock.New(c.connect(t), natslock.Config{}).(driver.Pinger)
		all.Go(func() {
			if err := anew.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if next, err := c.jetstream(t).Stream(t.Context(), "KV_distlock"); err != nil || next.CachedInfo().State.FirstSeq < 1e15 {
		t.Errorf("the numbers begin anew: %v", err)
	}
}

// A server that is alone loses the tickets when it starts anew: they are in memory. A waiter that
// is in line comes back, another one joins, and a key that is free is granted.
func TestTicketsAreGone(t *testing.T) {
	c := startCluster(t, 1)
	js, holder := c.jetstream(t), natslock.New(c.connect(t), natslock.Config{})
	drop := func() { _ = js.DeleteStream(t.Context(), "DISTLOCK_WAIT_distlock") }
	for _, key := range []string{"early", "late"} {
		g := testkit.MustTry(t, holder, testkit.NewRequest(key))
		if key == "late" {
			drop()
		}
		waiter := natslock.New(c.connect(t), natslock.Config{}).(testkit.Queue)
		t.Cleanup(func() { _ = waiter.(io.Closer).Close() })
		w := testkit.StartWaiter(t, waiter, testkit.NewRequest(key), testkit.Looks{Every: 100 * time.Millisecond})
		testkit.Eventually(t, "a ticket", func() bool {
			s, err := js.Stream(t.Context(), "DISTLOCK_WAIT_distlock")
			return err == nil && s.CachedInfo().State.Msgs == 1
		})
		drop()
		testkit.MustRelease(t, holder, g)
		testkit.MustRelease(t, waiter, w.Served(t))
		drop()
		testkit.MustRelease(t, holder, testkit.MustTry(t, holder, testkit.NewRequest(key)))
	}
}

// A waiter that says again that it waits has the ticket of the first time, and its place.
func TestTickets(t *testing.T) {
	all, err := natslock.Store(t.Context(), startCluster(t, 1).jetstream(t))
	for _, owner := range []string{"a", "b", "a"} {
		err = errors.Join(err, all.PutTicket(t.Context(), "key", owner, []byte(owner)))
	}
	if got, read := all.OldestTickets(t.Context(), "key", 5); errors.Join(err, read) != nil || string(slices.Concat(got...)) != "ab" {
		t.Errorf("%q, %v", got, errors.Join(err, read))
	}
}

// A version that is none of this store is not the version of the cell, whatever sent it. Servers
// say in two ways that a version is old.
func TestOtherVersion(t *testing.T) {
	s, err := natslock.Store(t.Context(), startCluster(t, 1).jetstream(t))
	for _, version := range []string{"x", "7"} {
		if _, swapErr := s.Swap(t.Context(), "key", version, nil); err != nil || !errors.Is(swapErr, caslock.ErrChanged) {
			t.Errorf("%q: %v, %v", version, swapErr, err)
		}
	}
	for _, code := range []jetstream.ErrorCode{10071, 10164} {
		if !natslock.Changed(&jetstream.APIError{ErrorCode: code}) {
			t.Errorf("code %d is not known", code)
		}
	}
}

// lateDialer opens one connection, on which each write takes a while.
type lateDialer struct{ net.Conn }

func (d *lateDialer) Dial(network, addr string) (_ net.Conn, err error) {
	if d.Conn != nil {
		return nil, net.ErrClosed
	}
	d.Conn, err = net.Dial(network, addr)
	return d, err
}

func (d *lateDialer) Write(p []byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	return d.Conn.Write(p)
}

// A process that ends just after Close has told the next waiter.
func TestClose(t *testing.T) {
	c, d := startCluster(t, 1), new(lateDialer)
	holder := natslock.New(c.connect(t, nats.SetCustomDialer(d)), natslock.Config{})
	waiter, r := natslock.New(c.connect(t), natslock.Config{}).(testkit.Queue), testkit.NewRequest("key")
	defer waiter.(io.Closer).Close()
	g := testkit.MustTry(t, holder, testkit.NewRequest("key"))
	_, _ = waiter.Enqueue(t.Context(), r)
	turn := waiter.Turn(t.Context(), r)
	<-turn // it listens
	_, _ = waiter.Enqueue(t.Context(), r)
	testkit.MustRelease(t, holder, g)
	_ = holder.(io.Closer).Close()
	_ = d.Close()
	select {
	case <-turn:
	case <-time.After(5 * time.Second):
		t.Error("the waiter was not told")
	}
}
