package zklock_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/distlock-go/distlock/backend/zklock"
)

// TestCredentialsAreReadAgain: each connection has the credentials of its time. If
// there are none, or the server ends each connection, the error says why, and the
// client pauses.
func TestCredentialsAreReadAgain(t *testing.T) {
	var password locked[string]
	var broken locked[error]
	config := zklock.Config{Credentials: func() (string, string, error) { return "shop", password.get(), broken.get() }}
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var got locked[string]
		v.server.On(opSetAuth, func(credentials string) fate { got.set(credentials); return served })
		for _, p := range []string{"2", "longer than before", ""} {
			password.set(p)
			v.network.Kill()
			mustWork(t, v.Backend, "key")
			if got.get() != "shop:"+p {
				t.Errorf("credentials %q, and the password is %q", got.get(), p)
			}
		}
		mustSay := func(want string) {
			t.Helper()
			v.network.Kill()
			synctest.Wait()
			if err := v.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		broken.set(errors.New("vault is sealed"))
		mustSay("credentials: vault is sealed")
		broken.set(nil)
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
	}, config)
}
