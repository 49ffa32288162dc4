package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// bench is one run of the benchmark.
type bench struct {
	cfg      *config
	servers  *servers
	progress io.Writer

	jvm      crew // of the present scenario
	figures  []*figure
	verdicts []verdict
}

// turnsInRound is how many turns a peer has in a round. But with one key it has a single
// one: all goroutines have to come to wait first.
const turnsInRound = 4

// slowFactor is how many times the total time of its turns a peer may use in a scenario
// before it gets no more turns.
const slowFactor = 2

// measure gives each peer its turns, and judges the results.
func (b *bench) measure(ctx context.Context, s *scenario) error {
	inRound, rounds := turnsInRound, b.cfg.rounds
	if s.orders() || s.bulk || s.hold > 0 {
		inRound = 1
	}
	if s.once {
		rounds = 1
	}
	prefix := "distlock-peers:" + uuid.NewString()[:8] + ":" + s.id
	defer func() {
		b.jvm.dismiss()
		b.jvm = nil
	}()
	of := make(map[string]*figure)
	for _, name := range s.field {
		of[name] = &figure{scenario: s, peer: name}
		b.figures = append(b.figures, of[name])
	}
	if s.open {
		t, err := b.turn(ctx, &scenario{procs: 1, goroutines: s.goroutines, ownKeys: true}, bare, prefix, b.cfg.slice)
		if err != nil {
			return err
		}
		s.rate = rate(t) / 2
	}
	first := 0
	if s.heat {
		first = -rounds * inRound
	}
	for n := first; n < rounds*inRound; n++ {
		for i := range s.field {
			at := (i + n - first) % len(s.field)
			f := of[s.field[at]]
			if f.stopped || f.spent > slowFactor*b.cfg.slice*time.Duration(b.cfg.rounds) {
				continue
			}
			began := time.Now()
			// Not the name of the peer: keys are as long for each.
			t, err := b.turn(ctx, s, f.peer, fmt.Sprintf("%s:%d:%d", prefix, at, n), b.cfg.slice/time.Duration(inRound))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if n < 0 && err == nil {
				continue
			}
			f.spent += time.Since(began)
			f.add(max(n, 0)/inRound, t, err)
		}
		if (n+1)%inRound == 0 && n >= 0 {
			_, _ = fmt.Fprintf(b.progress, "%-9s round %d of %d\n", s.id, n/inRound+1, rounds)
		}
	}
	for _, g := range s.goals {
		b.verdicts = append(b.verdicts, judge(s, g, of))
	}
	return nil
}

// overtime is how long the last lock of a goroutine may take after its time is up, and
// patience how long a peer may take to give one key to all goroutines once.
const (
	overtime = 10 * time.Second
	patience = time.Minute
)

// turn lets a new crew do the scenario's work once, for about the time d.
func (b *bench) turn(ctx context.Context, s *scenario, peer, key string, d time.Duration) (turn, error) {
	c, err := b.crew(ctx, s, peer, key)
	if err != nil {
		return turn{}, err
	}
	if peer != redisson {
		defer c.dismiss()
	}
	before := b.servers.cpu(ctx, s)
	sum := turn{Finished: true}
	o := order{Length: d, Limit: d + overtime}
	switch {
	case s.orders():
		o = order{Loops: 1, Limit: patience}
	case s.bulk:
		o.Limit = 3 * patience
	case s.open:
		o.Rate = s.rate
	}
	for {
		t, err := c.do(o)
		if err != nil {
			return sum, err
		}
		sum.then(t)
		left := d - sum.Elapsed
		if !s.orders() || !sum.Finished || left < t.Elapsed {
			break
		}
		o.Loops = max(int(int64(o.Loops)*int64(left)/int64(max(t.Elapsed, 1))), 1)
	}
	sum.Server = b.servers.cpu(ctx, s) - before
	return sum, nil
}

// crew returns the processes of a peer: new ones, or the JVM of the scenario, which uses the
// key of its first turn.
func (b *bench) crew(ctx context.Context, s *scenario, peer, key string) (c crew, err error) {
	if peer == redisson && b.jvm != nil {
		return b.jvm, nil
	}
	t := task{Peer: peer, URL: b.servers.urls[s.store], Key: key, OwnKeys: s.ownKeys, Turns: s.turns, Goroutines: s.goroutines, First: s.first, Hold: s.hold}
	procs := s.procs
	switch peer {
	case ours:
		t.Profile = b.cfg.profile
	case ping:
		procs = 1
	case pipeline:
		t.Goroutines = pipelineConns
	}
	c, err = hire(ctx, t, procs)
	if err == nil && peer == redisson {
		b.jvm = c
	}
	return c, err
}

// failed returns an error if our lock failed anywhere.
func (b *bench) failed() error {
	for _, f := range b.figures {
		if (f.peer == ours || f.peer == sharing) && len(f.problems) > 0 {
			return fmt.Errorf("%s: %s: %s", f.scenario.id, f.peer, strings.Join(slices.Sorted(slices.Values(f.problems)), "; "))
		}
	}
	return nil
}
