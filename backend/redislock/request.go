package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
	"github.com/distlock-go/distlock/driver"
)

// request is what a script has to do for one lock. Only the dispatcher changes it.
type request struct {
	script *luascript.Script
	key    string
	keys   *[3]string // if they are not the lockKeys of key
	owner  string

	ttl    int64  // milliseconds; for acquire.lua and renew.lua
	mode   string // for acquire.lua; for renew.lua a flag
	tokens int

	waiter *waiter // of an attempt that queues

	inDoubt string // for release.lua: a flag
	share   string // see share

	once  bool // it must not be sent twice
	plain bool // an attempt that may be plain commands, if the lock is exclusive
	tried bool // it was sent so. Its caller reads this only after an answer
}

// The modes of an acquisition, beside an owner that has handed its lease off. A release has
// none.
const (
	modeTry     = "try"
	modeEnqueue = "enqueue"
	modeExtend  = "extend"
)

// appendArgs appends the arguments of the script for r. They are pointers, because to
// put a string into an interface allocates.
func (r *request) appendArgs(args []any) []any {
	args = append(args, &r.owner)
	if r.mode != "" {
		return append(args, &r.ttl, &r.mode, &r.share)
	}
	return append(args, &r.inDoubt, &r.share)
}

// Replies of release.lua and force_release.lua. Any other is a failure.
const (
	replyHeld    = "1" // the owner had the key, or any owner if it was taken away by force
	replyNotHeld = "2" // it had no holder
)

// reply is the answer to a request.
type reply struct {
	line      string
	issued    uint64 // the last token of a plain attempt, which has no line
	confirmed int    // by this number of replicas, if they were asked
}

// scriptCall is one run of a script, for one request or for several.
type scriptCall struct {
	script   *luascript.Script
	requests []*request
	which    []int // the indices of the requests in the batch
	cmd      *rediskit.Cmd

	confirmed int // by this number of replicas
}

// A script of this size stops the server for a tenth of a millisecond or two.
const maxScriptRequests = 64

// callsFor returns the script calls for the requests with the given indices, each for
// at most so many.
func callsFor(batch []*request, which []int, most int) []scriptCall {
	var calls []scriptCall
	for _, i := range which {
		r := batch[i]
		at := slices.IndexFunc(calls, func(c scriptCall) bool { return c.script == r.script && len(c.requests) < most })
		if at < 0 {
			at = len(calls)
			calls = append(calls, scriptCall{script: r.script})
		}
		c := &calls[at]
		c.requests, c.which = append(c.requests, r), append(c.which, i)
	}
	return calls
}

// processArgs are the arguments that are the same in every script call of a Backend.
type processArgs struct {
	inbox, prefix string
	claim         int64 // the claim window in milliseconds
	pass          int64 // the same, for a lock that a release passes on; 0: it leaves the lock free
	topology      topology
}

// appendKeys appends all keys of the locks, the clock, and the arguments of the process.
func (c *scriptCall) appendKeys(args []any, p *processArgs) []any {
	args = append(args, 1+3*len(c.requests))
	for _, r := range c.requests {
		if r.keys == nil {
			r.keys = lockKeys(r.key)
		}
	}
	for k := range 3 {
		for _, r := range c.requests {
			args = append(args, &r.keys[k])
		}
	}
	claim := &p.claim
	if c.requests[0].mode == "" {
		claim = &p.pass
	}
	return append(args, p.topology.clockFor(c.requests[0].key), &p.inbox, claim, &p.prefix)
}

// command returns the command of the call: EVAL with the source, otherwise EVALSHA.
func (c *scriptCall) command(ctx context.Context, p *processArgs, source bool) *rediskit.Cmd {
	args := make([]any, 0, 7+7*len(c.requests))
	if source {
		args = append(args, "eval", c.script.Source())
	} else {
		args = append(args, "evalsha", c.script.Hash())
	}
	if c.script == renewScript {
		args = append(args, len(c.requests))
		for _, r := range c.requests {
			args = append(args, &r.key)
		}
	} else {
		args = c.appendKeys(args, p)
	}
	for _, r := range c.requests {
		args = r.appendArgs(args)
	}
	return rediskit.NewCmd(ctx, args...)
}

// execute sends the calls and the other commands, in one pipeline if there are several.
func execute(ctx context.Context, client redis.UniversalClient, calls []scriptCall, others ...redis.Cmder) {
	if len(calls) == 1 && len(others) == 0 {
		_ = client.Process(ctx, calls[0].cmd) // the command has the error, too
		return
	}
	pipe := client.Pipeline()
	_ = pipe.BatchProcess(ctx, others...) // queues them
	for i := range calls {
		_ = pipe.Process(ctx, calls[i].cmd)
	}
	rediskit.Exec(ctx, pipe)
}

// finish splits the reply into the results of the requests, and adds what is known of
// their fate.
func (c *scriptCall) finish(results []dispatch.Result[reply], sent time.Time) {
	text, err := c.cmd.Text()
	fate := rediskit.FateOf(err)
	for n, i := range c.which {
		r := &results[i]
		r.Err, r.Value = err, reply{confirmed: c.confirmed}
		r.OutcomeKnown = r.OutcomeKnown && fate != rediskit.Unknown
		if fate == rediskit.Replied {
			r.Sent = sent
		}
		if err != nil {
			continue
		}
		var more bool
		r.Value.line, text, more = strings.Cut(text, "\n")
		switch {
		case more != (n < len(c.which)-1):
			r.OutcomeKnown = false
			r.Err = fmt.Errorf("redislock: a script answered with %d lines or more instead of %d", n+1, len(c.which))
		case strings.HasPrefix(r.Value.line, "-"):
			r.Err = replyError(r.Value.line[1:])
		}
	}
}

// replyError is an error for one lock, from a line of a script's reply.
type replyError string

// Error implements error.
func (e replyError) Error() string { return string(e) }

// RedisError marks the error as one that the server sent.
func (replyError) RedisError() {}

// isLine reports whether err is from one line of a script's reply and begins with
// prefix.
func isLine(err error, prefix string) bool {
	line := replyError("")
	return errors.As(err, &line) && redis.HasErrorPrefix(line, prefix)
}

// share returns how scripts are told what an owner asks for: "r" is to read, "p3" is
// one of three permits, "" is an exclusive lock.
func share(m driver.Mode, permits int) string {
	switch {
	case permits > 0:
		return "p" + strconv.Itoa(permits)
	case m == driver.Shared:
		return "r"
	default:
		return ""
	}
}

func checkMode(m driver.Mode, permits int) error {
	switch {
	case permits < 0:
		return fmt.Errorf("redislock: %d permits", permits)
	case m != driver.Exclusive && m != driver.Shared, permits > 0 && m != driver.Exclusive:
		return fmt.Errorf("redislock: %v with %d permits is not a way to hold a key", m, permits)
	default:
		return nil
	}
}
