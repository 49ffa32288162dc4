package doctor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/cmd/internal/doctor"
	"github.com/distlock-go/distlock/internal/test/child"
)

// patience is for an examination on a busy machine.
const patience = time.Minute

// examine returns the report about a store.
func examine(t *testing.T, rawURL, prefix string) *doctor.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := doctor.Examine(ctx, rawURL, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// opened takes a lock in a store, which creates the tables. It returns the URL.
func opened(t *testing.T, rawURL string) string {
	t.Helper()
	b, err := backendurl.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l := distlock.New(b.Backend, distlock.Config{})
	if err := l.Do(t.Context(), "k", distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	return rawURL
}

// isTime reports whether a finding depends on how fast the machine is.
func isTime(f doctor.Finding) bool { return f.Topic == "Time" }

// wantFindings checks which findings are not ok, and that each ID is there once. How long
// requests take on a busy machine is left out.
func wantFindings(t *testing.T, r *doctor.Report, want ...string) {
	t.Helper()
	var got []string
	seen := make(map[string]bool)
	for _, f := range r.Findings {
		if seen[f.ID] {
			t.Errorf("%s is there twice", f.ID)
		}
		seen[f.ID] = true
		if f.Seen == "" || f.Why == "" {
			t.Errorf("%s does not say what was seen and why it matters: %+v", f.ID, f)
		}
		if f.Severity > doctor.OK {
			if f.Do == "" {
				t.Errorf("%s does not say what to do", f.ID)
			}
			if !isTime(f) {
				got = append(got, f.Severity.String()+" "+f.ID)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if strings.Count(text(t, r), " why: ") != strings.Count(text(t, r), " do:  ") || strings.Contains(text(t, r), "do:  \n") {
		t.Errorf("advice about what is ok:\n%s", text(t, r))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), text(t, r))
	}
}

// text returns the report for people.
func text(t *testing.T, r *doctor.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// of returns a finding.
func of(t *testing.T, r *doctor.Report, id string) doctor.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.ID == id {
			return f
		}
	}
	t.Fatalf("no %s:\n%s", id, text(t, r))
	return doctor.Finding{}
}

// wantSeen checks what the finding says was seen.
func wantSeen(t *testing.T, r *doctor.Report, id string, parts ...string) {
	t.Helper()
	f := of(t, r, id)
	for _, part := range parts {
		if !strings.Contains(f.Seen, part) {
			t.Errorf("%s: %q does not contain %q", id, f.Seen, part)
		}
	}
}

// wantRefused checks that a store cannot be examined, and why.
func wantRefused(t *testing.T, rawURL, why string) {
	t.Helper()
	r, err := doctor.Examine(t.Context(), rawURL, "")
	if r != nil || err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "not-it") {
		t.Errorf("got %v, %v; want %s", r, err, why)
	}
}

// A store that does not answer cannot be examined, and the error has no password.
func TestNoServer(t *testing.T) {
	t.Parallel()
	for _, rawURL := range []string{
		"redis://u:secret@%s/0", "zk://u:secret@%s", "postgres://u:secret@%s/db", "mysql://u:secret@%s/db", "etcd://u:secret@%s", "etcd://%s",
	} {
		t.Run(rawURL, func(t *testing.T) {
			t.Parallel()
			r, err := doctor.Examine(t.Context(), strings.Replace(rawURL, "%s", child.ClosedAddr(t), 1), "")
			if r != nil || err == nil || errors.Is(err, backendurl.ErrURL) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, %v", r, err)
			}
		})
	}
	for _, rawURL := range []string{"redis://:not-it@%s/0", "zk://%s", "etcd://%s"} {
		t.Run(rawURL+" hangs", func(t *testing.T) {
			t.Parallel()
			wantRefused(t, strings.Replace(rawURL, "%s", child.SilentAddr(t), 1), "no answer")
		})
	}
	if r, err := doctor.Examine(t.Context(), "redis://h:x", ""); r != nil || !errors.Is(err, backendurl.ErrURL) {
		t.Errorf("got %v, %v", r, err)
	}
}
