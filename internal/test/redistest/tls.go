package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a certificate authority for servers.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns a new authority.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := new(Authority)
	a.cert, a.key = a.issue(tb, &x509.Certificate{
		Subject: pkix.Name{CommonName: "an authority for tests"}, IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// Trust returns the configuration of a client that trusts the authority.
func (a *Authority) Trust() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// StartTLS is [Start] for a server that accepts only TLS and does not ask for client
// certificates. Its certificate is for 127.0.0.1 and expires at notAfter. Clients of
// the returned Server trust the authority.
func (a *Authority) StartTLS(tb testing.TB, notAfter time.Time, args ...string) *Server {
	tb.Helper()
	cert, key := a.issue(tb, &x509.Certificate{
		Subject: pkix.Name{CommonName: "redis-server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: notAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	der, err := x509.MarshalECPrivateKey(key)
	must(tb, err)
	dir := tb.TempDir()
	file := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		must(tb, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	return launch(tb, &Server{tls: a.Trust(), args: append([]string{
		"--tls-ca-cert-file", file("ca.pem", "CERTIFICATE", a.cert.Raw),
		"--tls-cert-file", file("cert.pem", "CERTIFICATE", cert.Raw),
		"--tls-key-file", file("key.pem", "EC PRIVATE KEY", der), "--tls-auth-clients", "no",
	}, args...)}, "")
}

// issue returns a key and a certificate for it that became valid an hour ago.
func (a *Authority) issue(tb testing.TB, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(tb, err)
	template.SerialNumber, template.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key // self-signed
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	must(tb, err)
	cert, err := x509.ParseCertificate(der)
	must(tb, err)
	return cert, key
}
