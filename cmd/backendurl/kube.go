package backendurl

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/distlock-go/distlock/backend/casstores/kubelock"
)

// Kube is a client of an API server.
type Kube struct {
	*http.Client
	kubelock.Config
}

// connectKube makes a client with the credentials of a pod, if the host is a namespace and
// nothing follows. Else the host is a proxy that has credentials.
func connectKube(_ context.Context, u *hostURL) (*Backend, error) {
	if u.user != nil {
		return nil, invalid(errors.New("want no user: a pod has an account, and kubectl proxy uses yours"))
	}
	k := Kube{&http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}, kubelock.Config{Server: "http://" + u.servers[0], Namespace: u.name()}}
	if k.Namespace == "" {
		var err error
		namespace, _, _ := net.SplitHostPort(u.servers[0])
		if k.Client, k.Config, err = kubelock.InPod(); err != nil {
			return nil, err
		}
		k.Namespace, u.servers[0] = namespace, strings.TrimPrefix(k.Server, "https://")
	}
	tls := strings.HasPrefix(k.Server, "https")
	b := &Backend{Backend: kubelock.New(k.Client, k.Config), Client: k, Password: true, TLS: tls}
	b.end = func() error { k.CloseIdleConnections(); return nil }
	return b, nil
}
