package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/internal/test/child"
)

// playStopped plays a scene in a sale of pieces, and tells each step: a holder is
// stopped for longer than its lease, just before it writes. The holder is another
// process, with the same Redis. It is really stopped.
func playStopped(ctx context.Context, redisURL string, sh *shop, tell func(kind, format string, args ...any)) error {
	ctx, cancel := context.WithCancel(ctx)
	late, news, exited, err := startLate(ctx, "-redis", redisURL)
	if err != nil {
		cancel()
		return err
	}
	defer func() {
		cancel() // kills the process, even if it is stopped
		<-exited
	}()
	var token uint64
	if err := news.Decode(&token); err != nil {
		return fmt.Errorf("the other process has ended: %w", err)
	}
	tell("info", "Process %d has the lock, with token %d. It has read that %d are left, and is about to write %d.",
		late.Pid, token, pieces, pieces-1)
	if err := child.Stop(late); err != nil {
		return err
	}
	since := time.Now()
	tell("bad", "SIGSTOP: process %d is stopped between its read and its write. Nobody renews its lease.", late.Pid)
	r, err := sh.place(ctx, order{shown, "quick", 1})
	if err != nil {
		return err
	}
	tell("good", "After %.1f s the lease has expired. This process gets the lock, with the larger token %d, and sells a piece: %d are left.",
		time.Since(since).Seconds(), r.Token, r.Remaining)
	if err := child.Cont(late); err != nil {
		return err
	}
	tell("info", "SIGCONT: process %d continues. It does not look at its lock, and writes.", late.Pid)
	var result string
	if err := news.Decode(&result); err != nil {
		return fmt.Errorf("the other process has ended: %w", err)
	}
	if result == fence.ErrStale.Error() {
		tell("good", "The stock refuses the write: the item has seen a larger token than %d.", token)
	} else {
		tell("bad", "The stock does not refuse the write because of its token: %s.", result)
	}
	it, err := sh.stock.get(ctx, shown, 0)
	if err != nil {
		return err
	}
	kind, verdict := "good", "the stock is exact"
	if it.Stock+it.Sold != pieces {
		kind, verdict = "bad", "the stock is wrong"
	}
	tell(kind, "%d sold, %d left of %d: %s.", it.Sold, it.Stock, pieces, verdict)
	return nil
}

// lateEnv is the environment variable that makes this program run lateOrder.
const lateEnv = "EXAMPLE_SERVICE_LATE_ORDER"

// lateOrder is the other process. It takes the lock and reads the stock, and writes
// when its lease has ended, like a program that was paused there and does not look at
// its lock. It tells its token and then its error, in JSON.
func lateOrder(ctx context.Context, args []string, stdout io.Writer) error {
	cfg, err := parseFlags(args, stdout)
	if err != nil {
		return err
	}
	client, _, closeRedis, err := openRedis(cfg.redis)
	if err != nil {
		return err
	}
	defer closeRedis()
	locker := distlock.New(redislock.New(client, redislock.Config{}), distlock.Config{})
	defer locker.Close() //nolint:errcheck // its lease is over
	lock := itemLock(cfg)
	lease, err := locker.Acquire(ctx, lock.Value+":"+shown, distlock.Opts{Prefix: lock.Prefix, KeyTimeout: lock.KeyTimeout, MaxWait: lock.MaxWait})
	if err != nil {
		return err
	}
	items, news := stock{client}, json.NewEncoder(stdout)
	it, err := items.get(ctx, shown, lease.Token())
	if err != nil {
		return err
	}
	if err := news.Encode(lease.Token()); err != nil {
		return err
	}
	<-lease.Context().Done()
	_, err = items.put(ctx, shown, it.Stock-1, 1, lease.Token())
	if err := news.Encode(fmt.Sprint(err)); err != nil {
		return err
	}
	<-ctx.Done() // until the news are read
	return nil
}

// startLate starts a child process that runs lateOrder, and is killed when ctx ends.
func startLate(ctx context.Context, args ...string) (late *os.Process, news *json.Decoder, exited <-chan struct{}, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), lateEnv+"=1"), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	exited, err = child.Start(cmd) // it ends with this process at the latest
	return cmd.Process, json.NewDecoder(out), exited, err
}
