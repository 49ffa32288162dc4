package interop_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestRecord: a program in Python and one in Node, without a library, count under the key of a
// Locker, which counts until both have ended. No increment is lost, and tokens rise.
func TestRecord(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	const times = 200
	server := redistest.Start(t)
	client := server.Client(t)
	locker := distlock.New(redislock.New(client, redislock.Config{FreeRelease: true}), distlock.Config{}) // the others are in no queue
	t.Cleanup(func() { _ = locker.Close() })

	var others atomic.Int32
	for program, file := range map[string]string{"python3": "record/lock.py", "node": "record/lock.js"} {
		path, err := child.LookPath(program, "needs "+program)
		child.Need(t, err)
		others.Add(1)
		go func() {
			defer others.Add(-1)
			out, err := exec.CommandContext(t.Context(), path, file, strconv.Itoa(server.Ports[0]), "record:count", strconv.Itoa(times)).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", file, err, out)
			}
		}()
	}
	ours := 0
	for ; others.Load() > 0; ours++ {
		err := locker.Do(t.Context(), distlock.Key("count"), distlock.Opts{Prefix: "record:", MaxWait: patience}, func(ctx context.Context) error {
			return count(ctx, client)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tokens := client.LRange(t.Context(), "tokens", 0, -1).Val()
	if n, err := client.Get(t.Context(), "number").Int(); n != 2*times+ours || err != nil || len(tokens) != n {
		t.Errorf("%d increments and %d tokens, want %d: %v", n, len(tokens), 2*times+ours, err)
	}
	if !slices.IsSorted(tokens) || len(slices.Compact(tokens)) != 2*times+ours {
		t.Error("a token is not larger than the one before")
	}
}

// count is what the programs do under the lock.
func count(ctx context.Context, client *redis.Client) error {
	n, err := client.Get(ctx, "number").Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	lease, _ := distlock.FromContext(ctx)
	if err := client.Set(ctx, "number", n+1, 0).Err(); err != nil {
		return err
	}
	return client.RPush(ctx, "tokens", lease.Token()).Err()
}
