package kubetest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
	etcd  *etcdtest.Server
	admin *http.Client
}

// Start starts a server for a test. Without a program in the environment variable, see
// [child.Need].
func Start(t *testing.T) *Server {
	t.Helper()
	s, err := Launch(t.TempDir(), "--unsafe-no-fsync")
	child.Need(t, err)
	t.Cleanup(s.Kill)
	return s
}

// Launch is [Start] for a server that the caller has to kill, and whose etcd has these
// arguments.
func Launch(dir string, args ...string) (s *Server, err error) {
	path := os.Getenv(binaryEnv)
	if _, err := os.Stat(path); err != nil {
		return nil, child.Missing("needs kube-apiserver, built by lab/kube/build, in "+binaryEnv, err)
	}
	s = &Server{dir: dir, admin: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}} //nolint:gosec // it is ours
	defer func() {
		if err != nil {
			s.Kill()
		}
	}()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(s.dir, name) }
	err = errors.Join(
		os.WriteFile(in("key"), pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), 0o600),
		os.WriteFile(in("tokens"), []byte("admin,admin,1,\"system:masters\"\nshop,shop,2\nothers,others,3\n"), 0o600),
	)
	if err != nil {
		return nil, err
	}
	if s.etcd, err = etcdtest.Launch(dir, args...); err != nil {
		return nil, err
	}
	s.Server = child.Server{
		Name: "kube-apiserver", Ports: make([]int, 1),
		Command: func() (*exec.Cmd, error) {
			return exec.Command(path, "--etcd-servers=http://"+s.etcd.Addr(), "--secure-port="+strconv.Itoa(s.Ports[0]), "--bind-address=127.0.0.1", "--cert-dir="+s.dir, //nolint:gosec // a test
				"--service-account-issuer=https://x", "--service-account-key-file="+in("key"), "--service-account-signing-key-file="+in("key"), "--token-auth-file="+in("tokens"),
				"--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount"), nil
		},
		Ready: func() bool { return s.try("GET", "/readyz", "") == nil },
	}
	if err := child.Launch(s); err != nil {
		return nil, err
	}
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/"
	return s, errors.Join(
		s.try("POST", "/api/v1/namespaces", `{"metadata": {"name": "shop"}}`),
		s.try("POST", rbac+"roles", `{"metadata": {"name": "locks"}, "rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
			"verbs": ["get", "create", "patch", "list", "watch", "delete"]}]}`),
		s.try("POST", rbac+"rolebindings", `{"metadata": {"name": "locks"}, "subjects": [{"kind": "User", "name": "shop"}],
			"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "locks"}}`),
	)
}

// Kill kills the server and its etcd.
func (s *Server) Kill() {
	s.Server.Kill()
	if s.etcd != nil {
		s.etcd.Kill()
	}
	s.admin.CloseIdleConnections()
}

// try sends a request of the administrator.
func (s *Server) try(method, path, body string) error {
	r, err := http.NewRequest(method, "https://"+s.Addr()+path, strings.NewReader(body))
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
	if err := s.try(method, path, body); err != nil {
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
