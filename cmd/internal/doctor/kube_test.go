package doctor_test

import (
	"net/http/httptest"
	"testing"

	"github.com/distlock-go/distlock/internal/test/kubetest"
)

// As through kubectl proxy. Then the account lacks a right. No service of AWS answers either.
func TestKube(t *testing.T) {
	d := kubetest.NewDouble(t)
	s := httptest.NewServer(d)
	defer s.Close()
	r := examine(t, "kube://"+s.Listener.Addr().String()+"/shop", "")
	wantFindings(t, r)
	wantSeen(t, r, "version", "Kubernetes v1.36.3")
	wantSeen(t, r, "wake-up", "median")
	d.Denied = "watch"
	r = examine(t, "kube://"+s.Listener.Addr().String()+"/shop", "")
	wantFindings(t, r, "fault ping")
	wantSeen(t, r, "ping", "may not watch leases")
	s.Close()
	wantRefused(t, "kube://"+s.Listener.Addr().String()+"/shop", "refused")
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	wantRefused(t, "s3://us-east-1/locks?endpoint="+s.URL, "refused")
}
