package rediskit

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Cmd is an EVAL or EVALSHA that go-redis sends once, whatever the options of the
// client say. go-redis repeats other commands by itself when a connection breaks or a
// reply is late: then the server may run a script twice, or long after its caller has
// given up, and the caller is told nothing. In a pipeline, one Cmd keeps all commands
// from being repeated.
//
// go-redis still follows the redirections of a Cluster, and tries another master after
// READONLY: these answers say that the script did not run. All other errors that it
// repeats by default, such as LOADING, TRYAGAIN or CLUSTERDOWN, are left to the caller.
//
// A Cmd is not for an AutoPipeline, and is for one use.
type Cmd struct {
	*redis.Cmd

	keys keyCount
}

// NewCmd returns the command with these arguments, the first of which is "eval" or
// "evalsha". The third is the number of keys and must be an int. NewCmd keeps args.
func NewCmd(ctx context.Context, args ...any) *Cmd {
	c := &Cmd{}
	c.keys.n, _ = args[2].(int)
	args[2] = &c.keys
	c.Cmd = redis.NewCmd(ctx, args...)
	if c.keys.n > 0 {
		c.SetFirstKeyPos(3)
	}
	return c
}

// NoRetry implements [redis.Cmder].
func (*Cmd) NoRetry() bool { return true }

// Sent returns how often the command was written to a connection. More than once means
// that a server has redirected it.
func (c *Cmd) Sent() int { return c.keys.written }

// SetErr implements [redis.Cmder]. An error of a command that was not written to any
// connection is NotSent, see [FateOf].
func (c *Cmd) SetErr(err error) {
	if errors.Is(err, errStale) {
		c.keys.written = 0
	}
	if err != nil && c.Sent() == 0 {
		err = &notSentError{err}
	}
	c.Cmd.SetErr(err)
}

// keyCount is the number of keys of a script, as an argument that knows how often it
// was written.
type keyCount struct {
	n, written int
	text       [8]byte
}

// MarshalBinary implements [encoding.BinaryMarshaler]. go-redis calls it when it writes
// the argument into the buffer of a connection.
func (k *keyCount) MarshalBinary() ([]byte, error) {
	k.written++
	return strconv.AppendInt(k.text[:0], int64(k.n), 10), nil
}

// String implements [fmt.Stringer]: hooks print commands.
func (k *keyCount) String() string { return strconv.Itoa(k.n) }

// Exec executes the pipeline. Afterwards each command has a reply or its own error. If
// the server refuses the connection, for example because of a wrong password, go-redis
// alone sets neither.
func Exec(ctx context.Context, pipe redis.Pipeliner) {
	cmds, err := pipe.Exec(ctx)
	if err == nil {
		return
	}
	for _, cmd := range cmds {
		if cmd.Err() != nil {
			return
		}
	}
	for _, cmd := range cmds {
		cmd.SetErr(err)
	}
}

// Numbers returns the numbers at the beginning of an array that a script returned, and
// the rest.
func Numbers(reply []any) (numbers []int64, rest []any) {
	for i, part := range reply {
		n, ok := part.(int64)
		if !ok {
			return numbers, reply[i:]
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// Flag returns a boolean as scripts expect it.
func Flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
