package main

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/backend/redislock/embedded"
	"github.com/distlock-go/distlock/internal/backendurl"
	"github.com/distlock-go/distlock/internal/child"
)

// stopped is the demonstration of a holder that is stopped for longer than its lease,
// just before it writes. The holder is another process, which is really stopped.
type stopped struct {
	shop    *shop
	backend string           // where the locks are, if not in server
	server  *embedded.Server // of the locks, or nil
	db      string
}

// newStopped returns the demonstration, or the reason why it is not possible.
func newStopped(cfg config, sh *shop, b *backendurl.Backend) (s *stopped, whyNot string) {
	s = &stopped{shop: sh, backend: cfg.backend, db: cfg.db}
	if s.db == "" {
		s.db = sh.store.name // the temporary file
	}
	s.server, _ = b.Client.(*embedded.Server)
	switch {
	case !child.CanStop:
		return nil, "this system cannot stop a process"
	case s.server == nil && backendurl.InProcess(cfg.backend):
		return nil, "the locks are inside this process, where another process cannot take them"
	}
	return s, ""
}

// play plays the demonstration, with a sale of demoStock pieces, and tells each step.
func (s *stopped) play(ctx context.Context, tell func(kind, text string)) error {
	say := func(kind, format string, args ...any) { tell(kind, fmt.Sprintf(format, args...)) }
	backend, err := s.reachable()
	if err != nil {
		return err
	}
	late, err := startLate(lateRole, "-backend", backend, "-db", s.db)
	if err != nil {
		return err
	}
	defer late.end()
	defer context.AfterFunc(ctx, func() { _ = late.Kill() })() // it is killed even if it is stopped

	name := lateHolder(late.Pid)
	say("info", "%s starts: another process of this shop, with the same locks and the same database.", name)
	held, err := late.next()
	if err != nil {
		return err
	}
	if held.Token == 0 {
		return fmt.Errorf("the second process did not get the lock: %s", held.Result)
	}
	say("info", "%s has the lock, with token %d. It has read that %d are left, and is about to write %d.", name, held.Token, demoStock, demoStock-1)
	if err := child.Stop(late.Process); err != nil {
		return err
	}
	since := time.Now()
	say("bad", "SIGSTOP: %s is stopped between its read and its write. It does not renew its lease any more.", name)
	o, err := s.shop.place(ctx, orderRequest{shown, "quick", 1})
	if err != nil {
		return err
	}
	say("good", "After %.1f s the lease has expired. This process gets the lock, with the larger token %d, and sells a piece: %d are left.",
		time.Since(since).Seconds(), o.Token, o.Remaining)
	if err := late.write(); err != nil {
		return err
	}
	if err := child.Cont(late.Process); err != nil {
		return err
	}
	say("info", "SIGCONT: %s continues. It does not look at its lock, and writes.", name)
	result, err := late.next()
	if err != nil {
		return err
	}
	if result.Fenced {
		say("good", "The database refuses the write: the item has seen a larger token than %d.", held.Token)
	} else {
		say("bad", "The database did not refuse the write because of its token: %s.", result.Result)
	}
	it, err := s.shop.item(ctx, shown)
	if err != nil {
		return err
	}
	kind, verdict := "good", "the stock is exact"
	if it.Stock+it.Sold != demoStock {
		kind, verdict = "bad", "the stock is wrong"
	}
	say(kind, "%d sold, %d left of %d: %s.", it.Sold, it.Stock, demoStock, verdict)
	return nil
}

// reachable returns the flag with which another process reaches the locks. An embedded
// server listens from now on, for this machine only.
func (s *stopped) reachable() (backend string, err error) {
	if s.server == nil {
		return s.backend, nil
	}
	addr := s.server.Addr()
	if addr == "" {
		if addr, err = s.server.Listen("127.0.0.1:0"); err != nil {
			return "", err
		}
	}
	return "redis://" + addr + "/0", nil
}
