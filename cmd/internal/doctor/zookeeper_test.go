package doctor_test

import (
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// One server that gives short sessions.
func TestZooKeeper(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Config{Settings: []string{"maxSessionTimeout=6000"}})
	r := examine(t, "zk://user:secret@"+s.Addr(), "")
	wantFindings(t, r, "warning members", "warning lease")
	wantSeen(t, r, "lease", "of the default of 10s")
	if strings.Contains(text(t, r), "secret") {
		t.Errorf("the report shows the password:\n%s", text(t, r))
	}
	r = examine(t, "zk://other:secret@"+s.Addr(), "")
	wantFindings(t, r, "warning members", "fault ping")
	wantSeen(t, r, "ping", "not authenticated")
}

// A healthy ensemble, and then without one of its servers.
func TestZooKeeperEnsemble(t *testing.T) {
	testmode.Long(t)
	e := zktest.StartEnsemble(t, zktest.Config{Settings: []string{"4lw.commands.whitelist=srvr"}})
	rawURL := "zk://u:p@" + strings.Join(e.Addrs(), ",")
	wantFindings(t, examine(t, rawURL, ""))
	e.Servers[0].Kill()
	r := examine(t, rawURL, "")
	wantFindings(t, r, "warning members")
	wantSeen(t, r, "members", "1 of 3", e.Servers[0].Addr())
}
