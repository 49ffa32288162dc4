package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// bench is one run of the benchmark.
type bench struct {
	cfg      *config
	client   *redis.Client // for questions to the server; nil if no scenario needs one
	prefix   string        // of all keys of this run
	progress io.Writer

	jvms     map[string]*crew // of the present scenario, by peer
	figures  []*figure
	verdicts []verdict
}

func newBench(cfg *config, progress io.Writer) (*bench, error) {
	b := &bench{cfg: cfg, progress: progress, prefix: "distlock-peers:" + uuid.NewString()[:8]}
	if cfg.redis != "" {
		o, err := redis.ParseURL(cfg.redis)
		if err != nil {
			return nil, err
		}
		b.client = redis.NewClient(o)
	}
	return b, nil
}

func (b *bench) close() {
	if b.client != nil {
		_ = b.client.Close()
	}
}

// run measures all scenarios and judges them.
func (b *bench) run(ctx context.Context) error {
	if b.client != nil {
		if err := b.client.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("the server does not answer: %w", err)
		}
	}
	for _, s := range b.cfg.scenarios() {
		if b.cfg.url(s.store) == "" || s.replicated && !b.cfg.replicated {
			continue
		}
		of, err := b.measure(ctx, &s)
		if err != nil {
			return err
		}
		for _, name := range s.field {
			if f, ok := of[name]; ok {
				b.figures = append(b.figures, f)
			}
		}
		b.verdicts = append(b.verdicts, judge(&s, of)...)
	}
	few, many := b.verdict("F8.64"), b.verdict("F8.1000")
	if few != nil && many != nil {
		b.verdicts = append(b.verdicts, judgeGrowth(*few, *many))
	}
	return nil
}

func (b *bench) verdict(id string) *verdict {
	i := slices.IndexFunc(b.verdicts, func(v verdict) bool { return v.ID == id })
	if i < 0 {
		return nil
	}
	return &b.verdicts[i]
}

// measure gives each peer a turn in each round, or several turns if the scenario is
// split, so that changes in the machine's speed affect all peers alike. Each round
// starts with another peer.
func (b *bench) measure(ctx context.Context, s *scenario) (map[string]*figure, error) {
	rounds, split := b.cfg.rounds, max(s.split, 1)
	if s.rounds > 0 {
		rounds = min(rounds, s.rounds)
	}
	turns, d := rounds*split, b.cfg.slice/time.Duration(split)

	b.jvms = make(map[string]*crew)
	defer func() {
		for _, c := range b.jvms {
			c.dismiss()
		}
	}()
	if s.heat {
		if err := b.heat(ctx, s); err != nil {
			return nil, err
		}
	}
	of := make(map[string]*figure)
	spent := make(map[string]time.Duration)
	for turn := range turns {
		for i := range s.field {
			name := s.field[(i+turn)%len(s.field)]
			f := of[name]
			if f == nil {
				f = &figure{scenario: s, peer: name}
				of[name] = f
			} else if !f.finished() || spent[name] > slowFactor*b.cfg.slice*time.Duration(b.cfg.rounds) {
				continue // its figure is final, or another turn takes too long
			}
			began := time.Now()
			sl, err := b.slice(ctx, s, name, turn, d)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				if name == ours {
					return nil, fmt.Errorf("%s: %w", s.id, err)
				}
				sl = &slice{elapsed: time.Since(began), problems: map[string]bool{err.Error(): true}}
			}
			sl.round = turn / split
			spent[name] += time.Since(began)
			f.slices = append(f.slices, sl)
			b.tell(s, name, turn, turns, sl)
		}
	}
	return of, nil
}

// heat lets each peer work for as long as it will be measured. A JVM interprets its
// code at first, and is three times as fast after it has compiled the code: that of
// ZooKeeper, and those of the peers in Java.
func (b *bench) heat(ctx context.Context, s *scenario) error {
	for turn := range b.cfg.rounds {
		for _, name := range s.field {
			_, err := b.slice(ctx, s, name, -1-turn, b.cfg.slice)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil && name == ours {
				return fmt.Errorf("%s: %w", s.id, err)
			}
		}
	}
	_, _ = fmt.Fprintf(b.progress, "%-7s the JVMs are warm\n", s.id)
	return nil
}

// slowFactor is how many times the total time of its turns a peer may use in a scenario
// before it gets no more turns.
const slowFactor = 2

func (b *bench) tell(s *scenario, peer string, turn, turns int, sl *slice) {
	state := ""
	if !sl.finished {
		state = ", did not finish"
	}
	_, _ = fmt.Fprintf(b.progress, "%-7s turn %d/%d  %-11s %s locks in %s%s\n",
		s.id, turn+1, turns, peer, count(float64(sl.locks)), sl.elapsed.Round(time.Millisecond), state)
}

// errViolated causes exit code 1.
var errViolated = errors.New("the lock was violated")

// violated returns an error if, in a scenario with one key, two callers held our lock
// or a token did not rise.
func (b *bench) violated() error {
	for _, f := range b.figures {
		if n := f.violations(); f.peer == ours && n > 0 {
			return fmt.Errorf("%s: %w: %d times", f.scenario.id, errViolated, n)
		}
	}
	return nil
}
