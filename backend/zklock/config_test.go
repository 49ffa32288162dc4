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

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	user := func() (string, string, error) { return "shop", "secret", nil }
	for want, config := range map[string]zklock.Config{
		`Root: path "locks"`:   {Root: "locks"},
		`Root: path "/a//b"`:   {Root: "/a//b"},
		`".."`:                 {Root: "/a/.."},
		`'\x01'`:               {Root: "/a\x01"},
		"SessionTimeout: 99ms": {SessionTimeout: 99 * time.Millisecond},
		"SessionTimeout: 25h":  {SessionTimeout: 25 * time.Hour},
		"OpTimeout: 999µs":     {OpTimeout: 999 * time.Microsecond},
		`User: user ""`:        {Password: "secret"},
		`User: user "a:b"`:     {User: "a:b", Password: "secret"},
		`User: "a"`:            {User: "a", Credentials: user},
		"ACL: no entry":        {ACL: []zk.ACL{}},
		"Names: 3 is unknown":  {Names: 3},
	} {
		_, err := zklock.New([]string{"127.0.0.1:1"}, config)
		if err == nil || !strings.HasPrefix(err.Error(), "zklock: Config.") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
	for _, server := range []string{"zk:2181/locks", "[zk:2181"} {
		if _, err := zklock.New([]string{server}, zklock.Config{}); err == nil || !strings.HasPrefix(err.Error(), "zklock: ") || !strings.Contains(err.Error(), "zk:2181") {
			t.Errorf("the server %s: %v", server, err)
		}
	}
	if _, err := zklock.New(nil, zklock.Config{}); err == nil {
		t.Error("New without servers succeeds")
	}
}

// TestDigest: with credentials, the nodes belong to that user alone.
func TestDigest(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	outsider := newAdmin(t, addr)
	shop := zklock.Config{Root: "/owned", User: "shop", Password: "secret"}
	mine, mineToo := newBackend(t, []string{addr}, shop), newBackend(t, []string{addr}, shop)
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
	acl := append(zk.DigestACL(zk.PermAll, "a", "1"), zk.DigestACL(zk.PermAll, "b", "2")...)
	a := newBackend(t, addr, zklock.Config{Root: "/both", ACL: acl, User: "a", Password: "1"})
	b := newBackend(t, addr, zklock.Config{Root: "/both", ACL: acl, User: "b", Password: "2"})
	g := testkit.MustTry(t, a, testkit.NewRequest("key"))
	testkit.MustBeBusy(t, b, "key")
	testkit.MustRelease(t, a, g)
	testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("key")))
}
