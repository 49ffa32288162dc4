package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// slice is the result of one peer in one turn of a scenario.
type slice struct {
	round      int // from 0; it has several turns if the scenario is split
	locks      int64
	elapsed    time.Duration
	finished   bool
	problems   map[string]bool
	errors     int
	waits      histogram
	full       spread // of the last orders, while all goroutines were waiting
	overtaken  overtaken
	handOvers  histogram
	shares     []int64 // of the last orders
	held, span time.Duration
	server     counters // of Redis
	overlaps   int64
	backwards  int64
}

func (s *slice) add(r result) {
	s.locks += r.Locks
	s.elapsed += r.elapsed
	s.errors += r.Errors
	s.waits.merge(r.Waits)
	s.full = r.Full
	s.handOvers.merge(r.HandOvers)
	s.shares = r.shares
	s.held += r.held
	s.span += r.span
	s.finished = r.Finished
	for p := range r.problems {
		s.problems[p] = true
	}
}

// overtime is how long the last lock of a goroutine may take after its time is up.
const overtime = 5 * time.Second

// maxSamples limits how many waits a child records for one order.
const maxSamples = 4_000_000

// slice lets a new crew do the scenario's work once, for about the time d.
func (b *bench) slice(ctx context.Context, s *scenario, peer string, turn int, d time.Duration) (*slice, error) {
	procs := s.shape.procs
	if peer == "ping" || peer == "pipeline" {
		procs = 1
	}
	url, client := b.cfg.url(s.store), b.client
	switch {
	case s.store != inRedis:
		client = nil
	case s.replicated:
		c, stop, err := startReplicated(ctx)
		if err != nil {
			return nil, err
		}
		defer stop()
		url, client = "redis://"+c.Options().Addr, c
	}
	t := task{
		Peer: peer, URL: url,
		// Not the name of the peer: keys are as long for each.
		Key:     fmt.Sprintf("%s:%s:%d:%d", b.prefix, s.id, slices.Index(s.field, peer), turn),
		OwnKeys: s.shape.ownKeys, NewKeys: s.shape.newKeys, Hold: s.shape.hold,
		Procs: procs, Goroutines: s.shape.goroutines / s.shape.procs,
	}
	if peer == ours {
		t.Profile = b.cfg.profile
	}
	c, err := b.crew(ctx, t)
	if err != nil {
		return nil, err
	}
	out := &slice{problems: make(map[string]bool)}
	defer func() { b.dismiss(c, out.finished) }()

	before, err := readServer(ctx, s, client)
	if err != nil {
		return nil, err
	}
	o := order{Loops: s.shape.loops, For: d, Limit: b.cfg.patience}
	if o.Loops == 0 {
		o.Limit = d + min(o.Limit, overtime)
	}
	for {
		r, err := c.do(ctx, o)
		if err != nil {
			return nil, err
		}
		out.add(r)
		left := d - out.elapsed
		enough := left < r.elapsed
		if s.shape.total > 0 {
			enough = out.locks >= s.shape.total
		}
		if o.Loops == 0 || !r.Finished || enough {
			break
		}
		if s.shape.grow {
			more := int64(o.Loops) * int64(left) / int64(r.elapsed)
			o.Loops = int(min(more, int64(maxSamples/s.shape.goroutines)))
		}
	}
	if s.shape.order && peer == ours && out.finished {
		// Use a separate order, because recording the order of arrivals costs time.
		o.Order, o.Loops = true, max(o.Loops/4, 1)
		r, err := c.do(ctx, o)
		if err != nil {
			return nil, err
		}
		out.overtaken = r.Overtaken
	}
	after, err := readServer(ctx, s, client)
	if err != nil {
		return nil, err
	}
	out.server = after.since(before)
	if c.register != nil {
		out.overlaps, out.backwards = c.register.violations()
	}
	return out, nil
}

// crew returns the processes for a task: new ones, or the JVMs of the scenario, which have
// been given the key of the first turn.
func (b *bench) crew(ctx context.Context, t task) (*crew, error) {
	if c := b.jvms[t.Peer]; c != nil {
		return c, nil
	}
	c, err := hire(ctx, t)
	if err == nil && isJava(t.Peer) {
		b.jvms[t.Peer] = c
	}
	return c, err
}

// dismiss ends the processes, unless they are JVMs that can do more.
func (b *bench) dismiss(c *crew, done bool) {
	if b.jvms[c.task.Peer] == c {
		if done {
			return
		}
		delete(b.jvms, c.task.Peer)
	}
	c.dismiss()
}

// settleTime is how long a server gets to remove what has expired, and to add up the
// memory of all its connections, which takes it a second.
const settleTime = time.Second

// readServer reads the counters of the scenario's Redis. Without one, all are zero.
func readServer(ctx context.Context, s *scenario, c *redis.Client) (counters, error) {
	if c == nil {
		return counters{}, nil
	}
	if s.shape.newKeys {
		time.Sleep(settleTime)
	}
	return readCounters(ctx, c)
}
