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
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/examples/certmagiclock"
	"github.com/distlock-go/distlock/internal/test/adaptertest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const name = "*.example.com"

var adapter = adaptertest.Adapter{Name: "certmagic", Key: "app:*.example.com", Untold: true, Open: func(l *distlock.Locker, o distlock.Opts) adaptertest.Run {
	storage := certmagiclock.Wrap(&certmagic.FileStorage{}, l, o)
	return func(ctx context.Context, job adaptertest.Job) error {
		if err := storage.Lock(ctx, name); err != nil {
			return err
		}
		return errors.Join(job(ctx), storage.Unlock(ctx, name))
	}
}}

func TestMain(m *testing.M) {
	certmagic.Default.Logger = zap.NewNop()
	adaptertest.Main(m, adapter)
}

func TestAdapter(t *testing.T) { adaptertest.Test(t, adapter) }

// issuer is a CA.
type issuer func() error

func (i issuer) IssuerKey() string { return "test" }

func (i issuer) Issue(_ context.Context, request *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	if err := i(); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: request.DNSNames,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, request.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &certmagic.IssuedCertificate{Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

// open returns what a server has: a certmagic on a directory that the servers share.
func open(t *testing.T, b driver.Backend, dir string, ca issuer) (*certmagic.Config, *distlock.Locker) {
	t.Helper()
	l := testkit.NewLocker(t, b, distlock.Config{})
	var config *certmagic.Config
	cache := certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return config, nil },
		Logger:           zap.NewNop(),
	})
	t.Cleanup(cache.Stop)
	config = certmagic.New(cache, certmagic.Config{
		Storage: certmagiclock.Wrap(&certmagic.FileStorage{Path: dir}, l, distlock.Opts{Prefix: "certmagic:"}),
		Issuers: []certmagic.Issuer{ca}, Logger: zap.NewNop(),
	})
	return config, l
}

// TestOrder: a server whose order failed has lost its lock when it tries again. Another
// one, which waited until then, has the certificate, and the first one loads it.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, dir := memlock.New(), t.TempDir()
		orders := 0
		first, _ := open(t, store, dir, func() error { orders++; return errors.New("try again later") })
		second, l := open(t, store, dir, func() error { time.Sleep(10 * time.Minute); return nil })
		done := make(chan error, 2)
		go func() { done <- first.ObtainCertAsync(t.Context(), name) }()
		time.Sleep(time.Second)
		go func() { done <- second.ObtainCertSync(t.Context(), name) }()
		synctest.Wait()
		if held, err := admin.ForceRelease(t.Context(), l, "certmagic:issue_cert_"+name); !held || err != nil {
			t.Fatal(held, err)
		}
		if err := errors.Join(<-done, <-done); err != nil || orders != 1 {
			t.Errorf("%d orders, %v", orders, err)
		}
		if c, err := first.CacheManagedCertificate(t.Context(), name); err != nil || c.Names[0] != name {
			t.Errorf("the certificate of %v: %v", c.Names, err)
		}
		if left, err := admin.Inspect(t.Context(), l, "", 1); len(left) > 0 || err != nil {
			t.Error("left:", left, err)
		}
	})
}

// TestTryLock: a lock that another server has is neither waited for nor an error.
func TestTryLock(t *testing.T) {
	t.Parallel()
	store := memlock.New()
	first, _ := open(t, store, "", nil)
	second, _ := open(t, store, "", nil)
	one, two := first.Storage.(certmagic.TryLocker), second.Storage.(certmagic.TryLocker)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		by   certmagic.TryLocker
		ctx  context.Context
		ok   bool
		err  error
	}{{"free", one, t.Context(), true, nil}, {"held", two, t.Context(), false, nil}, {"ended", two, ended, false, context.Canceled}} {
		if ok, err := c.by.TryLock(c.ctx, name); ok != c.ok || !errors.Is(err, c.err) {
			t.Errorf("%s: %t, %v", c.name, ok, err)
		}
	}
	if err := second.Storage.Unlock(t.Context(), name); err == nil {
		t.Error("a server releases the lock of another")
	}
	testkit.WantIs(t, first.Storage.Unlock(t.Context(), name))
}
