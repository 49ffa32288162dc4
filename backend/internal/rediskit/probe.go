package rediskit

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// idleFor is how long a connection of an [OwnPool] may be idle until it has to give a
// sign of life before it is used. Load balancers and NAT gateways forget idle
// connections without a word, and so does a machine that is switched off.
const idleFor = time.Second

// errStale is the error of a write to a connection that is silent. Nothing was written.
var errStale = errors.New("the connection is silent")

// neighbours are the connections of a pool to one server. One that is silent is
// evidence about all that were idle for half as long. Times are since began.
type neighbours struct {
	began    time.Time
	patience time.Duration // for a sign of life
	suspect  atomic.Int64  // connections used last before have to give one
	dead     atomic.Int64  // connections used last until then are silent
	chosen   *chosen       // nil without Sentinels
}

func (n *neighbours) now() int64 { return int64(time.Since(n.began)) + 1 }

func raise(a *atomic.Int64, to int64) {
	for old := a.Load(); old < to; old = a.Load() {
		if a.CompareAndSwap(old, to) {
			return
		}
	}
}

// probed is a connection that sends a PING before it is used after a quiet time. Only
// one goroutine may write at a time, and none may read meanwhile.
type probed struct {
	net.Conn
	all   *neighbours
	born  time.Time // for chosen
	used  int64     // when it was last written to; zero if it is new
	until time.Time // the deadline of writes
}

func (c *probed) SetWriteDeadline(t time.Time) error {
	c.until = t
	return c.Conn.SetWriteDeadline(t)
}

func (c *probed) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		raise(&c.all.suspect, c.all.now())
	}
	return n, err
}

func (c *probed) Write(p []byte) (int, error) {
	now := c.all.now()
	if !c.usable(now) {
		return 0, errStale
	}
	c.used = now
	return c.Conn.Write(p)
}

// usable reports whether the connection is to the master, and not silent.
func (c *probed) usable(now int64) bool {
	n, used := c.all, c.used > 0
	switch {
	case used && c.used <= n.dead.Load():
		return false
	case n.chosen != nil && !n.chosen.usable(c.born, c.limit()/2):
		return false
	case used && (now-c.used >= int64(idleFor) || c.used < n.suspect.Load()):
		return c.probe(now)
	}
	return true
}

// limit is how long a write may be delayed.
func (c *probed) limit() time.Duration {
	return min(c.all.patience, time.Until(c.until)/2)
}

// probe reports whether the server answers a PING, with whatever. If there is little
// time, it says nothing about the neighbours.
func (c *probed) probe(now int64) bool {
	limit := c.limit()
	_, err := c.Conn.Write([]byte("*1\r\n$4\r\nPING\r\n"))
	if err == nil {
		err = c.SetReadDeadline(time.Now().Add(limit))
	}
	line := make([]byte, 0, 256)
	for err == nil && !bytes.HasSuffix(line, []byte("\n")) && len(line) < cap(line) {
		var n int
		n, err = c.Conn.Read(line[len(line):cap(line)])
		line = line[:len(line)+n]
	}
	if err == nil {
		return true
	}
	raise(&c.all.suspect, now)
	if limit == c.all.patience {
		raise(&c.all.dead, now-(now-c.used)/2)
	}
	return false
}

// fresh is a hook that sends again over another connection what a silent one has not
// taken.
type fresh struct{}

func (fresh) DialHook(next redis.DialHook) redis.DialHook { return next }

func (fresh) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		for errors.Is(err, errStale) {
			if cmd.SetErr(err); ctx.Err() != nil { // a Cmd knows that it was not sent
				break
			}
			cmd.SetErr(nil) // go-redis does not replace the error of a command
			err = next(ctx, cmd)
		}
		return err
	}
}

func (fresh) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for errors.Is(err, errStale) && ctx.Err() == nil {
			for _, cmd := range cmds {
				cmd.SetErr(nil)
			}
			err = next(ctx, cmds)
		}
		return err
	}
}
