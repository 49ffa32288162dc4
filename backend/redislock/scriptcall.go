package redislock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// scriptCall is one run of a script, for one lock or for many.
type scriptCall struct {
	script  *luascript.Script
	ops     []*op
	answers []answer // of the ops
	cmd     *rediskit.Cmd

	confirmed int // by this number of replicas
}

// processArgs are the arguments that are the same in every script call of a Backend.
type processArgs struct {
	inbox, prefix string
	claim         int64
	replicas      replicas
	topology      topology
}

// command returns the command of the call: EVAL with the source, otherwise EVALSHA.
func (c *scriptCall) command(ctx context.Context, p *processArgs, source bool) *rediskit.Cmd {
	args := make([]any, 0, 6+8*len(c.ops))
	if source {
		args = append(args, "eval", c.script.Source())
	} else {
		args = append(args, "evalsha", c.script.Hash())
	}
	args = append(args, 1+3*len(c.ops))
	for k := range 3 {
		for _, o := range c.ops {
			args = append(args, &o.keys[k])
		}
	}
	args = append(args, p.topology.clockFor(c.ops[0].keys[0]))
	args = append(args, &p.inbox, &p.claim, &p.prefix)
	for _, o := range c.ops {
		args = o.appendArgs(args)
	}
	return rediskit.NewCmd(ctx, args...)
}

// sendCalls runs the calls, in one pipeline if there are several. Each call has an error
// of its own. Calls that are answered with NOSCRIPT are sent once more, with the script.
func sendCalls(ctx context.Context, client redis.UniversalClient, calls []scriptCall, p *processArgs) {
	sent := time.Now()
	for i := range calls {
		calls[i].cmd = calls[i].command(ctx, p, false)
	}
	p.execute(ctx, client, calls)
	var again []scriptCall
	var which []int
	for i := range calls {
		if err := calls[i].cmd.Err(); redis.HasErrorPrefix(err, "NOSCRIPT") {
			c := calls[i]
			c.cmd = c.command(ctx, p, true)
			again, which = append(again, c), append(which, i)
		}
	}
	if len(again) > 0 {
		p.execute(ctx, client, again)
		for n, i := range which {
			calls[i] = again[n]
		}
	}
	for i := range calls {
		calls[i].parse(sent)
	}
}

// execute runs the calls. It waits for replicas if the Backend has to.
func (p *processArgs) execute(ctx context.Context, client redis.UniversalClient, calls []scriptCall) {
	if p.replicas.n > 0 && slices.ContainsFunc(calls, p.replicas.concerns) {
		p.replicas.execute(ctx, client, calls)
		return
	}
	execute(ctx, client, calls)
}

func execute(ctx context.Context, client redis.UniversalClient, calls []scriptCall) {
	if len(calls) == 1 {
		_ = client.Process(ctx, calls[0].cmd) // the command has the error, too
		return
	}
	pipe := client.Pipeline()
	for i := range calls {
		_ = pipe.Process(ctx, calls[i].cmd) // queues it
	}
	rediskit.Exec(ctx, pipe)
}

// parse splits the reply into the answers of the operations.
func (c *scriptCall) parse(sent time.Time) {
	text, err := c.cmd.Text()
	for i := range c.answers {
		a := answer{sent: sent, err: err, outcomeKnown: rediskit.Answered(err), confirmed: c.confirmed}
		if err == nil {
			var more bool
			a.line, text, more = strings.Cut(text, "\n")
			switch {
			case more != (i < len(c.answers)-1):
				a = answer{sent: sent, err: fmt.Errorf("redislock: a script answered with %d lines or more instead of %d", i+1, len(c.answers))}
			case strings.HasPrefix(a.line, "-"):
				a.err, a.outcomeKnown = replyError(a.line[1:]), true
			}
		}
		c.answers[i] = a
	}
}

// replyError is an error for one lock, from a line of a script's reply.
type replyError string

// Error implements error.
func (e replyError) Error() string { return string(e) }

// RedisError marks the error as one that the server sent.
func (replyError) RedisError() {}

var _ redis.Error = replyError("")
