package redislock

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// maxScript is how many locks go into one script: it stops the server while it
// runs, for a tenth of a millisecond or two.
const maxScript = 64

// fly carries out a batch on this goroutine if that cannot hold it up for long,
// else on another.
func (l *lane) fly(ctx context.Context, batch []*op) {
	if !l.fleet.near() || slices.ContainsFunc(batch, func(o *op) bool { return !o.repeatable }) {
		l.flyFar(batch)
		return
	}
	f := l.fleet
	start := time.Now()
	sortByScript(batch)
	answers := f.send(f.shortly.Context(ctx), f.short(), batch)
	var again []*op
	n := 0
	for i, o := range batch {
		if rediskit.Answered(answers[i].err) {
			batch[n], answers[n] = o, answers[i]
			n++
			continue
		}
		o.sure = false
		again = append(again, o)
	}
	took := time.Since(start)
	f.noticed(len(again) == 0 && took <= promptAnswer)
	l.deliver(batch[:n], answers[:n], false)
	if again = l.still(again); len(again) > 0 {
		l.flyFar(again)
		return
	}
	l.land(took)
}

// flyFar carries out a batch on a goroutine of its own, which is left behind if
// it is late.
func (l *lane) flyFar(batch []*op) {
	f := l.fleet
	sortByScript(batch)
	var landed atomic.Bool
	ctx, cancel := context.WithTimeout(context.Background(), f.limit) //nolint:forbidigo // of many callers, who leave by themselves
	sent := time.Now()
	tooLate := func() {
		if landed.Swap(true) {
			return
		}
		f.noticed(false)
		f.nodes.silent()
		answers := make([]answer, len(batch))
		for i := range answers {
			answers[i] = answer{err: f.noAnswer(l.server), sent: sent}
		}
		l.strand()
		l.deliver(slices.Clone(batch), answers, true)
		l.land(f.limit)
	}
	late := time.AfterFunc(f.limit/2, func() {
		if !landed.Load() {
			time.AfterFunc(time.Until(sent.Add(f.limit)), tooLate)
			f.ask(l.server)
		}
	})
	f.workers.Run(func() {
		defer cancel()
		answers := f.send(ctx, f.client, batch)
		took := time.Since(sent)
		if unclear(answers[0].err) {
			f.ask(l.server)
		}
		late.Stop()
		if landed.Swap(true) {
			return
		}
		for i, a := range answers {
			if unclear(a.err) {
				answers[i].err = l.server.NoAnswer(a.err, f.limit)
			}
		}
		answered := rediskit.Answered(answers[0].err)
		f.noticed(took <= promptAnswer && answered)
		if !answered {
			f.nodes.silent()
		}
		l.deliver(batch, answers, false)
		l.land(took)
	})
}

// send carries out a batch through client. It writes to nothing but what it
// returns: it may be left behind.
func (f *fleet) send(ctx context.Context, client redis.UniversalClient, batch []*op) []answer {
	answers := make([]answer, len(batch))
	most := 1
	if f.nodes.together() {
		most = maxScript
	}
	sendCalls(ctx, client, callsFor(batch, answers, most), f.own)
	if most == 1 || len(batch) == 1 {
		return answers
	}
	var alone []*op
	var which []int
	for i, o := range batch {
		if redis.HasErrorPrefix(answers[i].err, "CROSSSLOT") {
			// A client for one server, but what answers is a Cluster.
			f.nodes.separate()
		} else if !ofOne(answers[i].err) {
			continue
		}
		alone, which = append(alone, o), append(which, i)
	}
	if len(alone) == 0 {
		return answers
	}
	again := make([]answer, len(alone))
	sendCalls(ctx, client, callsFor(alone, again, 1), f.own)
	for n, i := range which {
		// The part of a script that ran before it failed stays done, and repeating it
		// does no harm. But a release that was done already may now find another holder.
		again[n].sure = again[n].sure && (alone[n].how != "" || redis.HasErrorPrefix(answers[i].err, "CROSSSLOT"))
		answers[i] = again[n]
	}
	return answers
}

// ofOne reports whether a script for many locks failed because of a single key: a key
// that has another type where no script expects it, or that the user may not use.
func ofOne(err error) bool {
	return !isLine(err, "") && (redis.HasErrorPrefix(err, "NOPERM") || rediskit.Answered(err) && err != nil && strings.Contains(err.Error(), "WRONGTYPE"))
}

// sortByScript puts the operations of one script together.
func sortByScript(batch []*op) {
	if len(batch) > 1 {
		slices.SortStableFunc(batch, func(a, b *op) int { return strings.Compare(a.script.sha, b.script.sha) })
	}
}

// callsFor makes calls of a batch, each for as many as most operations of one
// script that stand together.
func callsFor(batch []*op, answers []answer, most int) []scriptCall {
	var calls []scriptCall
	for from, to := 0, 0; from < len(batch); from = to {
		for to < len(batch) && to-from < most && batch[to].script == batch[from].script {
			to++
		}
		calls = append(calls, scriptCall{script: batch[from].script, ops: batch[from:to], answers: answers[from:to]})
	}
	return calls
}
