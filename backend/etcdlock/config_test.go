package etcdlock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/etcdlock"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	c := newClient(t, "127.0.0.1:1")
	for want, config := range map[string]etcdlock.Config{
		"Config.SessionTTL: 500ms":   {SessionTTL: time.Second / 2},
		"Config.SessionTTL: 1.5s":    {SessionTTL: 1500 * time.Millisecond},
		"Config.SessionTTL: 25h0m0s": {SessionTTL: 25 * time.Hour},
		"Config.OpTimeout: 999µs":    {OpTimeout: 999 * time.Microsecond},
	} {
		if _, err := etcdlock.New(c, config); err == nil || !strings.HasPrefix(err.Error(), "etcdlock: "+want) {
			t.Errorf("New: %v, want %q", err, want)
		}
	}
	if _, err := etcdlock.New(nil, etcdlock.Config{}); err == nil || err.Error() != "etcdlock: nil client" {
		t.Errorf("New without a client: %v", err)
	}
}
