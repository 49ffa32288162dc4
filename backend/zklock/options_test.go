package zklock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opt  zklock.Option
		want string
	}{
		{nil, "nil Option"},
		{zklock.WithRoot("locks"), `WithRoot: path "locks"`},
		{zklock.WithRoot("/a//b"), `WithRoot: path "/a//b"`},
		{zklock.WithRoot("/a/.."), `".."`},
		{zklock.WithRoot("/a\x01"), `'\x01'`},
		{zklock.WithSessionTimeout(99 * time.Millisecond), "WithSessionTimeout: 99ms"},
		{zklock.WithSessionTimeout(25 * time.Hour), "WithSessionTimeout: 25h"},
		{zklock.WithOpTimeout(0), "WithOpTimeout: 0s"},
		{zklock.WithDigest("", "secret"), `WithDigest: user ""`},
		{zklock.WithDigest("a:b", "secret"), `WithDigest: user "a:b"`},
		{zklock.WithDigestFunc(nil), "WithDigestFunc"},
		{zklock.WithACL(), "WithACL"},
		{zklock.WithDialer(nil), "WithDialer"},
	} {
		_, err := zklock.New([]string{"127.0.0.1:1"}, c.opt)
		if err == nil || !strings.HasPrefix(err.Error(), "zklock: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
	for _, server := range []string{"zk:2181/locks", "[zk:2181"} {
		if _, err := zklock.New([]string{server}); err == nil || !strings.HasPrefix(err.Error(), "zklock: ") || !strings.Contains(err.Error(), "zk:2181") {
			t.Errorf("the server %s: %v", server, err)
		}
	}
	if _, err := zklock.New(nil); err == nil {
		t.Error("New without servers succeeds")
	}
}

// TestCloseGivesUp: closing a Backend releases its keys at once.
func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	addr := []string{shared.Server(t).Addr()}
	b, other := newBackend(t, addr), newBackend(t, addr)
	testkit.MustTry(t, b, testkit.NewRequest("closed"))
	testkit.MustBeBusy(t, other, "closed")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	// The server may release it after Close has returned, but soon.
	testkit.MustRelease(t, other, testkit.StartWaiter(t, other, testkit.NewRequest("closed")).Served(t))
}

// TestDigest: with credentials, the nodes belong to that user alone.
func TestDigest(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	outsider := newAdmin(t, addr)
	root := zklock.WithRoot("/owned")
	mine, mineToo := newBackend(t, []string{addr}, root, zklock.WithDigest("shop", "secret")), newBackend(t, []string{addr}, root, zklock.WithDigest("shop", "secret"))
	g := testkit.MustTry(t, mine, testkit.NewRequest("key"))
	testkit.MustBeBusy(t, mineToo, "key")
	if _, _, err := outsider.Children("/owned/key"); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("another user reads the queue: %v", err)
	}
	acl, _, err := outsider.GetACL("/owned")
	if err == nil && (len(acl) != 1 || acl[0].Scheme != "digest" || !strings.HasPrefix(acl[0].ID, "shop:")) {
		t.Errorf("the ACL is %v", acl)
	}
	testkit.MustRelease(t, mine, g)
	testkit.MustRelease(t, mineToo, testkit.MustTry(t, mineToo, testkit.NewRequest("key")))
}

// TestACL: all users in the list may use the locks.
func TestACL(t *testing.T) {
	t.Parallel()
	addr := []string{shared.Server(t).Addr()}
	acl := zklock.WithACL(append(zk.DigestACL(zk.PermAll, "a", "1"), zk.DigestACL(zk.PermAll, "b", "2")...)...)
	root := zklock.WithRoot("/both")
	a, b := newBackend(t, addr, root, acl, zklock.WithDigest("a", "1")), newBackend(t, addr, root, acl, zklock.WithDigest("b", "2"))
	g := testkit.MustTry(t, a, testkit.NewRequest("key"))
	testkit.MustBeBusy(t, b, "key")
	testkit.MustRelease(t, a, g)
	testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("key")))
}
