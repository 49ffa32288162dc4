package redislock

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// batcher sends operations to one server. A caller that arrives while fewer batches than
// the limit are in flight sends everything that is queued at once, on its own goroutine if
// possible. So a single caller does not wait. While the limit is reached, operations are
// queued and sent together.
//
// Four batches in flight are enough for a server nearby: the server is busy while the
// client reads replies, and callers hardly wait for each other. More would only make the
// batches smaller. If a batch takes longer than lowLatency, the limit grows in proportion,
// because most of the time is spent on the network. It is also exceeded if the last batch
// was sent longer than inlineTimeout ago: the connections of those in flight may have
// failed.
type batcher struct {
	dispatcher *dispatcher
	server     *rediskit.Server

	mu        sync.Mutex
	queue     []*op
	inFlight  int            // batches
	lastStart time.Time      // of a batch
	typical   time.Duration  // of a batch: a moving average
	abandoned map[string]int // operations in flight whose caller has left, by owner

	renewals chan struct{} // one element for each renewal in progress
}

const (
	minInFlight = 4
	maxInFlight = 16
	lowLatency  = 250 * time.Microsecond // up to which minInFlight are enough
)

func newBatcher(d *dispatcher, s *rediskit.Server) *batcher {
	return &batcher{dispatcher: d, server: s, renewals: make(chan struct{}, maxRenewals)}
}

// do runs o and returns its answer. If ctx ends first, it returns at once; then o may
// still be run, unless the answer says that the outcome is known.
//
// It returns within the limit after o was sent. Before that, o may be queued for as long
// again if the server is slow.
func (b *batcher) do(ctx context.Context, o *op) answer {
	if err := ctx.Err(); err != nil {
		return answer{err: err, outcomeKnown: true}
	}
	o.outcomeKnown = true
	b.mu.Lock()
	o.state = stateQueued
	b.queue = append(b.queue, o)
	batch := b.startBatch()
	b.mu.Unlock()
	for {
		if len(batch) > 0 {
			b.sendBatch(ctx, batch)
		}
		e := b.wait(ctx, o)
		if e == eventDone {
			break
		}
		b.mu.Lock()
		if e == eventRun {
			batch = b.takeBatch(o)
		} else {
			o.force = true
			batch = b.startBatch()
		}
		b.mu.Unlock()
	}
	a := o.answer
	if !o.retained {
		b.dispatcher.ops.put(o)
	}
	a.err = b.dispatcher.callerError(ctx, b.server, a.err)
	return a
}

// hasCapacity reports whether another batch may be in flight. The caller has the mutex.
func (b *batcher) hasCapacity() bool {
	limit := min(max(minInFlight, int(minInFlight*b.typical/lowLatency)), maxInFlight)
	return b.inFlight < limit || b.inFlight < maxInFlight && time.Since(b.lastStart) > inlineTimeout
}

// startBatch returns the batch that the caller has to send, or nil. The caller has the
// mutex.
func (b *batcher) startBatch() []*op {
	if !b.hasCapacity() {
		return nil
	}
	batch := b.takeBatch(nil)
	if len(batch) > 0 {
		b.inFlight++
	}
	return batch
}

// takeBatch takes the next batch from the queue. If a runner is given, the batch is the
// one that it was told to send; other runners keep their place, because they send batches
// of their own. The caller has the mutex.
func (b *batcher) takeBatch(runner *op) []*op {
	batch := make([]*op, 0, min(len(b.queue), maxBatch))
	kept := b.queue[:0]
	for _, o := range b.queue {
		switch {
		case o.state == stateAbandoned:
		case len(batch) == maxBatch, o != runner && (o.state == stateRunner || b.mustFollow(o)):
			kept = append(kept, o)
		default:
			o.state = stateSent
			batch = append(batch, o)
		}
	}
	clear(b.queue[len(kept):])
	b.queue = kept
	b.lastStart = time.Now()
	return batch
}

// mustFollow reports whether o is a release that could overtake an abandoned operation of
// the same owner. It waits for at most a quarter of the limit: the scripts can handle such
// operations too, but not very many. The caller has the mutex.
func (b *batcher) mustFollow(o *op) bool {
	return len(b.abandoned) > 0 && o.mode == "" && !o.force && b.abandoned[o.owner] > 0
}

// queuedBehind reports whether o is queued because it must follow an abandoned operation.
func (b *batcher) queuedBehind(o *op) bool {
	if o.mode != "" {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return o.state == stateQueued && b.mustFollow(o)
}

// wait returns the next event for o's caller. If ctx ends, o is abandoned and done.
func (b *batcher) wait(ctx context.Context, o *op) event {
	select {
	case e := <-o.events: // cheaper than a select with ctx
		return e
	default:
	}
	var force <-chan time.Time
	if b.queuedBehind(o) {
		force = time.After(b.dispatcher.limit / 4)
	}
	select {
	case e := <-o.events:
		return e
	case <-force:
		return eventForce
	case <-ctx.Done():
		if !b.abandon(ctx, o) {
			return <-o.events
		}
		return eventDone
	}
}

// sendBatch sends a batch inline if that is possible, otherwise on another goroutine.
func (b *batcher) sendBatch(ctx context.Context, batch []*op) {
	if !b.dispatcher.canInline() || slices.ContainsFunc(batch, func(o *op) bool { return !o.idempotent }) {
		b.sendAsync(batch)
		return
	}
	b.sendInline(ctx, batch)
}

// sendInline sends a batch on this goroutine. Operations without an answer are then sent
// again by sendAsync.
func (b *batcher) sendInline(ctx context.Context, batch []*op) {
	d := b.dispatcher
	start := time.Now()
	sortByScript(batch)
	answers := d.send(d.inlineTimeouts.Context(ctx), d.inlineClient(), batch)
	var again []*op
	n := 0
	for i, o := range batch {
		if rediskit.Answered(answers[i].err) {
			batch[n], answers[n] = o, answers[i]
			n++
			continue
		}
		o.outcomeKnown = false
		again = append(again, o)
	}
	took := time.Since(start)
	d.observe(len(again) == 0 && took <= responsiveWithin)
	b.complete(batch[:n], answers[:n], false)
	if again = b.dropAbandoned(again); len(again) > 0 {
		b.sendAsync(again)
		return
	}
	b.finishBatch(took)
}

// sendAsync sends a batch on a goroutine of its own, which is abandoned if it is late.
func (b *batcher) sendAsync(batch []*op) {
	d := b.dispatcher
	sortByScript(batch)
	var finished atomic.Bool
	ctx, cancel := context.WithTimeout(context.Background(), d.limit) //nolint:forbidigo // the batch has many callers, which leave by themselves
	sent := time.Now()
	tooLate := func() {
		if finished.Swap(true) {
			return
		}
		d.observe(false)
		d.topology.refresh()
		answers := make([]answer, len(batch))
		for i := range answers {
			answers[i] = answer{err: d.noAnswer(b.server), sent: sent}
		}
		b.failQueued()
		b.complete(slices.Clone(batch), answers, true)
		b.finishBatch(d.limit)
	}
	late := time.AfterFunc(d.limit/2, func() {
		if !finished.Load() {
			time.AfterFunc(time.Until(sent.Add(d.limit)), tooLate)
			d.diagnose(b.server)
		}
	})
	d.workers.Run(func() {
		defer cancel()
		answers := d.send(ctx, d.client, batch)
		took := time.Since(sent)
		if causeUnknown(answers[0].err) {
			d.diagnose(b.server)
		}
		late.Stop()
		if finished.Swap(true) {
			return
		}
		for i, a := range answers {
			if causeUnknown(a.err) {
				answers[i].err = b.server.NoAnswer(a.err, d.limit)
			}
		}
		answered := rediskit.Answered(answers[0].err)
		d.observe(took <= responsiveWithin && answered)
		if !answered {
			d.topology.refresh()
		}
		b.complete(batch, answers, false)
		b.finishBatch(took)
	})
}

// complete gives the callers the answers of their operations. The callers reuse the
// operations afterwards, unless retained says that the batch is still being sent.
func (b *batcher) complete(batch []*op, answers []answer, retained bool) {
	b.mu.Lock()
	completed := batch[:0]
	for i, o := range batch {
		if o.state == stateAbandoned {
			b.forget(o)
			continue
		}
		o.state, o.retained = stateDone, retained
		answers[i].outcomeKnown = answers[i].outcomeKnown && o.outcomeKnown
		o.answer = answers[i]
		completed = append(completed, o)
	}
	b.mu.Unlock()
	for _, o := range completed {
		o.events <- eventDone
	}
}

// finishBatch ends a batch, which took the given time, or 0 if that is not known. If
// operations are queued, it starts the next batch. It is called after complete, so that
// the goroutine that sends the next batch runs before the others.
func (b *batcher) finishBatch(took time.Duration) {
	b.mu.Lock()
	if took > 0 {
		b.typical += (min(took, inlineTimeout) - b.typical) / 8
	}
	next := slices.IndexFunc(b.queue, func(o *op) bool { return o.state == stateQueued && !b.mustFollow(o) })
	if next < 0 {
		b.inFlight--
		b.mu.Unlock()
		return
	}
	if runner := b.queue[next]; b.dispatcher.canInline() {
		runner.state = stateRunner
		b.mu.Unlock()
		runner.events <- eventRun
		return
	}
	batch := b.takeBatch(nil)
	b.mu.Unlock()
	b.sendAsync(batch)
}

// abandon is called when o's caller stops waiting because ctx has ended. It returns false
// if o is already done.
func (b *batcher) abandon(ctx context.Context, o *op) bool {
	b.mu.Lock()
	was := o.state
	if was == stateDone {
		b.mu.Unlock()
		return false
	}
	o.state, o.retained = stateAbandoned, true
	o.answer = answer{err: ctx.Err(), outcomeKnown: was != stateSent && o.outcomeKnown}
	if was == stateSent {
		if b.abandoned == nil {
			b.abandoned = make(map[string]int)
		}
		b.abandoned[o.owner]++
	}
	b.mu.Unlock()
	if was == stateRunner {
		b.finishBatch(0) // another caller must send the queued operations
	}
	return true
}

// forget is called when an operation that was abandoned in flight has ended. The caller
// has the mutex.
func (b *batcher) forget(o *op) {
	if b.abandoned[o.owner]--; b.abandoned[o.owner] == 0 {
		delete(b.abandoned, o.owner)
	}
}

// dropAbandoned removes the abandoned operations from a batch that is not sent any more.
func (b *batcher) dropAbandoned(batch []*op) []*op {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(batch, func(o *op) bool {
		if o.state == stateAbandoned {
			b.forget(o)
		}
		return o.state == stateAbandoned
	})
}

// failQueued ends the queued operations with an error, because the server has not answered
// for so long that an answer is not to be expected.
func (b *batcher) failQueued() {
	b.mu.Lock()
	var failed []*op
	for _, o := range b.queue {
		if o.state == stateQueued && !b.mustFollow(o) {
			o.state = stateDone
			o.answer = answer{err: b.dispatcher.noAnswer(b.server), outcomeKnown: o.outcomeKnown}
			failed = append(failed, o)
		}
	}
	b.queue = slices.DeleteFunc(b.queue, func(o *op) bool { return o.state == stateDone })
	b.mu.Unlock()
	for _, o := range failed {
		o.events <- eventDone
	}
}
