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
	r := examine(t, "zk://"+s.Addr(), "")
	wantFindings(t, r, "warning members", "warning session-timeout", "note authentication")
	wantSeen(t, r, "session-timeout", "asked for 20s, the server gives 6s: a lease is at most 3s")
	wantSeen(t, r, "write-access", "/distlock does not exist")
	wantMeasured(t, r, "round-trip", "commit")
	documented(t, "zookeeper-session", r)

	opened(t, "zk://"+s.Addr()+"/open")
	wantFindings(t, examine(t, "zk://"+s.Addr()+"/open", ""), "warning members", "warning session-timeout", "note authentication", "note root-acl")

	opened(t, "zk://user:secret@"+s.Addr()+"/shop?session_timeout=5s")
	r = examine(t, "zk://user:secret@"+s.Addr()+"/shop?session_timeout=5s", "")
	wantFindings(t, r, "warning members", "note session-timeout")
	if strings.Contains(text(t, r), "secret") {
		t.Errorf("the report shows the password:\n%s", text(t, r))
	}
}

// A healthy ensemble, and then without one of its servers.
func TestZooKeeperEnsemble(t *testing.T) {
	testmode.Long(t)
	e := zktest.StartEnsemble(t, zktest.Config{Settings: []string{"4lw.commands.whitelist=srvr"}})
	wantFindings(t, examine(t, "zk://u:p@"+strings.Join(e.Addrs(), ","), ""))
	e.Servers[0].Kill()
	r := examine(t, "zk://u:p@"+strings.Join(e.Addrs()[:2], ","), "")
	wantFindings(t, r, "warning url-servers", "warning member-health")
	wantSeen(t, r, "member-health", "1 of ", e.Servers[0].Addr())
}
