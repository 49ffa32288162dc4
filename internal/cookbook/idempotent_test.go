package cookbook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/internal/cookbook"
)

// ledger is a cookbook.Ledger.
type ledger struct {
	takes    time.Duration // for a payment
	mu       sync.Mutex
	answers  map[cookbook.PaymentID]cookbook.Answer
	attempts int
}

func (b *ledger) Answer(_ context.Context, id cookbook.PaymentID) (cookbook.Answer, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, found := b.answers[id]
	return a, found, nil
}

func (b *ledger) Pay(ctx context.Context, id cookbook.PaymentID, body []byte) (cookbook.Answer, error) {
	b.mu.Lock()
	b.attempts++
	b.mu.Unlock()
	select {
	case <-time.After(b.takes):
	case <-ctx.Done():
		return cookbook.Answer{}, context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, found := b.answers[id]; found {
		return cookbook.Answer{}, errors.New("duplicate id")
	}
	a := cookbook.Answer{Status: http.StatusCreated, Body: fmt.Appendf(nil, "paid %s, number %d", body, len(b.answers)+1)}
	b.answers[id] = a
	return a, nil
}

// user returns the user of a request. In a program it comes from the authentication.
func user(r *http.Request) string { return r.Header.Get("User") }

// pay sends a payment and returns the answer.
func pay(t *testing.T, h http.Handler, user, key string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/payments", strings.NewReader("5 EUR"))
	r.Header.Set("User", user)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestPayments: fifty requests with one key in five processes are one payment. While it
// runs, the others are answered with 409; later they get the same answer. The key of
// another user is another payment.
func TestPayments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, processes := newProcesses(t, 5)
		book := &ledger{answers: map[cookbook.PaymentID]cookbook.Answer{}, takes: time.Second}
		var mu sync.Mutex
		got := map[int]int{}
		start := time.Now()
		together(processes, 10, func(l *distlock.Locker) {
			h := cookbook.Payments(l, book, user)
			w := pay(t, h, "ann", "k1")
			if w.Code == http.StatusConflict && (w.Header().Get("Retry-After") == "" || time.Since(start) != 0) {
				t.Errorf("409 after %v, to be repeated after %q", time.Since(start), w.Header().Get("Retry-After"))
			}
			mu.Lock()
			got[w.Code]++
			mu.Unlock()
			for w.Code == http.StatusConflict {
				time.Sleep(time.Second)
				w = pay(t, h, "ann", "k1")
			}
			if w.Code != http.StatusCreated || w.Body.String() != "paid 5 EUR, number 1" {
				t.Errorf("at the end: %d %s", w.Code, w.Body)
			}
		})
		if book.attempts != 1 || got[http.StatusCreated] != 1 || got[http.StatusConflict] != 49 {
			t.Errorf("%d payments, answers %v", book.attempts, got)
		}

		if w := pay(t, cookbook.Payments(processes[0], book, user), "bob", "k1"); w.Code != http.StatusCreated || book.attempts != 2 {
			t.Errorf("the same key of another user: %d %s, %d payments", w.Code, w.Body, book.attempts)
		}
		if w := pay(t, cookbook.Payments(processes[0], book, user), "ann", ""); w.Code != http.StatusBadRequest || book.attempts != 2 {
			t.Errorf("without a key: %d, %d payments", w.Code, book.attempts)
		}
	})
}

// TestPaymentsLost: the lock is lost during the payment, which is rolled back. The
// client repeats it.
func TestPaymentsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, processes := newProcesses(t, 1)
		book := &ledger{answers: map[cookbook.PaymentID]cookbook.Answer{}, takes: time.Minute}
		h := cookbook.Payments(processes[0], book, user)
		time.AfterFunc(time.Second, func() {
			locks, err := admin.Inspect(t.Context(), processes[0], "shop:payment:", 2)
			if err != nil || len(locks) != 1 {
				t.Errorf("%d locks: %v", len(locks), err)
			}
			store.Drop(locks[0].Key)
		})
		if w := pay(t, h, "ann", "k1"); w.Code != http.StatusFailedDependency || len(book.answers) != 0 {
			t.Errorf("the lock is lost: %d %s", w.Code, w.Body)
		}
		if w := pay(t, h, "ann", "k1"); w.Code != http.StatusCreated || w.Body.String() != "paid 5 EUR, number 1" {
			t.Errorf("repeated: %d %s", w.Code, w.Body)
		}
	})
}
