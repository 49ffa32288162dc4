package zklock_test

import (
	"context"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// outage is one way in which ZooKeeper is unavailable.
type outage struct {
	name string
	fail func(t *testing.T) error
	want string // the pattern of the error
	is   []error
}

// TestOutageTexts: in every outage the error has the address and the cause on one line.
//
// Row 17 (zklock): the caller gets ErrUnavailable, even if its context ends first.
// Fails if Acquire drops the errors of its attempts when its context ends.
func TestOutageTexts(t *testing.T) {
	t.Parallel()
	const password = "open-sesame"
	dead := child.ClosedAddr(t)
	unreachable := func(addr string, opTimeout time.Duration) func(t *testing.T) error {
		return func(t *testing.T) error {
			_, err := newLocker(t, addr, zklock.Config{OpTimeout: opTimeout}).TryAcquire(t.Context(), "key", distlock.Opts{})
			return err
		}
	}
	for _, o := range []outage{
		{
			"down", unreachable(dead, time.Second),
			`zklock: no session within 1s: dial tcp ` + dead + `: connect: connection refused`, nil,
		},
		{
			"down, and the caller is in a hurry",
			func(t *testing.T) error {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				_, err := newLocker(t, dead).Acquire(ctx, "key", distlock.Opts{})
				return err
			},
			`zklock: no session: dial tcp ` + dead + `: connect: connection refused`,
			[]error{distlock.ErrNotAcquired, context.DeadlineExceeded},
		},
		{
			"wrong host", unreachable("zk..invalid:2181", time.Second), // not a valid name, so no DNS server is asked
			`zklock: zk\.\.invalid:2181: no session within 1s: dial tcp: lookup zk\.\.invalid: no such host`, nil,
		},
		{
			"silent", unreachable(child.SilentAddr(t), 200*time.Millisecond),
			`zklock: 127\.0\.0\.1:\d+: no session within 200ms: no answer`, nil,
		},
		{
			"no password",
			func(t *testing.T) error { return refused(t, password, zklock.Config{}) },
			`zklock: 127\.0\.0\.1:\d+: no permission to .* "/.*": zk: not authenticated: no credentials were given, see Config.User`, nil,
		},
		{
			"wrong password", // for ZooKeeper this is another user
			func(t *testing.T) error { return refused(t, password, zklock.Config{User: "shop", Password: "guess"}) },
			`zklock: 127\.0\.0\.1:\d+: no permission to .* "/.*": zk: not authenticated: the ACL does not give it to the user "shop" with this password, see Config.ACL`, nil,
		},
	} {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			err := o.fail(t)
			testkit.WantIs(t, err, append(o.is, distlock.ErrUnavailable)...)
			text := strings.TrimSuffix(err.Error(), "\n"+distlock.ErrUnavailable.Error())
			if strings.Contains(text, "\n") || strings.Contains(text, password) || strings.Contains(text, "guess") {
				t.Errorf("more than one line, or a secret: %s", text)
			}
			if !regexp.MustCompile(o.want).MatchString(text) {
				t.Errorf("%s\ndoes not match\n%s", text, o.want)
			}
			t.Log(text)
		})
	}
}

func newLocker(tb testing.TB, addr string, config ...zklock.Config) *distlock.Locker {
	tb.Helper()
	return testkit.NewLocker(tb, newBackend(tb, []string{addr}, config...), distlock.Config{CloseTimeout: 100 * time.Millisecond})
}

// refused asks for a lock with nodes that belong to the user shop.
func refused(t *testing.T, password string, config zklock.Config) error {
	t.Helper()
	addr := zktest.Shared(t).Addr()
	owner := newBackend(t, []string{addr}, zklock.Config{Root: "/outage-owned", User: "shop", Password: password})
	key := path.Base(t.Name()) // subtests run at the same time
	testkit.MustRelease(t, owner, testkit.MustTry(t, owner, testkit.NewRequest(key)))
	config.Root = "/outage-owned"
	_, err := newLocker(t, addr, config).TryAcquire(t.Context(), key, distlock.Opts{})
	return err
}
