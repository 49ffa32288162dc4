package zklock_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/distlock-go/distlock/backend/zklock"
)

// TestTurnedAway: if the server ends each connection, the error says why, and the client
// pauses.
func TestTurnedAway(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		mustSay := func(want string) {
			t.Helper()
			v.network.Kill()
			synctest.Wait()
			if err := v.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		for _, c := range []struct {
			op   int32
			fate fate
			want string
		}{
			{opSetAuth, hungUp, "the connection ended"},
			{opConnect, hungUp, "read-only"},
		} {
			var refused atomic.Int32
			v.server.ServeAll()
			v.server.On(c.op, func(string) fate {
				if refused.Add(1) == 100 { // no time passes meanwhile
					t.Error("the client does not pause between its connections")
					v.network.Refuse(true)
				}
				return c.fate
			})
			mustSay(c.want)
		}
	}, zklock.Config{User: "shop", Password: "secret"})
}
