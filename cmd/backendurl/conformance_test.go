package backendurl_test

import (
	"crypto/rand"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/cmd/internal/doctor"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
	"github.com/distlock-go/distlock/locktest"
)

// urlEnv is the environment variable with the URL of a store to test.
const urlEnv = "DISTLOCK_TEST_URL"

// TestConformanceAtURL runs the doctor and the conformance suite on a store of the reader:
//
//	DISTLOCK_TEST_URL=redis://127.0.0.1:6379/0 go test -v -count=1 -run TestConformanceAtURL ./cmd/backendurl
//
// Without a URL it runs on four servers. The keys begin with distlock:doctor: and
// locktest:, and a random part follows, so other keys are safe. In a database the rows of
// these keys stay, and tables for locks are created if they are missing.
func TestConformanceAtURL(t *testing.T) {
	if rawURL := os.Getenv(urlEnv); rawURL != "" {
		conformAt(t, rawURL)
		return
	}
	testmode.Long(t)
	t.Parallel() // and one after the other: a busy machine exceeds the timeouts of a URL
	for name, start := range map[string]func(t *testing.T) string{
		"Redis":      func(t *testing.T) string { return "redis://" + redistest.Start(t).Addr() },
		"PostgreSQL": func(t *testing.T) string { return sqltest.Postgres.NewDatabase(t) },
		"ZooKeeper":  func(t *testing.T) string { return "zk://" + zktest.Start(t, zktest.Config{}).Addr() + "/x" },
		"etcd":       func(t *testing.T) string { return "etcd://" + etcdtest.Start(t).Addr() + "/x" },
	} {
		t.Run(name, func(t *testing.T) {
			conformAt(t, start(t), "fsync") // the kit does not test power failures
		})
	}
}

// conformAt fails for the faults that the doctor finds, except those that are known.
func conformAt(t *testing.T, rawURL string, known ...string) {
	t.Helper()
	store := open(t, rawURL) // creates the tables
	t.Cleanup(func() { _ = store.(io.Closer).Close() })
	t.Run("doctor", func(t *testing.T) {
		report, err := doctor.Examine(t.Context(), rawURL, "")
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		_ = report.Write(&text)
		t.Log(backendurl.Hide(text.String(), rawURL))
		for _, f := range report.Findings {
			if f.Severity == doctor.Fault && !slices.Contains(known, f.ID) {
				t.Errorf("the doctor has found a fault, which its report explains: %s", f.ID)
			}
		}
	})
	r := driver.Request{Key: "locktest:" + rand.Text(), Owner: uuid.NewString(), TTL: time.Minute, Tokens: 1}
	g, err := store.TryAcquire(t.Context(), r)
	took := time.Since(g.Sent)
	switch {
	case err != nil:
		t.Fatal(err)
	case g.TTL < r.TTL:
		t.Fatalf("the store grants %v, and the suite needs %v: a ZooKeeper needs maxSessionTimeout=300000 in zoo.cfg", g.TTL, r.TTL)
	}
	if err := store.Release(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	locktest.Run(t, func(t *testing.T) driver.Backend { return open(t, rawURL) }, locktest.Features{
		NoNetwork: true,                               // the tests of each store have one with faults
		Lease:     max(400*time.Millisecond, 40*took), // a case makes a dozen requests within a lease
		Resend:    30 * time.Millisecond,              // a lost reply makes redislock send a release twice
		Peer:      func(t *testing.T, _ driver.Backend) driver.Backend { return open(t, rawURL) },
		Drop: func(t *testing.T, _ driver.Backend, key string) {
			if held, err := store.(driver.Inspector).ForceRelease(t.Context(), key); err != nil || !held {
				t.Fatalf("held is %v, %v", held, err)
			}
		},
	})
}

// open returns a backend for the suite, whose longest leases are a minute: a session with
// ZooKeeper or etcd has to be longer.
func open(t *testing.T, rawURL string) driver.Backend {
	t.Helper()
	scheme, _, _ := strings.Cut(strings.ToLower(rawURL), ":")
	if scheme == "zk" && !strings.Contains(rawURL, "?") {
		rawURL += "?session_timeout=5m"
	}
	b, err := backendurl.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	client, ok := b.Client.(*clientv3.Client)
	if !ok {
		return b.Backend
	}
	at, err := backendurl.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	_ = b.Backend.(io.Closer).Close() // it was never used
	prefix := strings.TrimPrefix(strings.TrimSuffix(at.Place, "/")+"/", "/")
	long, err := etcdlock.New(client, etcdlock.Config{Prefix: prefix, SessionTTL: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return long
}
