package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// StartTLS is [Start] for a server that accepts only TLS and does not ask for client
// certificates. Its certificate is for 127.0.0.1, and expires at notAfter. Clients of
// the returned Server trust it.
func StartTLS(tb testing.TB, notAfter time.Time, args ...string) *Server {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(tb, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: notAfter,
	}
	certDER, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(tb, err)
	cert, err := x509.ParseCertificate(certDER)
	must(tb, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	must(tb, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	dir := tb.TempDir()
	file := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		must(tb, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	return launch(tb, &Server{tls: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, args: append([]string{
		"--tls-cert-file", file("cert.pem", "CERTIFICATE", certDER),
		"--tls-key-file", file("key.pem", "EC PRIVATE KEY", keyDER), "--tls-auth-clients", "no",
	}, args...)}, "")
}

// Trust returns the configuration of a client that trusts the server.
func (s *Server) Trust() *tls.Config { return s.tls.Clone() }
