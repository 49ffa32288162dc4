package cookbook

import (
	"context"
	"io"
	"net/http"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
)

// PaymentID is the key that a client has chosen for its payment. Two users may choose
// the same one.
type PaymentID struct{ User, Key string }

// Answer is what the client gets, also when it repeats its request.
type Answer struct {
	Status int
	Body   []byte
}

// Ledger is the database. Pay books the payment and stores the answer in one
// transaction. A unique index on the id keeps it from doing so twice.
type Ledger interface {
	Answer(ctx context.Context, id PaymentID) (a Answer, found bool, err error)
	Pay(ctx context.Context, id PaymentID, body []byte) (Answer, error)
}

// Payments returns the handler of POST /payments.
func Payments(locker *distlock.Locker, ledger Ledger, user func(*http.Request) string) http.Handler {
	const header = "Idempotency-Key"
	key := httpmw.Params(
		func(r *http.Request) (any, error) { return user(r), nil }, // from the authentication
		httpmw.Header(header),
	)
	lock := httpmw.Lock(locker, key, distlock.Opts{
		Prefix: "shop:", Value: "payment",
		RetryCount: 1, // 409 while the first request runs
	}, httpmw.WithBodyFirst(64<<10))
	return lock(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := PaymentID{user(r), r.Header.Get(header)}
		answer, found, err := ledger.Answer(r.Context(), id)
		if err == nil && !found {
			body, _ := io.ReadAll(r.Body) // WithBodyFirst has read it
			answer, err = ledger.Pay(r.Context(), id, body)
		}
		if err != nil {
			http.Error(w, "unknown outcome: repeat with the same "+header, http.StatusInternalServerError)
			return
		}
		w.WriteHeader(answer.Status)
		_, _ = w.Write(answer.Body)
	}))
}
