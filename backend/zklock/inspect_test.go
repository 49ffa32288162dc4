package zklock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// jobPath and jobOf name the nodes as an application may have named them before.
func jobPath(key string) string {
	kind, name, _ := strings.Cut(key, ":")
	return "jobs/" + kind + "/" + name + "/lock"
}

func jobOf(path string) (key string, ok bool) {
	part := strings.Split(path, "/")
	if len(part) != 4 || part[0] != "jobs" {
		return "", false
	}
	return part[1] + ":" + part[2], true
}

// TestInspectPaths: with paths of the application's own, Inspect finds all keys if it is
// given the inverse, and otherwise the key that it is asked for. ForceRelease works in any
// case.
func TestInspectPaths(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	root := "/app-" + uuid.NewString() // some nodes stay, and the test may run again
	opts := []zklock.Option{zklock.WithRoot(root), zklock.WithPath(jobPath)}
	b := newBackend(t, []string{addr}, opts...)
	observer := newBackend(t, []string{addr}, append(opts, zklock.WithKeyOf(jobOf))...)
	grants := map[string]driver.Grant{}
	for _, key := range []string{"report:1", "report:2", "mail:1", "mail:free"} {
		grants[key] = testkit.MustTry(t, b, testkit.NewRequest(key))
	}
	w := testkit.StartWaiter(t, b, testkit.NewRequest("report:2"))
	testkit.Eventually(t, "it is in the queue", func() bool { return len(children(t, admin, root+"/"+jobPath("report:2"))) == 2 })
	testkit.MustRelease(t, b, grants["mail:free"])
	plant(t, admin, root+"/jobs/other", 0) // not the node of a key
	plant(t, admin, root+"/jobs/other/x", 0)
	plant(t, admin, root+"/jobs/other/x/config", 0)

	inspect := func(b *zklock.Backend, prefix string, limit int) (keys []string, err error) {
		infos, err := b.Inspect(context.Background(), prefix, limit)
		for _, i := range infos {
			g := grants[i.Key]
			if i.Held != 1 || i.Holders[0].Owner != driver.Fingerprint(g.Owner) || i.Holders[0].Token != g.Token || i.Waiting > 0 != (i.Key == "report:2") {
				t.Errorf("%s is held by %s, and Inspect says: %+v", i.Key, driver.Fingerprint(g.Owner), i)
			}
			keys = append(keys, i.Key)
		}
		return keys, err
	}
	for _, c := range []struct {
		backend *zklock.Backend
		prefix  string
		limit   int
		want    string
		err     error
	}{
		{observer, "", 10, "mail:1 report:1 report:2", nil},
		{observer, "report", 10, "report:1 report:2", nil},
		{observer, "report:2", 10, "report:2", nil},
		{observer, "", 2, "mail:1 report:1", nil},
		{observer, "mail:free", 10, "", nil},
		{b, "report:2", 10, "report:2", nil},
		{b, "", 10, "", errors.ErrUnsupported},
		{b, "report", 10, "", errors.ErrUnsupported},
		{b, "mail:free", 10, "", errors.ErrUnsupported}, // there may be keys with this prefix
	} {
		keys, err := inspect(c.backend, c.prefix, c.limit)
		if got := strings.Join(keys, " "); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("Inspect of %q, %d: %q, %v; want %q, %v", c.prefix, c.limit, got, err, c.want, c.err)
		}
	}

	for _, key := range []string{"report:1", "report:2"} {
		if held, err := b.ForceRelease(context.Background(), key); !held || err != nil {
			t.Errorf("ForceRelease of %s: %v, %v", key, held, err)
		}
		if got := testkit.Renewed(t, b, grants[key]); got.Status != driver.Lost {
			t.Errorf("renewal of %s after ForceRelease: %v", key, got)
		}
	}
	testkit.MustRelease(t, b, w.Served(t))
	testkit.MustRelease(t, b, grants["mail:1"])
}

// TestInspectSemaphore: Inspect of the key shows a semaphore of Curator as foreign.
func TestInspectSemaphore(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b := newBackend(t, []string{addr})
	key := "semaphore-" + uuid.NewString()
	keepParent(t, admin, key)
	plant(t, admin, parentOf(key)+"/leases", 0)
	infos, err := b.Inspect(context.Background(), key, 1)
	if err != nil || len(infos) != 1 || infos[0].Foreign != "InterProcessSemaphoreV2" || infos[0].Held != 1 || len(infos[0].Holders) != 1 {
		t.Errorf("Inspect of the key: %+v, %v", infos, err)
	}
	infos, err = b.Inspect(context.Background(), key[:len(key)-1], 1)
	if err != nil || len(infos) != 0 {
		t.Errorf("Inspect of a prefix: %+v, %v", infos, err)
	}
}
