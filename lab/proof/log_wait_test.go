package proof_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// logWait waits for the key, and holds it until it is told to release it.
func logWait(t *task) error {
	ctx := context.Background()
	return t.Do(ctx, key, distlock.Opts{Value: "checkout", KeyTimeout: t.Lease}, func(context.Context) error {
		t.Say("held")
		t.Hear()
		return nil
	})
}

// One process has the key and three wait. Each of them logs, after a second and again after
// another, who has the key and what its place in the store's queue is. A fifth process, which
// does not compete, sees each holder.
func TestThreeProcessesLogThatTheyWait(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		const lease = 10 * time.Second
		ctx := t.Context()
		observer := s.locker(t)
		var processes []*testkit.Process
		for i := range 4 {
			p := testkit.StartChild(t, roleLogger, order{Store: s.address, Lease: lease, Holder: fmt.Sprintf("web-%d", i+1)})
			if i == 0 {
				p.Hear("held")
			} else {
				testkit.Eventually(t, "the process is in the queue", func() bool {
					locks, err := admin.Inspect(ctx, observer, key, 1)
					return err == nil && len(locks) == 1 && locks[0].Waiting == i
				})
			}
			processes = append(processes, p)
		}
		for i, p := range processes[1:] {
			for range 2 {
				line := p.Line()
				t.Log(line)
				want := fmt.Sprintf(` level=INFO msg="waiting for lock" name=checkout key=%s wait=\S+ holder=web-1( held=\S+)? place=%d queue=store$`, key, i+1)
				if !regexp.MustCompile(want).MatchString(line) {
					t.Errorf("web-%d logged\n%s\nwant %s", i+2, line, want)
				}
			}
		}
		seen := 0
		for lock, err := range admin.Observe(ctx, observer, key, 20*time.Millisecond) {
			switch {
			case err != nil:
				t.Fatal(err)
			case seen == len(processes):
				if lock.Held != 0 {
					t.Errorf("in the end it is held: %+v", lock)
				}
				seen++
			case lock.Held == 1 && lock.Holders[0].Holder == fmt.Sprintf("web-%d", seen+1):
				p := processes[seen]
				if seen++; seen > 1 {
					heard := p.Line()
					for heard != "held" { // it may have logged once more
						heard = p.Line()
					}
				}
				p.CloseInput()
			default: // between two holders
				if lock.Held > 1 {
					t.Errorf("two holders: %+v", lock)
				}
			}
			if seen > len(processes) {
				break
			}
		}
		for _, p := range processes {
			if code := p.Wait(); code != 0 {
				t.Errorf("a process ended with %d: %s", code, p.Stderr())
			}
		}
	}, "redislock", "zklock", "sqllock", "etcdlock")
}
