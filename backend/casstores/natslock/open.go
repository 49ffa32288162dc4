// Package natslock is a lock backend in NATS JetStream. Locks are in a key-value bucket, and
// waiters in a stream beside it. The server must be 2.11 or later.
//
//	nc, err := nats.Connect("nats://localhost:4222")
//	...
//	locker := distlock.New(natslock.New(nc, natslock.Config{Replicas: 3}), distlock.Config{})
//
// A lock survives what the bucket survives. With three replicas that is the loss of one
// server. A server writes to disk every two minutes by default, so servers that lose power
// together lose locks: set sync_interval: always on each server. A client cannot see that.
package natslock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/driver"
)

// Config configures a backend. The zero value is the default.
type Config struct {
	// Bucket is the name of the key-value bucket. The first use makes it if there is none. The
	// default is "distlock".
	Bucket string

	// Replicas is how many servers keep the locks: 1, 3 or 5. A bucket that has another number
	// is refused. With 0, any bucket is taken, and a new one has as many as Replicas of the
	// default, 1.
	Replicas int

	// Memory allows a bucket that is kept in memory, whose locks are lost with the server.
	Memory bool
}

// maxTTL is the longest lease. The bucket forgets a key that was not used for twice as long.
const maxTTL = 24 * time.Hour

// New returns a backend on nc, which stays the caller's, and must stay open until the Locker
// is closed. It sends nothing: a bucket that cannot keep locks is refused at the first use.
// New panics if a field of cfg is wrong.
func New(nc *nats.Conn, cfg Config) driver.Backend {
	cfg.Bucket = cmp.Or(cfg.Bucket, "distlock")
	if !regexp.MustCompile(`^[a-zA-Z0-9_-]+$`).MatchString(cfg.Bucket) {
		panic(fmt.Sprintf("natslock: Config.Bucket is %q; it has letters, digits, _ and - only", cfg.Bucket))
	}
	if cfg.Replicas < 0 || cfg.Replicas > 5 {
		panic(fmt.Sprintf("natslock: Config.Replicas is %d; a stream has 1 to 5", cfg.Replicas))
	}
	js, err := jetstream.New(nc)
	if err != nil {
		panic("natslock: " + err.Error()) // without options there is no error
	}
	return caslock.New(&store{nc: nc, js: js, cfg: cfg}, caslock.Config{MaxTTL: maxTTL})
}

// Check implements caslock.Checker. It makes the streams if need be, and refuses those that
// cannot keep locks.
func (s *store) Check(ctx context.Context) error {
	storage := jetstream.FileStorage
	if s.cfg.Memory {
		storage = jetstream.MemoryStorage
	}
	// Not CreateKeyValue: that allows reads from replicas, which may lag.
	cells, err := s.stream(ctx, jetstream.StreamConfig{
		Name: "KV_" + s.cfg.Bucket, Subjects: []string{"$KV." + s.cfg.Bucket + ".>"}, Replicas: max(1, s.cfg.Replicas), Storage: storage,
		MaxMsgsPerSubject: 1, AllowRollup: true, Discard: jetstream.DiscardNew, MaxAge: 2 * maxTTL,
		FirstSeq: uint64(time.Now().UnixMicro()), // no number of a bucket that was deleted comes again
	})
	if err != nil {
		return err
	}
	cfg := cells.CachedInfo().Config
	if problem := s.unfit(&cfg); problem != "" {
		return fmt.Errorf("bucket %q cannot keep locks: %s", s.cfg.Bucket, problem)
	}
	s.cells = cells
	s.waiters, err = s.queue(ctx)
	return err
}

// queue returns the stream of the waiters.
func (s *store) queue(ctx context.Context) (jetstream.Stream, error) {
	return s.stream(ctx, jetstream.StreamConfig{
		Name: "DISTLOCK_WAIT_" + s.cfg.Bucket, Subjects: []string{"distlock.wait." + s.cfg.Bucket + ".>"}, Replicas: s.cells.CachedInfo().Config.Replicas, Storage: jetstream.MemoryStorage,
		MaxMsgsPerSubject: 1, MaxAge: time.Hour,
	})
}

// stream returns a stream, which it makes if there is none.
func (s *store) stream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	found, err := read(ctx, s, func(ctx context.Context) (jetstream.Stream, error) {
		found, err := s.js.Stream(ctx, cfg.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return s.js.CreateStream(ctx, cfg)
		}
		return found, err
	})
	if err != nil {
		return nil, fmt.Errorf("JetStream: stream %s: %w", cfg.Name, err)
	}
	return found, nil
}

// unfit says why a stream cannot keep locks, or returns "".
func (s *store) unfit(cfg *jetstream.StreamConfig) string {
	switch {
	case cfg.Storage == jetstream.MemoryStorage && !s.cfg.Memory:
		return "it is kept in memory, and Config.Memory is not set"
	case s.cfg.Replicas != 0 && cfg.Replicas != s.cfg.Replicas:
		return fmt.Sprintf("it has %d replicas, and Config.Replicas is %d", cfg.Replicas, s.cfg.Replicas)
	case cfg.MaxMsgsPerSubject != 1:
		return fmt.Sprintf("its history is %d; it must be 1", cfg.MaxMsgsPerSubject)
	case (cfg.AllowDirect || cfg.MirrorDirect) && cfg.Replicas > 1:
		return "it allows direct reads, which a replica that lags may answer (allow_direct); nats kv add sets this"
	case cfg.Discard != jetstream.DiscardNew && (cfg.MaxBytes > 0 || cfg.MaxMsgs > 0):
		return "it throws old keys away when it is full (discard: old)"
	case cfg.MaxAge > 0 && cfg.MaxAge < 2*maxTTL:
		return fmt.Sprintf("it forgets keys after %v, and a lease needs %v", cfg.MaxAge, 2*maxTTL)
	case cfg.Mirror != nil || len(cfg.Sources) > 0:
		return "it is a copy of another stream"
	case cfg.Retention != jetstream.LimitsPolicy || cfg.NoAck || cfg.DiscardNewPerSubject || cfg.SubjectTransform != nil || cfg.PersistMode == jetstream.AsyncPersistMode:
		return "it does not keep what it acknowledges: its retention must be limits, without no_ack, discard_new_per_subject, subject_transform and persist_mode: async"
	}
	return ""
}
