package kubetest

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
)

// binaryEnv is an environment variable with the path of kube-apiserver. lab/kube/build makes
// one.
const binaryEnv = "DISTLOCK_TEST_KUBE"

// Server is a real API server, with a namespace shop and the Role of the documentation for
// the token "shop".
type Server struct {
	child.Server
	dir   string
	admin *http.Client
}

// Start starts a server. Without a program in the environment variable, see [child.Need].
func Start(t *testing.T) *Server {
	t.Helper()
	path := os.Getenv(binaryEnv)
	if _, err := os.Stat(path); err != nil {
		child.Need(t, child.Missing("needs kube-apiserver, built by lab/kube/build, in "+binaryEnv, err))
	}
	etcd := etcdtest.Start(t, "--unsafe-no-fsync")
	s := &Server{dir: t.TempDir(), admin: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}} //nolint:gosec // it is ours
	t.Cleanup(s.admin.CloseIdleConnections)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "key", pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)))
	s.write(t, "tokens", []byte("admin,admin,1,\"system:masters\"\nshop,shop,2\nothers,others,3\n"))
	in := func(name string) string { return filepath.Join(s.dir, name) }
	s.Server = child.Server{
		Name: "kube-apiserver", Ports: make([]int, 1),
		Command: func() (*exec.Cmd, error) {
			return exec.Command(path, "--etcd-servers=http://"+etcd.Addr(), "--secure-port="+strconv.Itoa(s.Ports[0]), "--bind-address=127.0.0.1", "--cert-dir="+s.dir, //nolint:gosec // a test
				"--service-account-issuer=https://x", "--service-account-key-file="+in("key"), "--service-account-signing-key-file="+in("key"), "--token-auth-file="+in("tokens"),
				"--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount"), nil
		},
		Ready: func() bool { return s.try("GET", "/readyz", nil) == nil },
	}
	child.Run(t, s)
	s.Do(t, "POST", "/api/v1/namespaces", `{"metadata": {"name": "shop"}}`)
	rbac := "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/"
	s.Do(t, "POST", rbac+"roles", `{"metadata": {"name": "locks"}, "rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
		"verbs": ["get", "create", "patch", "list", "watch", "delete"]}]}`)
	s.Do(t, "POST", rbac+"rolebindings", `{"metadata": {"name": "locks"}, "subjects": [{"kind": "User", "name": "shop"}],
		"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "locks"}}`)
	return s
}

func (s *Server) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// try sends a request of the administrator.
func (s *Server) try(method, path string, body []byte) error {
	r, err := http.NewRequest(method, "https://"+s.Addr()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer admin")
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.admin.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	var answer any
	if _ = json.NewDecoder(resp.Body).Decode(&answer); resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %v", method, path, resp.Status, answer)
	}
	return nil
}

// Do sends a request of the administrator.
func (s *Server) Do(t *testing.T, method, path, body string) {
	t.Helper()
	if err := s.try(method, path, []byte(body)); err != nil {
		t.Fatal(err)
	}
}

// CA returns the certificate of the server.
func (s *Server) CA(t *testing.T) []byte {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(s.dir, "apiserver.crt"))
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
