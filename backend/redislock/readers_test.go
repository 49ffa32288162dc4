package redislock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/testmode"
)

// readersEnv holds the address of the server, in a process with many readers.
const readersEnv = "DISTLOCK_TEST_READERS"

const (
	readersEach  = 250
	readersLease = 3 * time.Second
)

// beReaders holds the key for readersEach readers until the end of its input.
func beReaders(addr string) error {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	locker := distlock.New(redislock.New(client, unhurried), distlock.Config{})
	defer locker.Close()

	ctx := context.Background()
	leases := make([]*distlock.Lease, readersEach)
	errs := make([]error, readersEach)
	each := func(f func(i int) error) error {
		var wg sync.WaitGroup
		for i := range leases {
			wg.Go(func() { errs[i] = f(i) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	err := each(func(i int) (err error) {
		leases[i], err = locker.Acquire(ctx, lockKey, distlock.Opts{Mode: driver.Shared, KeyTimeout: readersLease})
		return err
	})
	if err != nil {
		return err
	}
	fmt.Println("in")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return each(func(i int) error { return leases[i].Release(ctx) })
}

// readers is a process with readersEach readers that hold the key.
type readers struct {
	*exec.Cmd

	leave io.Closer
}

func startReaders(t *testing.T, addr string) readers {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), readersEnv+"="+addr)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // a second time, if the test passed
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "in\n" {
		t.Fatalf("the readers said %q: %v", line, err)
	}
	return readers{cmd, in}
}

// A thousand readers of four processes hold the key together. A waiting writer keeps
// later readers out, and gets the key when the others have left; a killed process costs
// it the rest of the readers' lease and no more.
func TestReadersInFourProcesses(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	var all []readers
	for range 4 {
		all = append(all, startReaders(t, s.real.Addr()))
	}
	locker := distlock.New(redislock.New(s.real.Client(t), unhurried), distlock.Config{})
	defer locker.Close()
	once := distlock.Opts{RetryCount: 1}
	if _, err := locker.Acquire(t.Context(), lockKey, once); !errors.Is(err, driver.ErrNotAcquired) {
		t.Fatalf("a writer among the readers: %v", err)
	}

	in := make(chan error, 1)
	var left time.Time
	go func() {
		held, err := locker.Acquire(t.Context(), lockKey, distlock.Opts{})
		left = time.Now()
		if err == nil {
			err = held.Release(context.Background())
		}
		in <- err
	}()
	eventually(t, "the writer waits", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
	late := once
	late.Mode = driver.Shared
	if _, err := locker.Acquire(t.Context(), lockKey, late); !errors.Is(err, driver.ErrNotAcquired) {
		t.Fatalf("a reader behind the writer: %v", err)
	}

	stalled := stalls(t, s.real)
	killed := time.Now()
	if err := all[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, r := range all[1:] {
		_ = r.leave.Close()
		if err := r.Wait(); err != nil {
			t.Errorf("the readers ended with %v", err)
		}
	}
	if err := <-in; err != nil {
		t.Fatal(err)
	}
	// The time to notice the end of the lease is added.
	if d := left.Sub(killed); d > readersLease+time.Second+2*stalled() {
		t.Errorf("the writer came in %v after the readers were killed", d)
	} else {
		t.Logf("the writer came in %v after the readers with a lease of %v were killed", d, readersLease)
	}
}
