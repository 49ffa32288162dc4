package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/child"
)

// scene is a holder that is stopped for longer than its lease, just before it writes. The
// holder is another process, with the same Redis and the same stock. It is really
// stopped.
type scene struct{ redis, stock string } // URLs

// play plays the scene in a sale of pieces, and tells each step.
func (s scene) play(ctx context.Context, sh *shop, tell func(kind, format string, args ...any)) error {
	late, err := startLate("-redis", s.redis, "-stock", s.stock)
	if err != nil {
		return err
	}
	defer late.end()
	defer context.AfterFunc(ctx, func() { _ = late.process.Kill() })() // also while it is stopped

	held, err := late.next()
	if err != nil {
		return err
	}
	if held.Token == 0 {
		return fmt.Errorf("process %d does not get the lock: %s", late.process.Pid, held.Result)
	}
	tell("info", "Process %d has the lock, with token %d. It has read that %d are left, and is about to write %d.",
		late.process.Pid, held.Token, pieces, pieces-1)
	if err := child.Stop(late.process); err != nil {
		return err
	}
	since := time.Now()
	tell("bad", "SIGSTOP: process %d is stopped between its read and its write. Nobody renews its lease.", late.process.Pid)
	r, err := sh.place(ctx, order{shown, "quick", 1})
	if err != nil {
		return err
	}
	tell("good", "After %.1f s the lease has expired. This process gets the lock, with the larger token %d, and sells a piece: %d are left.",
		time.Since(since).Seconds(), r.Token, r.Remaining)
	if err := late.resume(); err != nil {
		return err
	}
	tell("info", "SIGCONT: process %d continues. It does not look at its lock, and writes.", late.process.Pid)
	result, err := late.next()
	if err != nil {
		return err
	}
	if result.Fenced {
		tell("good", "The stock refuses the write: the item has seen a larger token than %d.", held.Token)
	} else {
		tell("bad", "The stock does not refuse the write because of its token: %s.", result.Result)
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

// lateNews is a line of the other process: first its token, when it is about to write,
// and then the result.
type lateNews struct {
	Token  uint64 `json:"token,omitempty"`
	Result string `json:"result,omitempty"`
	Fenced bool   `json:"fenced,omitempty"` // the token was refused
}

// lateOrder is the other process. It places an order, and waits for a line on stdin
// before it writes, like a program that is paused there and does not look at its context.
func lateOrder(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	cfg, err := parseFlags(args, stdout)
	if err != nil {
		return err
	}
	client, _, closeRedis, err := openRedis(cfg.redis)
	if err != nil {
		return err
	}
	defer closeRedis()
	locker := distlock.New(redislock.New(client), distlock.Config{})
	defer locker.Close() //nolint:errcheck // its lease is over
	news := json.NewEncoder(stdout)
	sh := newShop(locker, itemLock(cfg), deafStock{newRemoteStock(cfg.stock)}, func(ctx context.Context) error {
		if err := news.Encode(lateNews{Token: tokenOf(ctx)}); err != nil {
			return err
		}
		_, err := bufio.NewReader(stdin).ReadString('\n')
		return err
	})
	r, err := sh.place(ctx, order{shown, "late", 1})
	return news.Encode(lateNews{Result: fmt.Sprintf("%+v, %v", r, err), Fenced: errors.Is(err, errFenced)})
}

// deafStock is a stock for a program that does not look at its context, which ends with
// the lease.
type deafStock struct{ stock }

func (s deafStock) sell(ctx context.Context, sku string, quantity, left int, token uint64) (int64, error) {
	return s.stock.sell(context.WithoutCancel(ctx), sku, quantity, left, token)
}

// lateProcess is a child process that runs lateOrder.
type lateProcess struct {
	process *os.Process
	in      io.Writer
	out     *os.File
	news    *json.Decoder
	exited  <-chan struct{}
}

func startLate(args ...string) (*lateProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &lateProcess{}
	cmd := exec.Command(self, args...) //nolint:noctx // end ends it
	cmd.Env = append(os.Environ(), lateEnv+"=1")
	cmd.Stderr = os.Stderr
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close() //nolint:errcheck // it is the child's
	cmd.Stdout = w
	if p.exited, err = child.Start(cmd); err != nil { // it ends with this process at the latest
		_ = out.Close()
		return nil, err
	}
	p.process, p.out, p.news = cmd.Process, out, json.NewDecoder(out)
	return p, nil
}

// next returns what the process says next.
func (p *lateProcess) next() (n lateNews, err error) {
	if err = p.news.Decode(&n); err != nil {
		err = fmt.Errorf("the other process has ended: %w", err)
	}
	return n, err
}

// resume lets the process continue, and write.
func (p *lateProcess) resume() error {
	if _, err := io.WriteString(p.in, "write\n"); err != nil {
		return err
	}
	return child.Cont(p.process)
}

// end kills the process, even if it is stopped, and waits for its end.
func (p *lateProcess) end() {
	_ = p.process.Kill() // an error means that it has ended
	<-p.exited
	_ = p.out.Close()
}
