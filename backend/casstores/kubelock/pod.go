package kubelock

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// account is where a pod finds the credentials of its service account.
var account = "/var/run/secrets/kubernetes.io/serviceaccount/" // tests change it

// InPod returns a client with the credentials of the service account of this pod, and a Config
// with the address of the API server and the pod's namespace. The token is read for each
// request, because it changes.
func InPod() (*http.Client, Config, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" {
		return nil, Config{}, errors.New("kubelock: this program is not in a pod: KUBERNETES_SERVICE_HOST is not set")
	}
	ca, err := os.ReadFile(account + "ca.crt")
	namespace, err2 := os.ReadFile(account + "namespace")
	if err = errors.Join(err, err2); err != nil {
		return nil, Config{}, fmt.Errorf("kubelock: the pod has no service account: %w", err)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	t.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca)
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: time.Second, PingTimeout: time.Second} // a dead connection costs no lease, and ends a watch
	return &http.Client{Transport: bearer{t}}, Config{Server: "https://" + net.JoinHostPort(host, port), Namespace: string(namespace)}, nil
}

// bearer adds the token to requests.
type bearer struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return b.Transport.RoundTrip(r)
}
