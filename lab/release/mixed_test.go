package release

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/kubetest"
	"github.com/distlock-go/distlock/internal/test/mototest"
	"github.com/distlock-go/distlock/internal/test/natstest"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// untagged is the commit whose command runs beside this one, until there is a release.
const untagged = "c2b8e5e3"

func TestMain(m *testing.M) { os.Exit(child.Main{Tests: m}.Run()) }

// commands builds the command of the last release, and that of this tree.
func commands(t *testing.T) map[string]string {
	dir := t.TempDir()
	script := `last=$(git describe --tags --abbrev=0 --match='v*' 2>/dev/null || echo ` + untagged + `)
mkdir "$1/tree" && git archive "$last" | tar -x -C "$1/tree"
go build -o "$1/new" ./cmd/distlock
cd "$1/tree" && go build -o "$1/old" ./cmd/distlock`
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script, "build", dir)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return map[string]string{"old": filepath.Join(dir, "old"), "new": filepath.Join(dir, "new")}
}

// TestTwoVersionsShareLocks: commands of the last release and of this tree take one key by
// turns, in a store that the older one has begun. Each adds one to a number that only the
// lock protects. No increment is lost, and no token goes back.
func TestTwoVersionsShareLocks(t *testing.T) {
	testmode.Long(t)
	commands := commands(t)
	for name, open := range map[string]func(t *testing.T) string{
		"Redis":      func(t *testing.T) string { return "redis://" + redistest.Start(t).Addr() + "/0" },
		"PostgreSQL": func(t *testing.T) string { return sqltest.Postgres.NewDatabase(t) },
		"MariaDB":    func(t *testing.T) string { return sqltest.MariaDB.NewDatabase(t) },
		"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "locks.db") },
		"NATS":       func(t *testing.T) string { return "nats://" + natstest.Start(t, 1).Addrs()[0] },
		"etcd":       func(t *testing.T) string { return "etcd://" + etcdtest.Start(t).Addr() + "/x" },
		"ZooKeeper":  func(t *testing.T) string { return "zk://" + zktest.Start(t, zktest.Config{}).Addr() },
		"DynamoDB":   func(t *testing.T) string { return "dynamodb://us-east-1/locks?endpoint=" + mototest.Start(t) },
		"S3":         func(t *testing.T) string { return "s3://us-east-1/locks?endpoint=" + mototest.Start(t) },
		"Kubernetes": func(t *testing.T) string { return "kube://" + kubetest.Serve(t) + "/shop" },
	} {
		t.Run(name, func(t *testing.T) { share(t, commands, open(t)) })
	}
}

func share(t *testing.T, commands map[string]string, store string) {
	const workers, times = 4, 15 // half of the workers are of each version
	dir := t.TempDir()
	step := func(version string) {
		cmd := exec.CommandContext(t.Context(), commands[version], "run", "-key", "mixed:k", "-wait", "60s", "--", "sh", "-c",
			`n=$(($(cat number || echo 0) + 1)); sleep 0.01; echo $n >number; echo "$n $DISTLOCK_TOKEN `+version+`" >>tokens`)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "DISTLOCK_BACKEND="+store, "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", version, err, out)
		}
	}
	step("old")
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for range times {
				step([]string{"old", "new"}[w%2])
			}
		})
	}
	all.Wait()

	var number, token, last, turns, back int
	var version, before string
	lines, _ := os.ReadFile(filepath.Join(dir, "tokens"))
	for line := range strings.Lines(string(lines)) {
		if _, err := fmt.Sscan(line, &number, &token, &version); err != nil || token <= last {
			back++
		}
		if version != before {
			turns++
		}
		last, before = token, version
	}
	t.Logf("%d increments, %d counted, %d turns between the versions, %d tokens that are not larger", workers*times+1, number, turns, back)
	if number != workers*times+1 || back > 0 || turns < 3 {
		t.Fail()
	}
}
