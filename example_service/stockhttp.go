package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// stockChange is the body of a request that changes the stock of another shop.
type stockChange struct {
	Stock    int `json:"stock"`    // pieces that remain
	Quantity int `json:"quantity"` // pieces that were sold
}

type orderNumber struct {
	OrderID int64 `json:"order_id"`
}

// stockRoutes offers a stock to other shops: the requests of remoteStock.
func stockRoutes(mux *http.ServeMux, s stock) {
	handle := func(method string, serve func(r *http.Request, sku string, token uint64) (any, error)) {
		mux.HandleFunc(method+" /stock/{sku}", func(w http.ResponseWriter, r *http.Request) {
			token, err := strconv.ParseUint(r.FormValue("token"), 10, 64)
			if err != nil {
				writeError(w, r, badInput("token: want a number, got %q", r.FormValue("token")))
				return
			}
			answer, err := serve(r, r.PathValue("sku"), token)
			reply(w, r, http.StatusOK, answer, err)
		})
	}
	handle("GET", func(r *http.Request, sku string, token uint64) (any, error) {
		return s.get(r.Context(), sku, token)
	})
	handle("PUT", func(r *http.Request, sku string, token uint64) (any, error) {
		var c stockChange
		if err := readBody(r, &c); err != nil {
			return nil, err
		}
		return struct{}{}, s.put(r.Context(), sku, c.Stock, token)
	})
	handle("POST", func(r *http.Request, sku string, token uint64) (any, error) {
		var c stockChange
		if err := readBody(r, &c); err != nil {
			return nil, err
		}
		id, err := s.sell(r.Context(), sku, c.Quantity, c.Stock, token)
		return orderNumber{id}, err
	})
}

// remoteStock is the stock of another shop.
type remoteStock struct {
	base   string
	client *http.Client
}

func newRemoteStock(base string) *remoteStock {
	return &remoteStock{strings.TrimSuffix(base, "/") + "/stock/", &http.Client{Timeout: 5 * time.Second}}
}

func (s *remoteStock) get(ctx context.Context, sku string, token uint64) (it item, err error) {
	err = s.do(ctx, "GET", sku, token, stockChange{}, &it)
	return it, err
}

func (s *remoteStock) put(ctx context.Context, sku string, n int, token uint64) error {
	return s.do(ctx, "PUT", sku, token, stockChange{Stock: n}, &struct{}{})
}

func (s *remoteStock) sell(ctx context.Context, sku string, quantity, left int, token uint64) (int64, error) {
	var n orderNumber
	err := s.do(ctx, "POST", sku, token, stockChange{Stock: left, Quantity: quantity}, &n)
	return n.OrderID, err
}

func (s *remoteStock) do(ctx context.Context, method, sku string, token uint64, body stockChange, answer any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	address := s.base + url.PathEscape(sku) + "?token=" + strconv.FormatUint(token, 10)
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	switch resp.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(resp.Body).Decode(answer)
	case http.StatusPreconditionFailed:
		return errFenced
	case http.StatusNotFound:
		return errUnknownSKU
	default:
		return fmt.Errorf("%s %s: %s", method, address, resp.Status)
	}
}
