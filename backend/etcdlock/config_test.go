package etcdlock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	c := newClient(t, "127.0.0.1:1")
	for want, config := range map[string]etcdlock.Config{
		`Config.NoPrefix: with Config.Prefix "a/"`: {Prefix: "a/", NoPrefix: true},
		"Config.SessionTTL: -1s":                   {SessionTTL: -time.Second},
		"Config.SessionTTL: 1.5s":                  {SessionTTL: 1500 * time.Millisecond},
		"Config.SessionTTL: 25h0m0s":               {SessionTTL: 25 * time.Hour},
		"Config.OpTimeout: 999µs":                  {OpTimeout: 999 * time.Microsecond},
	} {
		if _, err := etcdlock.New(c, config); err == nil || !strings.HasPrefix(err.Error(), "etcdlock: "+want) {
			t.Errorf("New: %v, want %q", err, want)
		}
	}
	if _, err := etcdlock.New(nil, etcdlock.Config{}); err == nil || err.Error() != "etcdlock: nil client" {
		t.Errorf("New without a client: %v", err)
	}
}

// Without a prefix, the Backend still tells its keys from its own data.
func TestEmptyPrefix(t *testing.T) {
	t.Parallel()
	b := newBackend(t, newClient(t, etcdtest.Shared(t).Addr()), etcdlock.Config{NoPrefix: true})
	g := testkit.MustTry(t, b, testkit.NewRequest(t.Name()))
	infos, err := b.Inspect(context.Background(), "", 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, info := range infos {
		found = found || info.Key == g.Key
		if strings.HasPrefix(info.Key, "%") {
			t.Errorf("the fence is listed as %q", info.Key)
		}
	}
	if !found {
		t.Errorf("%q is not listed", g.Key)
	}
	testkit.MustRelease(t, b, g)
}
