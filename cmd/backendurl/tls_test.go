package backendurl_test

import (
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// A URL can have a user, a password and TLS. An error says why the server refuses the
// client, and never the password.
func TestTLSAndPassword(t *testing.T) {
	testmode.Long(t)
	const password = "not-the-pw-1234"
	s := redistest.StartTLS(t, time.Now().Add(time.Hour), "--requirepass", "pw")
	use(t, "rediss://:pw@"+s.Addr()+"/0?skip_verify=true")
	for query, want := range map[string]string{"?skip_verify=true": "WRONGPASS", "": "certificate"} {
		_, err := backendurl.Open(t.Context(), "rediss://default:"+password+"@"+s.Addr()+"/0"+query)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), password) {
			t.Errorf("%q: %v, want %s", query, err, want)
		}
	}
}
