package proof_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	_ "modernc.org/sqlite"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var boundary = fence.Signed([]byte(strings.Repeat("s", 32)))

// warehouse takes no lock. It counts what holders of the key write, over HTTP and gRPC.
type warehouse struct {
	grpc_health_v1.UnimplementedHealthServer

	db   *sql.DB
	kind fence.Dialect
}

func (w *warehouse) write(ctx context.Context) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	ticket, _ := fence.FromContext(ctx, key)
	if err := w.kind.Check(ctx, tx, ticket); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE items SET n = n + 1"); err != nil {
		return err
	}
	return tx.Commit()
}

func (w *warehouse) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if err := w.write(r.Context()); err != nil {
		httpmw.WriteError(rw, r, err)
	}
}

func (w *warehouse) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{}, w.write(ctx)
}

// openWarehouse returns a warehouse, and its addresses.
func openWarehouse(t *testing.T, kind fence.Dialect, driver, dsn string) (*warehouse, *caller) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{kind.Schema(), "CREATE TABLE items (n int)", "INSERT INTO items VALUES (0)"} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	w := &warehouse{db: db, kind: kind}
	web := httptest.NewServer(httpmw.ReceiveTickets(boundary)(w))
	unary, _ := grpcmw.ReceiveTickets(boundary)
	srv := grpc.NewServer(grpc.UnaryInterceptor(unary))
	grpc_health_v1.RegisterHealthServer(srv, w)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Stop()
		web.Close()
		_ = db.Close()
	})
	return w, &caller{web.URL, l.Addr().String()}
}

// caller calls the warehouse in both ways, and returns the answers.
type caller struct{ HTTP, GRPC string }

// call has all calls wait in between, when they have passed the check of the lease.
func (c *caller) call(ctx context.Context, between func()) (web int, code codes.Code, err error) {
	var ready sync.WaitGroup
	ready.Add(2)
	gate := make(chan struct{})
	wait := func() { ready.Done(); <-gate }
	go func() { ready.Wait(); between(); close(gate) }()

	unary, _ := grpcmw.SendTickets(boundary)
	cc, err := grpc.NewClient("passthrough:///"+c.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithChainUnaryInterceptor(unary,
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			wait()
			return invoke(ctx, method, req, reply, cc, opts...)
		}))
	if err != nil {
		return 0, 0, err
	}
	defer cc.Close()
	answered := make(chan error, 1)
	go func() {
		_, err := grpc_health_v1.NewHealthClient(cc).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		answered <- err
	}()
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: httpmw.SendTickets(roundTrip(func(r *http.Request) (*http.Response, error) {
		wait()
		return transport.RoundTrip(r)
	}), boundary)}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.HTTP, http.NoBody)
	if err == nil {
		var resp *http.Response
		if resp, err = client.Do(r); err == nil {
			web, err = resp.StatusCode, resp.Body.Close()
		}
	}
	return web, status.Code(<-answered), err
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// callLate is a process that holds the key and ignores that its lease ends: it is stopped when
// its calls have passed the check of the lease, and before they are sent.
func callLate(t *task) error {
	lease, err := t.Acquire(context.Background(), key, distlock.Opts{KeyTimeout: t.Lease, Fencing: true})
	if err != nil {
		return err
	}
	c := &caller{t.Warehouse[0], t.Warehouse[1]}
	for _, between := range []func(){func() {}, func() { t.Say("sends"); t.Hear() }} {
		web, code, err := c.call(context.WithoutCancel(lease.Context()), between)
		if err != nil {
			return err
		}
		t.Say("answered", web, uint32(code))
	}
	if _, _, err := c.call(context.WithoutCancel(lease.Context()), func() {}); !errors.Is(err, distlock.ErrLost) {
		return err
	}
	t.Say("unsent")
	t.Hear()
	return nil
}

// A process with locks in Redis is stopped with SIGSTOP for longer than its lease, in front of
// its calls to a service with data in a database. Another holder calls meanwhile.
//
// Row 1 (redislock): the calls of the late one are refused by the data, over HTTP with 412 and
// over gRPC with FailedPrecondition, and its next one is not sent. Fails if Check of package
// fence accepts every token.
func TestStaleCaller(t *testing.T) {
	maria := sqltest.MariaDB.Shared(t)
	for _, d := range []struct {
		kind        fence.Dialect
		driver, dsn string
	}{
		{fence.Postgres, "pgx", sqltest.Postgres.NewDatabase(t)},
		{fence.MySQL, "mysql", maria.DSN(maria.NewDatabase(t))},
		{fence.SQLite, "sqlite", "file:" + filepath.Join(t.TempDir(), "w.db") + "?_pragma=busy_timeout(5000)"},
	} {
		t.Run(d.driver, func(t *testing.T) {
			eachStore(t, func(t *testing.T, s *store) {
				const lease = time.Second
				w, c := openWarehouse(t, d.kind, d.driver, d.dsn)
				p := testkit.StartChild(t, roleCaller, order{Store: s.dying(lease), Lease: lease, Warehouse: []string{c.HTTP, c.GRPC}})
				var web int
				var code codes.Code
				if p.Hear("answered", &web, &code); web != http.StatusOK || code != codes.OK {
					t.Errorf("the only holder: %d, %v", web, code)
				}
				p.Hear("sends")
				p.Stop()
				held := testkit.MustAcquire(t, s.locker(t), key, distlock.Opts{})
				web, code, err := c.call(held.Context(), func() {})
				if err != nil || web != http.StatusOK || code != codes.OK {
					t.Errorf("the next holder: %d, %v, %v", web, code, err)
				}
				p.Cont()
				p.Tell("go on")
				if p.Hear("answered", &web, &code); web != http.StatusPreconditionFailed || code != codes.FailedPrecondition {
					t.Errorf("the late holder: %d, %v", web, code)
				}
				p.Hear("unsent")
				p.Tell("end")
				mustRelease(t, held)
				var n int
				if err := w.db.QueryRowContext(t.Context(), "SELECT n FROM items").Scan(&n); err != nil || n != 4 {
					t.Errorf("%d writes, want 4, two of each holder: %v", n, err)
				}
			}, "redislock")
		})
	}
}
