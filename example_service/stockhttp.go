package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// stockCall is a call of a method of another shop's stock: put, or get without Put.
type stockCall struct {
	SKU      string `json:"sku"`
	Token    uint64 `json:"token"`
	Put      bool   `json:"put"`
	N        int    `json:"n"`
	Quantity int    `json:"quantity"`
}

// stockAnswer is what the method returns.
type stockAnswer struct {
	Item    item  `json:"item"`
	OrderID int64 `json:"order_id"`
}

// stockRoute offers a stock to other shops.
func stockRoute(mux *http.ServeMux, s stock) {
	mux.HandleFunc("POST /stock", func(w http.ResponseWriter, r *http.Request) {
		var c stockCall
		var a stockAnswer
		err := readBody(r, &c)
		switch {
		case err != nil:
		case c.Put:
			a.OrderID, err = s.put(r.Context(), c.SKU, c.N, c.Quantity, c.Token)
		default:
			a.Item, err = s.get(r.Context(), c.SKU, c.Token)
		}
		reply(w, r, http.StatusOK, a, err)
	})
}

// remoteStock is the stock of another shop.
type remoteStock struct {
	url    string
	client *http.Client
}

func newRemoteStock(base string) *remoteStock {
	return &remoteStock{strings.TrimSuffix(base, "/") + "/stock", &http.Client{Timeout: 5 * time.Second}}
}

func (s *remoteStock) get(ctx context.Context, sku string, token uint64) (item, error) {
	a, err := s.call(ctx, stockCall{SKU: sku, Token: token})
	return a.Item, err
}

func (s *remoteStock) put(ctx context.Context, sku string, n, quantity int, token uint64) (int64, error) {
	a, err := s.call(ctx, stockCall{sku, token, true, n, quantity})
	return a.OrderID, err
}

func (s *remoteStock) call(ctx context.Context, c stockCall) (a stockAnswer, err error) {
	body, err := json.Marshal(c)
	if err != nil {
		return a, err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", s.url, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	switch resp.StatusCode {
	case http.StatusOK:
		err = json.NewDecoder(resp.Body).Decode(&a)
		return a, err
	case http.StatusPreconditionFailed:
		return a, errFenced
	case http.StatusNotFound:
		return a, errUnknownSKU
	default:
		return a, errors.New(s.url + ": " + resp.Status)
	}
}
