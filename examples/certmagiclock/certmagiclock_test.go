package certmagiclock_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/examples/certmagiclock"
	"github.com/distlock-go/distlock/examples/jobkey"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const (
	lease  = 2 * time.Second
	name   = "*.example.com"
	prefix = "certmagic:"
)

func TestMain(m *testing.M) {
	certmagic.Default.Logger = zap.NewNop()
	testkit.BeChild(map[string]func(*testkit.Child) error{"order": beOrder})
	os.Exit(m.Run())
}

// issuer is a CA. before is called when a certificate is ordered.
type issuer struct {
	before func(ctx context.Context) error
	issued atomic.Int32
}

func (i *issuer) IssuerKey() string { return "test" }

func (i *issuer) Issue(ctx context.Context, request *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	if err := i.before(ctx); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(i.issued.Add(1))),
		DNSNames:     request.DNSNames, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, request.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &certmagic.IssuedCertificate{Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

// server is what a server has: a certmagic on a directory that the servers share.
type server struct {
	*certmagic.Config

	l       *distlock.Locker
	storage *certmagiclock.Storage
	ca      *issuer
	cache   *certmagic.Cache
}

func open(b driver.Backend, dir string, before func(context.Context) error) *server {
	s := &server{l: distlock.New(b, distlock.Config{}), ca: &issuer{before: before}}
	s.storage = certmagiclock.Wrap(&certmagic.FileStorage{Path: dir}, s.l, distlock.Opts{Prefix: prefix, KeyTimeout: lease})
	s.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return s.Config, nil },
		Logger:           zap.NewNop(),
	})
	s.Config = certmagic.New(s.cache, certmagic.Config{Storage: s.storage, Issuers: []certmagic.Issuer{s.ca}, Logger: zap.NewNop()})
	return s
}

func mustOpen(t *testing.T, b driver.Backend, dir string, before func(context.Context) error) *server {
	t.Helper()
	s := open(b, dir, before)
	t.Cleanup(func() {
		s.cache.Stop()
		if err := s.l.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// waiting reports whether somebody waits for the lock of the certificate.
func (s *server) waiting() bool {
	found, err := admin.Inspect(context.Background(), s.l, prefix, 1)
	return err == nil && len(found) == 1 && found[0].Waiting == 1
}

// mustHave loads the certificate from the storage.
func (s *server) mustHave(t *testing.T) {
	t.Helper()
	if c, err := s.CacheManagedCertificate(t.Context(), name); err != nil || c.Names[0] != name {
		t.Errorf("the certificate of %v: %v", c.Names, err)
	}
}

func never(context.Context) error { return errors.New("it is ordered twice") }

// TestOnce obtains a certificate on two servers. The second one begins while the first one
// waits for the CA, and loads what the first one got.
func TestOnce(t *testing.T) {
	t.Parallel()
	store, dir := memlock.New(), t.TempDir()
	ordered, goOn := make(chan bool), make(chan bool)
	first := mustOpen(t, store, dir, func(context.Context) error { ordered <- true; <-goOn; return nil })
	second := mustOpen(t, store, dir, never)
	done := make(chan error, 2)
	go func() { done <- first.ObtainCertSync(t.Context(), name) }()
	<-ordered
	go func() { done <- second.ObtainCertSync(t.Context(), name) }()
	child.Await(t, "the second one waits", second.waiting)
	close(goOn)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	second.mustHave(t)
	if n := first.ca.issued.Load(); n != 1 {
		t.Errorf("%d certificates", n)
	}
}

// TestLoss: a server whose order failed has lost its lock when it tries again, and another one
// has the certificate by then.
func TestLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, dir := memlock.New(), t.TempDir()
		orders := 0
		first := mustOpen(t, store, dir, func(context.Context) error { orders++; return errors.New("try again later") })
		second := mustOpen(t, store, dir, func(context.Context) error { time.Sleep(10 * time.Minute); return nil })
		done := make(chan error, 1)
		go func() { done <- first.ObtainCertAsync(t.Context(), name) }()
		time.Sleep(time.Second)
		key := prefix + jobkey.Of("issue_cert_"+name)
		if held, err := admin.ForceRelease(t.Context(), second.l, key); !held || err != nil {
			t.Fatal(held, err)
		}
		if err := second.ObtainCertSync(t.Context(), name); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil || orders != 1 {
			t.Errorf("%d orders, %v", orders, err)
		}
		first.mustHave(t)
		if left, err := admin.Inspect(t.Context(), first.l, prefix, 1); len(left) > 0 || err != nil {
			t.Error("left:", left, err)
		}
	})
}

// TestTryLock: a lock that another server has is neither waited for nor an error.
func TestTryLock(t *testing.T) {
	t.Parallel()
	store, dir := memlock.New(), t.TempDir()
	first, second := mustOpen(t, store, dir, never).storage, mustOpen(t, store, dir, never).storage
	if ok, err := first.TryLock(t.Context(), name); !ok || err != nil {
		t.Error("free:", ok, err)
	}
	if ok, err := second.TryLock(t.Context(), name); ok || err != nil {
		t.Error("held:", ok, err)
	}
	if err := second.Unlock(t.Context(), name); err == nil {
		t.Error("a server releases the lock of another")
	}
	if err := first.Unlock(t.Context(), name); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if ok, err := second.TryLock(ended, name); ok || !errors.Is(err, context.Canceled) {
		t.Error("ended:", ok, err)
	}
}

// TestKilled kills a server that waits for its CA. The next one, which waits for it, orders
// the certificate when the lease is over.
func TestKilled(t *testing.T) {
	t.Parallel()
	redisServer, dir := redistest.Start(t), t.TempDir()
	killed := testkit.StartChild(t, "order", order{redisServer.Addr(), dir})
	killed.Hear("ordered")
	next := mustOpen(t, redislock.New(redisServer.Client(t), redislock.Config{}), dir, func(context.Context) error { return nil })
	done := make(chan error, 1)
	go func() { done <- next.ObtainCertSync(t.Context(), name) }()
	child.Await(t, "the next server waits", next.waiting)
	if next.ca.issued.Load() != 0 {
		t.Error("both have ordered it")
	}
	killed.Kill()
	before := time.Now()
	err := <-done
	waited := time.Since(before)
	t.Logf("killed: the next server had the certificate after %v, with a lease of %v", waited, lease)
	if n := next.ca.issued.Load(); err != nil || n != 1 || waited > lease+testkit.Patience {
		t.Errorf("%d certificates after %v: %v", n, waited, err)
	}
	next.mustHave(t)
}

// order is what a child process gets.
type order struct{ Redis, Dir string }

// beOrder is a server that gets no answer of its CA.
func beOrder(c *testkit.Child) error {
	var o order
	if err := c.Decode(&o); err != nil {
		return err
	}
	s := open(redislock.New(redis.NewClient(&redis.Options{Addr: o.Redis}), redislock.Config{}), o.Dir, func(ctx context.Context) error {
		c.Say("ordered")
		<-ctx.Done()
		return ctx.Err()
	})
	return s.ObtainCertSync(context.Background(), name)
}
