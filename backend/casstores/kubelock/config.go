// Package kubelock is a lock backend in the API server of Kubernetes. A lock is an annotation
// of a Lease object. It needs no client library: whoever has client-go writes
//
//	client, err := rest.HTTPClientFor(config)
//	...
//	backend := kubelock.New(client, kubelock.Config{Server: config.Host, Namespace: "shop"})
//
// and a program in a pod can use [InPod]. A lock survives what the API server's storage does,
// which is etcd with a majority, as a rule.
//
// It is for jobs and controllers, not for thousands of locks a second: an attempt, a renewal and
// a release are a write in etcd each. A process that waits has one watch, for all keys, on an
// object to which others write its messages. Beside it, it reads the key every two seconds on
// average, and more rarely if the server is slow. The first use asks whether the account has
// the rights that a Role gives it:
//
//	rules:
//	- apiGroups: [coordination.k8s.io]
//	  resources: [leases]
//	  verbs: [get, create, patch, list, watch, delete]
//
// A lease is at most 24 hours long. Objects that nobody has written for two days are deleted when
// new ones are made.
package kubelock

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/driver"
)

// Config configures a backend.
type Config struct {
	// Server is the URL of the API server: the Host of a rest.Config of client-go.
	Server string

	// Namespace is where the objects are. It must exist.
	Namespace string
}

// New returns a backend whose requests c sends. The client adds the credentials, and must not
// send a write again by itself. A connection that died without a word costs leases until a ping
// of HTTP/2 finds it: client-go sends one after HTTP2_READ_IDLE_TIMEOUT_SECONDS, an environment
// variable; 1 is good. New sends nothing: an account without the rights is refused at the first
// use. New panics if a field of cfg is wrong.
func New(c *http.Client, cfg Config) driver.Backend {
	u, err := url.Parse(cfg.Server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		panic(fmt.Sprintf("kubelock: Config.Server is %q; want a URL", cfg.Server))
	}
	if cfg.Namespace == "" {
		panic("kubelock: Config.Namespace is empty")
	}
	cfg.Server = strings.TrimSuffix(cfg.Server, "/")
	return caslock.New(&store{c, cfg}, caslock.Config{MaxTTL: keep / 2})
}
