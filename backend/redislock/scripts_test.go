package redislock_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

const (
	lockKey  = "shop:pay"
	fenceKey = "{shop:pay}:fence"
	queueKey = "{shop:pay}:queue"

	testTTL   = 10 * time.Second
	testClaim = 500 * time.Millisecond
)

// scripts calls the scripts for lockKey as the Backend does. The inbox of the
// owner "a1" is "a".
type scripts struct {
	server
	t *testing.T
}

func (s scripts) acquireN(owner string, queue bool, tokens int) ([]int64, error) {
	mode := "try"
	if queue {
		mode = "enqueue"
	}
	lines, err := redislock.RunAcquire(s.t.Context(), s.Client, owner[:1], testClaim, "in:",
		redislock.ScriptOp{Key: lockKey, Owner: owner, TTL: testTTL, Tokens: tokens, Mode: mode})
	if err != nil {
		return nil, err
	}
	return numbers(s.t, lines[0]), nil
}

func numbers(t *testing.T, line string) []int64 {
	t.Helper()
	var ns []int64
	for _, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatalf("a script answered %q", line)
		}
		ns = append(ns, n)
	}
	return ns
}

// take acquires and must succeed. It returns the tokens.
func (s scripts) take(owner string) (first, last int64) {
	s.t.Helper()
	return s.takeN(owner, 1)
}

func (s scripts) takeN(owner string, tokens int) (first, last int64) {
	s.t.Helper()
	r, err := s.acquireN(owner, false, tokens)
	if err != nil || len(r) != 4 || r[0] != 1 {
		s.t.Fatalf("%s does not get the lock: %v, %v", owner, r, err)
	}
	return r[1], r[2]
}

// busy acquires and must find the lock held or promised. It returns the time left.
func (s scripts) busy(owner string, queue bool) time.Duration {
	s.t.Helper()
	r, err := s.acquireN(owner, queue, 1)
	if err != nil || len(r) < 2 || r[0] != 0 {
		s.t.Fatalf("%s does not find the lock held: %v, %v", owner, r, err)
	}
	return time.Duration(r[1]) * time.Millisecond
}

// refused acquires and must get an error that begins with prefix, and change
// nothing.
func (s scripts) refused(owner, prefix string) {
	s.t.Helper()
	for _, queue := range []bool{false, true} {
		before := s.dump(s.t)
		r, err := s.acquireN(owner, queue, 1)
		if !redis.HasErrorPrefix(err, prefix) {
			s.t.Errorf("got %v, %v instead of an error %s", r, err, prefix)
		}
		if after := s.dump(s.t); after != before {
			s.t.Errorf("a refused acquisition changed\n%sto\n%s", before, after)
		}
	}
}

func (s scripts) releaseErr(owner string, inDoubt bool, last int64) (int, error) {
	lines, err := redislock.RunRelease(s.t.Context(), s.Client, owner[:1], testClaim, "in:",
		redislock.ScriptOp{Key: lockKey, Owner: owner, InDoubt: inDoubt, LastToken: last})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(lines[0])
}

func (s scripts) release(owner string, want int) {
	s.t.Helper()
	if got, err := s.releaseErr(owner, false, 0); err != nil || got != want {
		s.t.Errorf("release of %s: %d, %v instead of %d", owner, got, err, want)
	}
}

func (s scripts) holder(want string) {
	s.t.Helper()
	if got := s.Get(s.t.Context(), lockKey).Val(); got != want {
		s.t.Errorf("the lock is held by %q instead of %q", got, want)
	}
}

func (s scripts) ttl(key string, atMost time.Duration) {
	s.t.Helper()
	if got := s.PTTL(s.t.Context(), key).Val(); got > atMost || got < atMost-5*time.Second || got <= 0 {
		s.t.Errorf("%s has %v to live instead of %v", key, got, atMost)
	}
}

func (s scripts) queue(want ...string) {
	s.t.Helper()
	if got := s.ZRange(s.t.Context(), queueKey, 0, -1).Val(); !slices.Equal(got, want) {
		s.t.Errorf("the queue is %q instead of %q", got, want)
	}
}

func (s scripts) now() int64 { return s.Time(s.t.Context()).Val().UnixMicro() }

// hear subscribes to all inboxes. The returned function returns the messages since
// then, and makes sure that there are no others.
func (s scripts) hear() func() []string {
	s.t.Helper()
	sub := s.PSubscribe(s.t.Context(), "in:*")
	s.t.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return func() []string {
		s.t.Helper()
		s.Publish(context.Background(), "in:end", "end")
		var got []string
		for {
			m, err := sub.ReceiveMessage(s.t.Context())
			if err != nil {
				s.t.Fatal(err)
			}
			if m.Channel == "in:end" {
				return got
			}
			got = append(got, m.Channel+" "+m.Payload)
		}
	}
}

// isFull reports whether err says that the server is out of memory. Before version 7 the
// error of a script contains that of its command.
func isFull(err error) bool {
	return err != nil && strings.Contains(err.Error(), "OOM command not allowed")
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q instead of %q", what, got, want)
	}
}

func eachScripts(t *testing.T, f func(t *testing.T, s scripts)) {
	t.Helper()
	eachServer(t, func(t *testing.T, s server) { f(t, scripts{s, t}) })
}
