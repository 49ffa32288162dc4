// Package kubetest has API servers of Kubernetes for tests: a double in memory, and
// kube-apiserver. Only tests import it.
package kubetest

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Double is an API server, as far as package kubelock uses one. It answers as
// kube-apiserver 1.36 does, which passes the same tests.
type Double struct {
	conns chan net.Conn // that the server has not accepted yet
	ended chan struct{}

	mu      sync.Mutex
	last    int // resourceVersion
	objects map[string]Lease
	events  []event
	changed chan struct{}
	cut     chan struct{}  // closed when all watches end
	counts  map[string]int // requests, by verb

	// What fails. Set them before the first request.
	Denied string // a verb
	Busy   bool   // requests are refused with 429
	Proxy  bool   // every path is unknown

	Latency time.Duration // of each request but a watch
}

// Lease is an object.
type Lease = map[string]any

type event struct {
	Type   string `json:"type"`
	Object Lease  `json:"object"`
	name   string
}

// NewDouble starts a server with the namespace shop. It ends with the test.
func NewDouble(t *testing.T) *Double {
	d := &Double{conns: make(chan net.Conn), ended: make(chan struct{}), objects: make(map[string]Lease), changed: make(chan struct{}), cut: make(chan struct{}), counts: make(map[string]int)}
	s := http.Server{Handler: d, ReadHeaderTimeout: time.Minute}
	go s.Serve(d) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = s.Close() })
	return d
}

// Dial opens a connection in memory, as Accept, Close and Addr do for the server.
func (d *Double) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case d.conns <- server:
		return client, nil
	case <-d.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (d *Double) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (d *Double) Close() error { close(d.ended); return nil }

// Addr implements net.Listener.
func (*Double) Addr() net.Addr { return &net.UnixAddr{Name: "double"} }

func meta(o Lease) map[string]any { return o["metadata"].(map[string]any) }

// Put stores an object, or removes it.
func (d *Double) Put(kind string, o Lease) {
	d.last++
	name := meta(o)["name"].(string)
	m := maps.Clone(meta(o))
	m["resourceVersion"] = strconv.Itoa(d.last)
	m["managedFields"] = []any{map[string]any{"time": time.Now().Format(time.RFC3339)}}
	o = Lease{"kind": "Lease", "metadata": m}
	if d.objects[name] = o; kind == "DELETED" {
		delete(d.objects, name)
	}
	d.events = append(d.events, event{kind, o, name})
	close(d.changed)
	d.changed = make(chan struct{})
}

func keyOf(o Lease) string {
	annotations, _ := meta(o)["annotations"].(map[string]any)
	key, _ := annotations["distlock/key"].(string)
	return key
}

// Drop deletes the object of a key, or the objects of messages, as an operator does.
func (d *Double) Drop(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.objects {
		if keyOf(o) == key {
			d.Put("DELETED", o)
		}
	}
}

// Keys returns the keys of all objects, "" for objects of messages.
func (d *Double) Keys() (keys []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.objects {
		keys = append(keys, keyOf(o))
	}
	return keys
}

// Count returns how many requests there were, by verb.
func (d *Double) Count() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.counts)
}

// Cut ends all watches.
func (d *Double) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.cut)
	d.cut = make(chan struct{})
}

// ServeHTTP implements http.Handler.
func (d *Double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _ := strings.CutPrefix(r.URL.Path, "/apis/coordination.k8s.io/v1/namespaces/shop/leases")
	name = strings.TrimPrefix(name, "/")
	verb := map[string]string{"POST": "create", "GET": "get", "PATCH": "patch", "DELETE": "delete"}[r.Method]
	switch {
	case r.URL.Path == "/version":
		answer(w, 200, "", Lease{"gitVersion": "v1.36.3"})
		return
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		verb, name = "review", ""
	case r.URL.Query().Has("watch"):
		verb = "watch"
	case r.Method == http.MethodGet && name == "":
		verb = "list"
	case r.Method == http.MethodPatch && r.Header.Get("Content-Type") != "application/merge-patch+json":
		verb = "unsupported"
	}
	var body Lease
	_ = json.NewDecoder(r.Body).Decode(&body)
	if d.Proxy {
		http.Error(w, "<html>", http.StatusNotFound)
		return
	}
	if verb != "watch" {
		time.Sleep(d.Latency)
	}
	d.mu.Lock()
	d.counts[verb]++
	if d.Busy {
		d.mu.Unlock()
		answer(w, 429, "TooManyRequests", nil)
		return
	}
	if verb == "watch" {
		d.mu.Unlock()
		d.watch(w, r)
		return
	}
	code, reason, o := d.carryOut(verb, name, body, r.URL.Query().Get("labelSelector"))
	d.mu.Unlock()
	answer(w, code, reason, o)
}

func answer(w http.ResponseWriter, code int, reason string, o Lease) {
	if reason != "" {
		o = Lease{"kind": "Status", "code": code, "reason": reason, "message": "the double says so"}
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o)
}

func (d *Double) carryOut(verb, name string, body Lease, selector string) (code int, reason string, o Lease) {
	o, found := d.objects[name]
	var version any
	switch {
	case verb == "review":
		asks := body["spec"].(map[string]any)["resourceAttributes"].(map[string]any)
		return 201, "", Lease{"status": map[string]any{"allowed": asks["verb"] != d.Denied}}
	case verb == "create":
		if _, found = d.objects[meta(body)["name"].(string)]; found {
			return 409, "AlreadyExists", nil
		}
		d.Put("ADDED", body)
		return 201, "", d.objects[meta(body)["name"].(string)]
	case verb == "list":
		label, value, exact := strings.Cut(selector, "=")
		items := []Lease{}
		for _, name := range slices.Sorted(maps.Keys(d.objects)) {
			labels, _ := meta(d.objects[name])["labels"].(map[string]any)
			if has, ok := labels[label]; ok && (!exact || has == value) {
				items = append(items, d.objects[name])
			}
		}
		return 200, "", Lease{"items": items, "metadata": map[string]any{"resourceVersion": strconv.Itoa(d.last)}}
	case !found:
		return 404, "NotFound", nil
	case verb == "get":
		return 200, "", o
	case verb == "patch":
		version = meta(body)["resourceVersion"]
	case verb == "delete":
		if p, ok := body["preconditions"].(map[string]any); ok {
			version = p["resourceVersion"]
		}
	default:
		return 415, "UnsupportedMediaType", nil
	}
	if version != nil && version != meta(o)["resourceVersion"] {
		return 409, "Conflict", nil
	}
	if verb == "delete" {
		d.Put("DELETED", o)
		return 200, "", Lease{"kind": "Status", "status": "Success"}
	}
	d.Put("MODIFIED", Lease{"metadata": merge(meta(o), meta(body))})
	return 200, "", d.objects[name]
}

// merge is a merge patch.
func merge(old, patch map[string]any) map[string]any {
	now := maps.Clone(old)
	for k, v := range patch {
		if m, ok := v.(map[string]any); ok {
			before, _ := old[k].(map[string]any)
			v = merge(before, m)
		}
		if now == nil {
			now = make(map[string]any)
		}
		if now[k] = v; v == nil {
			delete(now, k)
		}
	}
	return now
}

// watch sends what an object is, then its events.
func (d *Double) watch(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	name := strings.TrimPrefix(q.Get("fieldSelector"), "metadata.name=")
	seconds, _ := strconv.Atoi(q.Get("timeoutSeconds"))
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	d.mu.Lock()
	sent, cut := len(d.events), d.cut
	if o, found := d.objects[name]; found {
		_ = json.NewEncoder(w).Encode(event{Type: "ADDED", Object: o})
	}
	for {
		for _, e := range d.events[sent:] {
			if e.name == name {
				_ = json.NewEncoder(w).Encode(e)
			}
		}
		sent = len(d.events)
		changed := d.changed
		d.mu.Unlock()
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-cut:
			return
		case <-ctx.Done():
			return
		}
		d.mu.Lock()
	}
}
