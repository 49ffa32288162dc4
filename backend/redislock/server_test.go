package redislock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
)

// syncBuffer is a buffer that a logger may write to while a test reads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestEvictionWarning(t *testing.T) {
	s := realServer(t, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru")
	var log syncBuffer
	b := newBackend(t, s.Client, redislock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	for range 3 {
		g, err := b.TryAcquire(t.Context(), request("k"))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Release(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "it warns", func() bool { return log.String() != "" })
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "volatile-lru") {
		t.Errorf("logged %q", got)
	}
}

func TestEvicts(t *testing.T) {
	for info, want := range map[string]bool{
		"# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:volatile-lru\r\n":          false,
		"# Memory\r\nmaxmemory:100\r\nmaxmemory_policy:noeviction\r\n":          false,
		"# Memory\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-random\r\n":      true,
		"# Memory\r\nmaxmemory_human:1M\r\nmaxmemory_policy:allkeys-random\r\n": false,
		"": false,
	} {
		if _, got := redislock.Evicts(info); got != want {
			t.Errorf("%q: %v", info, got)
		}
	}
}

// documentedRules returns the ACL rules of the package comment.
func documentedRules(t *testing.T) (rules []string) {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(doc)) {
		if rule, ok := strings.CutPrefix(line, "//	"); ok && strings.ContainsRune("r-+", rune(rule[0])) && !strings.Contains(rule, "(") {
			rules = append(rules, strings.Fields(rule)...)
		}
	}
	if len(rules) < 20 {
		t.Fatalf("found %q", rules)
	}
	return rules
}

// The rules that doc.go gives are enough, and there are no more than enough.
func TestACL(t *testing.T) {
	s := realServer(t)
	rules := documentedRules(t)
	setUser := func(rules []string) {
		t.Helper()
		args := []any{"acl", "setuser", "locker", "reset", "on", ">pw"}
		for _, r := range rules {
			args = append(args, r)
		}
		if err := s.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	use := func() error {
		s.FlushAll(t.Context())
		s.ScriptFlush(t.Context())
		c := s.real.Client(t, func(o *redis.Options) { o.Username, o.Password = "locker", "pw" })
		b := newBackend(t, c)
		defer b.Close()
		eventually(t, "earlier inboxes are gone", func() bool { return s.inboxes(t) == 0 })
		g, err := b.Acquire(t.Context(), request("shop:pay"))
		if err != nil {
			return err
		}
		if got := b.Renew(t.Context(), []distlock.Grant{g}); got[0].Err != nil {
			return got[0].Err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		w := acquire(ctx, b, request("shop:pay"))
		eventually(t, "it has queued or failed", func() bool {
			select {
			case <-w.done:
				return true
			default:
				return s.ZCard(t.Context(), queueKey).Val() == 1 && s.inboxes(t) == 1
			}
		})
		released := b.Release(t.Context(), g)
		<-w.done
		return errors.Join(released, w.err)
	}

	setUser(rules)
	if err := use(); err != nil {
		t.Fatal(err)
	}
	// Every permission is needed, except those that only help.
	helps := map[string]bool{
		"+subscribe":      true, // without it, those who wait poll
		"+ping":           true, // to notice a dead inbox sooner
		"+info":           true, // for the warning about eviction
		"+hello":          true, // go-redis does without
		"+zrem":           true, // see below
		"+client|setname": true, // if the client has a name
	}
	for i, r := range rules {
		if r[0] != '+' || helps[r] {
			continue
		}
		setUser(append(append([]string{}, rules[:i]...), rules[i+1:]...))
		if err := use(); !redis.HasErrorPrefix(err, "NOPERM") && !strings.Contains(fmt.Sprint(err), "The user executing the script can't run this command") {
			t.Errorf("without %s: %v", r, err)
		}
	}
}
