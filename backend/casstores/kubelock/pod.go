package kubelock

import (
	"crypto/tls"
	"crypto/x509"
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
	ca, err := os.ReadFile(account + "ca.crt")
	if host == "" || err != nil {
		return nil, Config{}, fmt.Errorf("kubelock: this program is not in a pod with a service account: KUBERNETES_SERVICE_HOST is %q: %w", host, err)
	}
	namespace, err := os.ReadFile(account + "namespace")
	if err != nil {
		return nil, Config{}, fmt.Errorf("kubelock: %w", err)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	t.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca)
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second} // a dead connection ends a watch
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
