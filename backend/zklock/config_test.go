package zklock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
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
	newBackend(t, []string{"127.0.0.1:1"}, zklock.Config{Root: "/"})
	for _, server := range []string{"zk:2181/locks", "[zk:2181"} {
		if _, err := zklock.New([]string{server}, zklock.Config{}); err == nil || !strings.HasPrefix(err.Error(), "zklock: ") || !strings.Contains(err.Error(), "zk:2181") {
			t.Errorf("the server %s: %v", server, err)
		}
	}
	if _, err := zklock.New(nil, zklock.Config{}); err == nil {
		t.Error("New without servers succeeds")
	}
}
