package spec

import (
	"context"
	"encoding"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

const (
	lockKey  = "order:7"
	queueKey = "{order:7}:queue"
	goneKey  = "{order:7}:gone"
	clockKey = "distlock:clock"
)

// message is what the driver sends for a request: plain commands, if it may try these first,
// and a script.
type message struct {
	plain  [][]any
	script []any
}

// recorder makes the messages of a process: the driver makes them. None reaches the server of
// the test.
type recorder struct {
	lease time.Duration // that it asks for

	// Over a type of client that it does not know, the driver sends no plain commands, and a
	// hook sees all others. The hook answers that all is well.
	scripts driver.Backend
	answer  string
	silence context.CancelFunc // of a call that gets no answer, or nil

	// Plain commands have no inbox. A server of their own answers them.
	plain   driver.Backend
	flushed *redis.Client

	recorded [][]any
}

func newRecorder(t *testing.T, late time.Duration) *recorder {
	t.Helper()
	m, client := redistest.Virtual(t), redis.NewClient(&redis.Options{
		Addr:   "127.0.0.1:0", // a name would be looked up
		Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed },
	})
	r := &recorder{lease: lease - late, flushed: redistest.VirtualClient(t, m)}
	client.AddHook(r)
	r.scripts = redislock.New(struct{ redis.UniversalClient }{client}, redislock.Config{ClaimWindow: claim - late})
	r.plain = redislock.New(r.flushed, redislock.Config{})
	m.Server().SetPreHook(func(_ *server.Peer, cmd string, args ...string) bool {
		words := []any{cmd}
		for _, arg := range args {
			words = append(words, arg)
		}
		if slices.Contains([]string{"EVAL", "SET", "INCRBY", "EXISTS"}, cmd) {
			r.recorded = append(r.recorded, words)
		}
		return false
	})
	t.Cleanup(func() { _, _, _ = closeBackend(r.plain), closeBackend(r.scripts), client.Close() })
	return r
}

func closeBackend(b driver.Backend) error { return b.(io.Closer).Close() }

// message returns the message for a request of the owner. Without plainly it has a script alone.
func (r *recorder) message(t *testing.T, kind, owner string, doubt, plainly bool) (m message) {
	t.Helper()
	q := driver.Request{Key: lockKey, Owner: owner, TTL: r.lease, Tokens: 2}
	record := func(answer string, f func(ctx context.Context, b driver.Backend) error) {
		t.Helper()
		r.answer, r.recorded = answer, nil
		must(t, f(t.Context(), r.scripts))
		m.script = r.recorded[0]
		if kind != "try" || doubt || !plainly {
			return
		}
		for range 10 { // unless the machine is so busy that the driver uses a script
			must(t, r.flushed.FlushAll(t.Context()).Err())
			must(t, r.flushed.Set(t.Context(), clockKey, "0900000000000000", 0).Err()) // as after earlier grants
			must(t, r.flushed.ScriptFlush(t.Context()).Err())
			_ = closeBackend(r.plain)
			r.plain = redislock.New(r.flushed, redislock.Config{}) // it does not know the tokens of the data that is gone
			_, err := r.plain.(driver.Queuer).Enqueue(t.Context(), driver.Request{Key: "another", Owner: "another", TTL: r.lease})
			must(t, err)
			r.recorded = nil
			must(t, f(t.Context(), r.plain))
			if len(r.recorded) == 3 {
				m.plain = r.recorded
				return
			}
		}
		t.Fatalf("the driver sends no plain commands, but %q", r.recorded)
	}
	acquire := func(ctx context.Context, b driver.Backend) error {
		_, err := b.(driver.Queuer).Enqueue(ctx, q)
		return err
	}
	switch kind {
	case "try":
		record("1 0000000000000001 0000000000000002 0", acquire)
	case "renew":
		r.answer, r.recorded = "1", nil
		must(t, driver.RenewAll(t.Context(), r.scripts, []driver.Grant{q.Grant()})[0])
		m.script = r.recorded[0]
	case "release":
		if doubt {
			ctx, cancel := context.WithCancel(t.Context())
			r.silence = cancel
			if err := acquire(ctx, r.scripts); err == nil {
				t.Fatal("an attempt without an answer succeeded")
			}
			r.silence = nil
		}
		record("1", func(ctx context.Context, b driver.Backend) error { return b.Release(ctx, q.Grant()) })
	}
	return m
}

// DialHook implements [redis.Hook].
func (*recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (r *recorder) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			r.record(cmd)
		}
		return cmds[0].Err()
	}
}

// ProcessHook implements [redis.Hook].
func (r *recorder) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		r.record(cmd)
		return cmd.Err()
	}
}

// refused is an error that the server answers with.
type refused string

func (e refused) Error() string { return string(e) }

// RedisError implements [redis.Error].
func (refused) RedisError() {}

func (r *recorder) record(cmd redis.Cmder) {
	switch cmd := cmd.(type) {
	case interface{ SetVal(any) }: // a script
		r.recordScript(cmd.(redis.Cmder), cmd.SetVal)
	default:
		cmd.SetErr(refused("NOPERM"))
	}
}

func (r *recorder) recordScript(cmd redis.Cmder, answer func(any)) {
	switch {
	case r.silence != nil:
		_, _ = cmd.Args()[2].(encoding.BinaryMarshaler).MarshalBinary() // it counts as sent
		r.silence()
		cmd.SetErr(context.Canceled)
	case cmd.Name() == "evalsha":
		cmd.SetErr(refused("NOSCRIPT"))
	default:
		r.recorded = append(r.recorded, cmd.Args())
		answer(r.answer)
	}
}
