package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/backendurl"
	"github.com/distlock-go/distlock/internal/child"
)

// roleEnv is the environment variable that makes the executable run lateOrder instead of
// the service, if its value is lateRole.
const roleEnv, lateRole = "EXAMPLE_SERVICE_ROLE", "late order"

// lateNews is what a late order says: first its token, when it has read the stock and is
// about to write, and then its result.
type lateNews struct {
	Token  uint64 `json:"token,omitempty"`
	Result string `json:"result,omitempty"`
	Fenced bool   `json:"fenced,omitempty"` // the token was refused
}

// lateOrder places an order like another process of the shop. Between its read and its
// write it waits for a line on stdin, like a program that is paused there and does not
// look at its context. The backend and the database are those of the flags in args; how
// returns the function that places the order.
func lateOrder(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer, how placing) error {
	cfg, err := parseFlags(args, stdout)
	if err != nil {
		return err
	}
	items, err := openStore(ctx, cfg.db)
	if err != nil {
		return err
	}
	backend, err := backendurl.Open(ctx, cfg.backend)
	if err != nil {
		return err
	}
	news := json.NewEncoder(stdout)
	l := distlock.New(backend.Backend, distlock.Config{Holder: lateHolder(os.Getpid())})
	lock := itemLock(cfg)
	place := how(newShop(l, lock, items, &ledger{}, func(ctx context.Context) error {
		lease, ok := distlock.FromContext(ctx)
		if !ok {
			return errNoLease
		}
		if err := news.Encode(lateNews{Token: lease.Token()}); err != nil {
			return err
		}
		_, err := bufio.NewReader(stdin).ReadString('\n')
		return err
	}), l, lock)
	o, err := place(ctx, orderRequest{shown, "late", 1})
	return news.Encode(lateNews{Result: fmt.Sprintf("%+v, %v", o, err), Fenced: errors.Is(err, errFenced)})
}

// placing returns a function that places an order in a shop with that lock.
type placing func(*shop, *distlock.Locker, distlock.Opts) distlock.Func[orderRequest, order]

// asAlways is how the shop places orders.
func asAlways(sh *shop, _ *distlock.Locker, _ distlock.Opts) distlock.Func[orderRequest, order] {
	return sh.place
}

// lateHolder is the name of such a process as the holder of a lock.
func lateHolder(pid int) string { return fmt.Sprintf("second-shop/%d", pid) }

// lateProcess is a child process that places a late order.
type lateProcess struct {
	*os.Process
	in     io.Writer
	news   *json.Decoder
	out    *os.File
	errors bytes.Buffer
	exited <-chan struct{}
}

// startLate starts this executable in a role. The process ends with this one at the
// latest; end ends it.
func startLate(role string, args ...string) (*lateProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &lateProcess{}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	cmd.Stderr = &p.errors
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close() //nolint:errcheck // it is the child's
	cmd.Stdout = w
	if p.exited, err = child.Start(cmd); err != nil {
		_ = out.Close()
		return nil, err
	}
	p.Process, p.out, p.news = cmd.Process, out, json.NewDecoder(out)
	return p, nil
}

// next returns what the process says next. If it ends instead, the error says why.
func (p *lateProcess) next() (n lateNews, err error) {
	if err = p.news.Decode(&n); err != nil {
		p.end()
		err = fmt.Errorf("the second process ended: %w: %s", err, strings.TrimSpace(p.errors.String()))
	}
	return n, err
}

// write lets the order write.
func (p *lateProcess) write() error {
	_, err := io.WriteString(p.in, "write\n")
	return err
}

// end kills the process, even if it is stopped, and waits for its end.
func (p *lateProcess) end() {
	_ = p.Kill() // an error means that it has ended
	<-p.exited
	_ = p.out.Close()
}
