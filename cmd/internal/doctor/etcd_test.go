package doctor_test

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
)

// One server that is full. Then there are users, and one may not use the keys.
func TestEtcd(t *testing.T) {
	t.Parallel()
	addr := etcdtest.Start(t, "--unsafe-no-fsync").Addr()
	store, err := backendurl.Connect(t.Context(), "etcd://"+addr)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, _ := store.Client.(*clientv3.Client)
	r := examine(t, "etcd://"+addr, "")
	wantFindings(t, r, "warning members", "note authentication")
	wantSeen(t, r, "lock", "median")

	status, err := c.Status(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	alarm := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: status.Header.MemberId, Alarm: etcdserverpb.AlarmType_NOSPACE}
	admin := etcdserverpb.NewMaintenanceClient(c.ActiveConnection())
	if _, err := admin.Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	r = examine(t, "etcd://"+addr, "")
	wantFindings(t, r, "fault ping", "warning members", "note authentication")
	wantSeen(t, r, "ping", "space")
	alarm.Action = etcdserverpb.AlarmRequest_DEACTIVATE
	if _, err := admin.Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}

	for _, step := range []func() error{
		func() error { _, err := c.RoleAdd(t.Context(), "root"); return err },
		func() error { _, err := c.UserAdd(t.Context(), "root", "secret"); return err },
		func() error { _, err := c.UserGrantRole(t.Context(), "root", "root"); return err },
		func() error { _, err := c.RoleAdd(t.Context(), "locks"); return err },
		func() error {
			_, err := c.RoleGrantPermission(t.Context(), "locks", "shop/", "shop0", clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := c.UserAdd(t.Context(), "shop", "secret"); return err },
		func() error { _, err := c.UserGrantRole(t.Context(), "shop", "locks"); return err },
		func() error { _, err := c.AuthEnable(t.Context()); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	r = examine(t, "etcd://root:secret@"+addr, "")
	wantFindings(t, r, "warning members")
	if out := text(t, r); strings.Contains(out, "secret") {
		t.Errorf("the report shows the password:\n%s", out)
	}
	wantRefused(t, "etcd://root:not-it@"+addr, "user")
	wantFindings(t, examine(t, "etcd://shop:secret@"+addr+"/shop", ""), "warning members")
	r = examine(t, "etcd://shop:secret@"+addr, "")
	wantFindings(t, r, "fault ping", "warning members")
	wantSeen(t, r, "ping", "permission denied")
}

// A healthy cluster, and then without a server that does not lead.
func TestEtcdCluster(t *testing.T) {
	t.Parallel()
	c := etcdtest.StartCluster(t, "--unsafe-no-fsync")
	wantFindings(t, examine(t, "etcd://"+strings.Join(c.Addrs(), ","), ""), "note authentication")
	leader := c.Leader(t)
	follower := c.Servers[0]
	if follower == leader {
		follower = c.Servers[1]
	}
	follower.Kill()
	r := examine(t, "etcd://"+strings.Join(c.Addrs(), ","), "")
	wantFindings(t, r, "warning members", "note authentication")
	wantSeen(t, r, "members", follower.Addr())
}
