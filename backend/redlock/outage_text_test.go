package redlock_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestOutageTexts checks that for any problem of a quorum, the error names on one line
// the nodes and their problems.
func TestOutageTexts(t *testing.T) {
	t.Parallel()
	well := redistest.Start(t)
	info := well.Client(t).InfoMap(t.Context(), "server").Item("Server", "run_id")
	if err := well.Client(t).Set(t.Context(), redlock.MarkerKey, info+" 0", 0).Err(); err != nil { // the node is trusted
		t.Fatal(err)
	}
	// Two of three nodes have the address.
	ask := func(t *testing.T, addr string) error {
		cs := []redis.UniversalClient{well.Client(t)}
		for range 2 {
			c := redis.NewClient(&redis.Options{Addr: addr, Password: "irrelevant"})
			t.Cleanup(func() { _ = c.Close() })
			cs = append(cs, c)
		}
		l := newLocker(t, cs, redlock.Config{NodeTimeout: 200 * time.Millisecond})
		_, err := l.TryAcquire(t.Context(), t.Name(), distlock.Opts{})
		return err
	}
	refused := `((no answer within \S+|not asked, because it does not answer): )?dial tcp 127\.0\.0\.1:\d+: connect: connection refused`
	for _, o := range []struct {
		name, addr string
		want       string // a pattern
	}{
		{"down", child.ClosedAddr(t), both(refused)},
		{"silent", child.SilentAddr(t), both(`127\.0\.0\.1:\d+: no answer within 200ms: it takes connections, but answers nothing`)},
	} {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			want := regexp.MustCompile(o.want)
			var text string
			for range 10 { // on a slow machine the reason of the first failure may come too late
				err := ask(t, o.addr)
				if !errors.Is(err, distlock.ErrUnavailable) {
					t.Fatalf("not ErrUnavailable: %v", err)
				}
				if text = err.Error(); want.MatchString(text) {
					break
				}
			}
			if !want.MatchString(text) || strings.Contains(text, "\n") || strings.Contains(text, "irrelevant") {
				t.Errorf("%s\nis more than one line, has a secret, or does not match\n%s", text, o.want)
			}
		})
	}
}

// both returns the pattern of the text for two failing nodes.
func both(one string) string { return `: redlock: 2 of 3 nodes failed: ` + one + `; ` + one }

func newLocker(tb testing.TB, clients []redis.UniversalClient, cfg redlock.Config) *distlock.Locker {
	tb.Helper()
	cfg.TrustedStart = true
	return testkit.NewLocker(tb, redlock.New(clients, cfg), distlock.Config{CloseTimeout: 100 * time.Millisecond})
}

// TestPing checks that the store works as long as a quorum of the nodes works.
func TestPing(t *testing.T) {
	t.Parallel()
	f := realFleet(t, 3)
	l := newLocker(t, f.clients(), redlock.Config{NodeTimeout: 3 * time.Second})
	for range 2 {
		if err := admin.Ping(t.Context(), l); err != nil {
			t.Errorf("Ping: %v", err)
		}
		f.servers[1].Kill() // a minority
	}
	f.servers[0].Kill()
	err := admin.Ping(t.Context(), l)
	if !errors.Is(err, distlock.ErrUnavailable) || strings.Contains(err.Error(), f.servers[2].Addr()) {
		t.Errorf("Ping without a quorum: %v", err)
	}
	for _, i := range []int{0, 1} {
		if !strings.Contains(err.Error(), f.servers[i].Addr()) {
			t.Errorf("Ping without a quorum does not name node %d: %v", i, err)
		}
	}
}
