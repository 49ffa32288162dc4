package riverlock_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	_ "modernc.org/sqlite"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/riverlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

type bill struct {
	Customer int `json:"customer"`
}

func (bill) Kind() string { return "bill" }

func customer(args json.RawMessage) (any, error) {
	var b bill
	err := json.Unmarshal(args, &b)
	return b.Customer, err
}

// TestExclusive: a client with four workers has jobs of two customers. Those of one never
// overlap, those of two do, and each job runs once.
func TestExclusive(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "db")+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	migrator, err := rivermigrate.New(riversqlite.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	var now, of [2]atomic.Int32
	both := make(chan bool, 2) // the first jobs of two customers meet
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[bill]) error {
		c := job.Args.Customer
		if n := now[c].Add(1); n != 1 {
			t.Errorf("%d jobs of one customer", n)
		}
		defer now[c].Add(-1)
		if of[c].Add(1) == 1 {
			both <- true
			testkit.Eventually(t, "the other customer's job", func() bool { return len(both) == 2 })
		}
		if lease, ok := distlock.FromContext(ctx); !ok || lease.Check() != nil {
			t.Error("no lease")
		}
		return nil
	}))
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	client, err := river.NewClient(riversqlite.New(db), &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}}, Workers: workers,
		Middleware: []rivertype.Middleware{riverlock.Exclusive(l, distlock.Opts{Prefix: "shop:", Value: "customer"}, customer)},
		Logger:     slog.New(slog.NewTextHandler(io.Discard, nil)), FetchPollInterval: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if _, err := client.Insert(ctx, bill{i % 2}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Start(ctx); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "all jobs", func() bool { return of[0].Load() == 3 && of[1].Load() == 3 })
	testkit.WantIs(t, client.Stop(context.WithoutCancel(ctx)))
}

// TestRefusals: a busy job is snoozed, and one without the store or with a bad key fails.
func TestRefusals(t *testing.T) {
	t.Parallel()
	store := testkit.NewStore()
	l := testkit.NewLocker(t, store, distlock.Config{})
	work := riverlock.Exclusive(l, distlock.Opts{Prefix: "shop:", Value: "customer"}, customer).(rivertype.WorkerMiddleware).Work
	run := func(ctx context.Context, args string, f func(context.Context) error) error {
		return work(ctx, &rivertype.JobRow{EncodedArgs: []byte(args)}, f)
	}
	never := func(context.Context) error { t.Error("it ran"); return nil }
	err := run(t.Context(), `{"customer":7}`, func(context.Context) error {
		err := run(t.Context(), `{"customer":7}`, never)
		if snoozed := new(rivertype.JobSnoozeError); !errors.As(err, &snoozed) || snoozed.Duration != time.Second {
			t.Errorf("busy: %v", err)
		}
		return distlock.ErrNotAcquired // the job's own
	})
	testkit.WantIs(t, err, distlock.ErrNotAcquired)
	if err := run(t.Context(), `x`, never); err == nil {
		t.Error("no customer, no error")
	}
	store.Fail(testkit.ErrBroken, testkit.Try)
	if err := run(t.Context(), `{"customer":7}`, never); !errors.Is(err, distlock.ErrUnavailable) {
		t.Errorf("no store: %v", err)
	}
}
