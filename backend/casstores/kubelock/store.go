package kubelock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/driver"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
)

// object is what this package uses of a Lease. A version is a resourceVersion, which never
// comes again.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name            string            `json:"name"`
		ResourceVersion string            `json:"resourceVersion,omitempty"`
		Labels          map[string]string `json:"labels"`
		Annotations     map[string]string `json:"annotations"`
		ManagedFields   []struct {
			Time time.Time `json:"time"` // of the server, when the value changed
		} `json:"managedFields,omitempty"`
	} `json:"metadata"`
}

// What an object has.
const (
	label    = "distlock"         // its value is the first byte of the digest in the name
	keyOf    = "distlock/key"     // of a cell
	recordOf = "distlock/record"  // the value of a cell
	message  = "distlock/message" // the last one to a process
)

// newObject returns the object of a cell, or of the messages to a process.
func newObject(of, version string, annotations map[string]string) *object {
	sum := sha256.Sum256([]byte(of))
	digest := hex.EncodeToString(sum[:])
	o := &object{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	o.Metadata.Name, o.Metadata.ResourceVersion = "distlock-"+digest, version
	o.Metadata.Labels, o.Metadata.Annotations = map[string]string{label: digest[:2]}, annotations
	return o
}

// written returns when the object was written, by the clock of the server.
func (o *object) written() (last time.Time) {
	for _, f := range o.Metadata.ManagedFields {
		if f.Time.After(last) {
			last = f.Time
		}
	}
	return last
}

// store keeps each cell in an object.
type store struct {
	http *http.Client
	cfg  Config
}

// Check refuses an account that lacks a right. Without it, messages could be lost in silence.
func (s *store) Check(ctx context.Context) error {
	const review = `{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes":
		{"namespace": %q, "verb": %q, "group": "coordination.k8s.io", "resource": "leases"}}}`
	var missing []string
	for _, verb := range []string{"get", "create", "patch", "list", "watch", "delete"} {
		var answer struct{ Status struct{ Allowed bool } }
		asks := json.RawMessage(fmt.Sprintf(review, s.cfg.Namespace, verb))
		if err := s.do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asks, &answer); err != nil {
			return err
		}
		if !answer.Status.Allowed {
			missing = append(missing, verb)
		}
	}
	if missing != nil {
		return fmt.Errorf("the account may not %s leases: give it a Role", strings.Join(missing, ", "))
	}
	return nil
}

// Load implements caslock.Store. Without a resourceVersion, the answer is the newest.
func (s *store) Load(ctx context.Context, key string) ([]byte, string, error) {
	o := newObject(key, "", nil)
	err := s.do(ctx, http.MethodGet, s.leases("/"+o.Metadata.Name), nil, o)
	switch m := &o.Metadata; {
	case is(err, "NotFound"):
		return nil, "", nil
	case err == nil && (m.Annotations[keyOf] != key || m.Annotations[recordOf] == ""):
		return nil, "", fmt.Errorf("%w: Lease %s needs the annotations %s, which is %q, and %s", driver.ErrForeign, m.Name, keyOf, key, recordOf)
	default:
		return []byte(m.Annotations[recordOf]), m.ResourceVersion, err
	}
}

// Swap implements caslock.Store.
func (s *store) Swap(ctx context.Context, key, version string, value []byte) (string, error) {
	o := newObject(key, version, map[string]string{keyOf: key, recordOf: string(value)})
	method, path := http.MethodPost, s.leases("")
	if version != "" {
		method, path = http.MethodPatch, s.leases("/"+o.Metadata.Name)
	}
	err := s.do(ctx, method, path, o, o)
	switch {
	case is(err, "Conflict"), is(err, "AlreadyExists"), is(err, "NotFound") && version != "":
		return "", fmt.Errorf("%w: %w", caslock.ErrChanged, err)
	case err == nil && version == "" && rand.N(sweepOne) == 0:
		go s.sweep(o)
	}
	return o.Metadata.ResourceVersion, err
}

// each calls f for the objects that a query selects, until it returns false.
func (s *store) each(ctx context.Context, query string, f func(o *object) bool) error {
	var all struct{ Items []object }
	err := s.do(ctx, http.MethodGet, s.leases("?"+query), nil, &all)
	for i := range all.Items {
		if !f(&all.Items[i]) {
			break
		}
	}
	return err
}

// List implements caslock.Lister. It reads all cells of the namespace.
func (s *store) List(ctx context.Context, _ string, each func(key string, value []byte, version string) bool) error {
	return s.each(ctx, "labelSelector="+label, func(o *object) bool {
		key, cell := o.Metadata.Annotations[keyOf]
		return !cell || each(key, []byte(o.Metadata.Annotations[recordOf]), o.Metadata.ResourceVersion)
	})
}

const (
	sweepTimeout = 10 * time.Second
	keep         = 48 * time.Hour // an object that nobody writes
)

// sweepOne is how many creations have one sweep.
var sweepOne = 16 // tests change it

// sweep deletes old objects, after one was made: of those with the same label, one in 256.
func (s *store) sweep(made *object) {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout) //nolint:forbidigo // beside the caller
	defer cancel()
	// The answer may be old (resourceVersion=0): a deletion has a condition.
	_ = s.each(ctx, "resourceVersion=0&labelSelector="+label+"%3D"+made.Metadata.Labels[label], func(o *object) bool {
		if last := o.written(); last.IsZero() || made.written().Sub(last) < keep {
			return true
		}
		unchanged := map[string]any{"preconditions": map[string]string{"resourceVersion": o.Metadata.ResourceVersion}}
		err := s.do(ctx, http.MethodDelete, s.leases("/"+o.Metadata.Name), unchanged, new(any))
		return err == nil || is(err, "Conflict") || is(err, "NotFound")
	})
}
