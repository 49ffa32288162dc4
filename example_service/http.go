package main

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/httpmw"
)

const maxBody = 64 << 10

// shopRoutes adds the HTTP interface of the shop to mux. The route of orders takes the
// lock of the sku in its path; PUT leaves the lock to the shop.
func shopRoutes(mux *http.ServeMux, sh *shop, l *distlock.Locker, lock distlock.Opts) {
	locked := httpmw.Lock(l, httpmw.PathValue("sku"), lock,
		httpmw.WithBodyFirst(maxBody), // a slow client does not hold the lock
		httpmw.WithErrorHandler(writeError))

	mux.Handle("POST /items/{sku}/orders", locked(placeOrder(sh.place)))
	mux.Handle("POST /unlocked/items/{sku}/orders", placeOrder(sh.placeUnlocked))
	mux.HandleFunc("GET /items/{sku}", func(w http.ResponseWriter, r *http.Request) {
		it, err := sh.stock.get(r.Context(), r.PathValue("sku"), 0)
		reply(w, r, http.StatusOK, it, err)
	})
	mux.HandleFunc("PUT /items/{sku}", func(w http.ResponseWriter, r *http.Request) {
		s := sale{SKU: r.PathValue("sku"), Stock: -1}
		err := readBody(r, &s)
		if err != nil {
			writeError(w, r, err)
			return
		}
		it, err := sh.reset(r.Context(), s)
		reply(w, r, http.StatusOK, it, err)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, http.StatusOK, map[string]string{"status": "ok"}, admin.Ping(r.Context(), l))
	})
}

func placeOrder(place distlock.Func[order, receipt]) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := order{SKU: r.PathValue("sku")}
		if err := readBody(r, &o); err != nil {
			writeError(w, r, err)
			return
		}
		got, err := place(r.Context(), o)
		reply(w, r, http.StatusCreated, got, err)
	})
}

// readBody decodes the body of a request, which is one JSON object without unknown
// fields.
func readBody(r *http.Request, v any) error {
	dec := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return badInput("body: %v", err)
	}
	return nil
}

// reply answers with v, or with the problem for err.
func reply(w http.ResponseWriter, r *http.Request, status int, v any, err error) {
	if err != nil {
		writeError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client is gone
}
