package redislock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// scriptCall is one run of a script, for one lock or for many.
type scriptCall struct {
	script  *script
	ops     []*op
	answers []answer // of the ops
	cmd     *redis.Cmd

	confirmed int // by so many replicas
}

// arguments of a process that are always the same.
type arguments struct {
	inbox, prefix string
	claim         int64
	replicas      replicas
}

// command returns the call as a command. With source it brings the script along.
func (c *scriptCall) command(ctx context.Context, own *arguments, source bool) *redis.Cmd {
	args := make([]any, 0, 6+8*len(c.ops))
	if source {
		args = append(args, "eval", &c.script.source)
	} else {
		args = append(args, "evalsha", &c.script.sha)
	}
	args = append(args, 3*len(c.ops))
	for k := range 3 {
		for _, o := range c.ops {
			args = append(args, &o.keys[k])
		}
	}
	args = append(args, &own.inbox, &own.claim, &own.prefix)
	for _, o := range c.ops {
		args = o.appendArgs(args)
	}
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// sendCalls carries out the calls, in one pipeline if they are several. Each has
// an error of its own. Those that the server does not know the script of, or
// cannot run while a slot moves, are sent once more.
func sendCalls(ctx context.Context, client redis.UniversalClient, calls []scriptCall, own *arguments) {
	sent := time.Now()
	for i := range calls {
		calls[i].cmd = calls[i].command(ctx, own, false)
	}
	own.execute(ctx, client, calls)
	var again []scriptCall
	var which []int
	for i := range calls {
		if err := calls[i].cmd.Err(); redis.HasErrorPrefix(err, "NOSCRIPT") {
			c := calls[i]
			c.cmd = c.command(ctx, own, true)
			again, which = append(again, c), append(which, i)
		}
	}
	if len(again) > 0 {
		own.execute(ctx, client, again)
		for n, i := range which {
			calls[i] = again[n]
		}
	}
	for i := range calls {
		calls[i].read(sent)
	}
}

// execute carries out the calls, and asks the replicas where that is wanted.
func (own *arguments) execute(ctx context.Context, client redis.UniversalClient, calls []scriptCall) {
	if own.replicas.n > 0 && slices.ContainsFunc(calls, own.replicas.concern) {
		own.replicas.execute(ctx, client, calls)
		return
	}
	execute(ctx, client, calls)
}

func execute(ctx context.Context, client redis.UniversalClient, calls []scriptCall) {
	if len(calls) == 1 {
		_ = client.Process(ctx, calls[0].cmd) // the command has it too
		return
	}
	pipe := client.Pipeline()
	for i := range calls {
		_ = pipe.Process(ctx, calls[i].cmd) // queues it
	}
	rediskit.Exec(ctx, pipe)
}

// read distributes the reply.
func (c *scriptCall) read(sent time.Time) {
	text, err := c.cmd.Text()
	for i := range c.answers {
		a := answer{sent: sent, err: err, sure: rediskit.Answered(err), confirmed: c.confirmed}
		if err == nil {
			var more bool
			a.line, text, more = strings.Cut(text, "\n")
			switch {
			case more != (i < len(c.answers)-1):
				a = answer{sent: sent, err: fmt.Errorf("redislock: a script answered with %d lines or more instead of %d", i+1, len(c.answers))}
			case strings.HasPrefix(a.line, "-"):
				a.err, a.sure = replyError(a.line[1:]), true
			}
		}
		c.answers[i] = a
	}
}

// replyError is an error that a script has put into a line of its answer.
type replyError string

// Error implements error.
func (e replyError) Error() string { return string(e) }

// RedisError marks the error as one that the server sent.
func (replyError) RedisError() {}

var _ redis.Error = replyError("")
