package etcdlock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const password = "secret"

// mustDo ends the test if a request of the administrator fails.
func mustDo(tb testing.TB) func(_ any, err error) {
	tb.Helper()
	return func(_ any, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// startWithUsers starts a server with the users root, shop, whose role may read and
// write the keys of this package, and guest, who may do nothing.
func startWithUsers(tb testing.TB, args ...string) *etcdtest.Server {
	tb.Helper()
	s := etcdtest.Start(tb, args...)
	admin, must, ctx := newClient(tb, s.Addr()), mustDo(tb), context.Background()
	for user, role := range map[string]string{"root": "root", "shop": "locks", "guest": "nothing"} {
		must(admin.UserAdd(ctx, user, password))
		must(admin.RoleAdd(ctx, role))
		must(admin.UserGrantRole(ctx, user, role))
	}
	must(admin.RoleGrantPermission(ctx, "locks", etcdlock.DefaultPrefix, clientv3.GetPrefixRangeEnd(etcdlock.DefaultPrefix), clientv3.PermissionType(clientv3.PermReadWrite)))
	must(admin.AuthEnable(ctx))
	return s
}

// clientOf returns the client of a user.
func clientOf(tb testing.TB, s *etcdtest.Server, user string) *clientv3.Client {
	tb.Helper()
	return open(tb, clientv3.Config{Endpoints: []string{s.Addr()}, Username: user, Password: password})
}

// A user needs no more than a role that may read and write the keys below the prefix.
// The error for another user says what is missing, at the first use and in Ping.
func TestRoleSuffices(t *testing.T) {
	t.Parallel()
	s := startWithUsers(t)
	ctx := t.Context()
	b := newBackend(t, clientOf(t, s, "shop"))
	shop := testkit.NewLocker(t, b, distlock.Config{})
	if err := b.Ping(ctx); err != nil {
		t.Error(err)
	}
	if err := shop.Do(ctx, "report", distlock.Opts{}, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		testkit.MustBeBusy(t, b, "report")
		_, err := b.Inspect(ctx, "", 10)
		return errors.Join(err, lease.Refresh(ctx))
	}); err != nil {
		t.Error(err)
	}
	for name, refused := range map[string]struct {
		backend *etcdlock.Backend
		says    []string
	}{
		"without a role":    {newBackend(t, clientOf(t, s, "guest")), []string{"permission denied", `"guest"`, `readwrite --prefix "distlock/"`}},
		"with another role": {newBackend(t, clientOf(t, s, "shop"), etcdlock.Config{Prefix: "other/"}), []string{"permission denied", `readwrite --prefix "other/"`}},
		"without a user":    {newBackend(t, newClient(t, s.Addr())), []string{"user name is empty", "needs Username and Password"}},
	} {
		_, err := refused.backend.TryAcquire(ctx, testkit.NewRequest("report"))
		for what, err := range map[string]error{"TryAcquire": err, "Ping": refused.backend.Ping(ctx)} {
			checkError(t, what+" "+name, err, append(refused.says, "etcdlock: "+s.Addr()+": ")...)
		}
	}
}

// The token of the user ends, while a lock is held and another owner waits for it.
// Nothing is lost.
func TestTokenEnds(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(rand.Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	jwt := "--auth-token=jwt,sign-method=HS256,ttl=1s,priv-key=" + secret
	for name, test := range map[string]struct {
		args []string
		end  func(s *etcdtest.Server, root *clientv3.Client) (password string)
	}{
		"expired": {[]string{jwt}, func(*etcdtest.Server, *clientv3.Client) string { return password }},
		"restart": {nil, func(s *etcdtest.Server, root *clientv3.Client) string {
			// The server reads again what has come after the last write on the disk,
			// logins included.
			mustDo(t)(root.Put(context.Background(), "last", "write"))
			s.Shutdown(t, os.Interrupt)
			s.Restart(t)
			return password
		}},
		"revoked": {nil, func(_ *etcdtest.Server, root *clientv3.Client) string {
			mustDo(t)(root.UserChangePassword(context.Background(), "shop", password))
			return password
		}},
		"new password": {nil, func(_ *etcdtest.Server, root *clientv3.Client) string {
			mustDo(t)(root.UserChangePassword(context.Background(), "shop", "new"))
			return "new"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startWithUsers(t, test.args...)
			root := clientOf(t, s, "root")
			c := clientOf(t, s, "shop")
			root.Auth, c.Auth = auth{root.Auth}, auth{c.Auth}
			logins := &logins{Auth: c.Auth}
			c.Auth = logins
			b := newBackend(t, c)
			g, other := testkit.MustTry(t, b, testkit.NewRequest("k")), testkit.MustTry(t, b, testkit.NewRequest("other"))
			w := startWaiter(t, b, root, testkit.NewRequest("k"))
			testkit.Eventually(t, "it watches", func() bool { return watchersOf(t, s) == 1 })
			token := logins.token.Load().(string)
			logins.password.Store(test.end(s, root))
			testkit.Eventually(t, "the token has ended", func() bool {
				old, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr()}, Token: token, Logger: zap.NewNop()})
				if err != nil {
					t.Fatal(err)
				}
				defer old.Close()
				_, err = old.Get(context.Background(), etcdlock.DefaultPrefix)
				return err != nil
			})
			// The watch of this one would be on the stream of the other.
			next := startWaiter(t, b, root, testkit.NewRequest("other"))
			testkit.Eventually(t, "both watch", func() bool { return watchersOf(t, s) == 2 })
			testkit.Eventually(t, "the lease is renewed", func() bool {
				r := testkit.Renewed(t, b, g)
				if errors.Is(r, driver.ErrLost) {
					t.Fatal("the lease is lost")
				}
				return r == nil
			})
			testkit.MustRelease(t, b, g)
			testkit.MustRelease(t, b, other)
			testkit.MustRelease(t, b, w.Served(t))
			testkit.MustRelease(t, b, next.Served(t))
		})
	}
}

// logins is the Auth of a client whose password may change.
type logins struct {
	clientv3.Auth

	password atomic.Value // what the present password is, once it is set
	token    atomic.Value // the last
}

func (l *logins) Authenticate(ctx context.Context, name, password string) (*clientv3.AuthenticateResponse, error) {
	if now, ok := l.password.Load().(string); ok {
		password = now
	}
	resp, err := l.Auth.Authenticate(ctx, name, password)
	if err == nil {
		l.token.Store(resp.Token)
	}
	return resp, err
}

// auth makes a client of servers before 3.5 log in again when its token has ended.
//
// The client sends the old token along with its login. Servers before 3.5 refuse the
// login because of that token. The client then logs in for the sake of the refused
// login, and so on without end; 3.7.3 does. The login within a login therefore fails as
// if the servers had no users, which makes the client forget the token and repeat the
// first one.
type auth struct{ clientv3.Auth }

type loginKey struct{}

func (a auth) Authenticate(ctx context.Context, name, password string) (*clientv3.AuthenticateResponse, error) {
	if ctx.Value(loginKey{}) != nil {
		return nil, rpctypes.ErrAuthNotEnabled
	}
	return a.Auth.Authenticate(context.WithValue(ctx, loginKey{}, true), name, password)
}
