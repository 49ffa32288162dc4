package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// httpPlan orders from the example service: a sample is an order of one piece. The
// counter of a key is the number of pieces missing from the stock of its sku, which
// starts with as many as its users will order.
type httpPlan struct {
	cfg       *config
	base      string
	orders    []string // the URL of orders for each key
	transport *http.Transport
	client    *http.Client
}

// openHTTPPlan fills the stock, and so checks that the service answers.
func openHTTPPlan(ctx context.Context, c *config, locked bool) (plan, error) {
	p := newHTTPPlan(c, locked)
	for key := range p.orders {
		if err := p.fill(ctx, key); err != nil {
			_ = p.close()
			return nil, fmt.Errorf("-target %s: %w", c.target, err)
		}
	}
	return p, nil
}

func newHTTPPlan(c *config, locked bool) *httpPlan {
	p := &httpPlan{cfg: c, base: strings.TrimRight(c.target, "/"), orders: make([]string, c.usedKeys())}
	path := "/items/"
	if !locked {
		path = "/unlocked/items/"
	}
	for key := range p.orders {
		p.orders[key] = p.base + path + sku(key) + "/orders"
	}
	// As in JMeter, each user keeps a connection. By default all users would share two
	// idle connections and dial anew for most samples.
	p.transport = &http.Transport{
		DialContext:         (&net.Dialer{Timeout: controlTimeout}).DialContext,
		MaxConnsPerHost:     c.group.users,
		MaxIdleConnsPerHost: c.group.users,
		DisableCompression:  true,
	}
	p.client = &http.Client{
		Transport: p.transport,
		// The answer to an order is not at another URL.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

func (p *httpPlan) fill(ctx context.Context, key int) error {
	stock := struct {
		Stock int `json:"stock"`
	}{p.cfg.increments(key)}
	return p.control(ctx, http.MethodPut, key, stock, nil)
}

func (p *httpPlan) counted(ctx context.Context) (int64, error) {
	var sum int64
	for key := range p.orders {
		var item struct {
			Stock *int `json:"stock"`
		}
		if err := p.control(ctx, http.MethodGet, key, nil, &item); err != nil {
			return 0, err
		}
		if item.Stock == nil {
			return 0, fmt.Errorf("GET /items/%s: no stock in the answer", sku(key))
		}
		sum += int64(p.cfg.increments(key) - *item.Stock)
	}
	return sum, nil
}

// control sends a request about an item that is not a sample.
func (p *httpPlan) control(ctx context.Context, method string, key int, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	var body io.Reader = http.NoBody
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	path := "/items/" + sku(key)
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // the message names the method and the URL already
		}
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("%s %s: %w", method, path, refusal(resp, answer))
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// answerLimit is larger than any answer of the service.
const answerLimit = 64 << 10

func (p *httpPlan) sample(ctx context.Context, user int) result {
	order := p.orders[p.cfg.keyOf(user)]
	body := `{"buyer":"` + buyer(user) + `","quantity":1}`
	r := result{url: order, sent: len(body)}

	var t timing
	req, err := http.NewRequestWithContext(t.watch(ctx), http.MethodPost, order, strings.NewReader(body))
	if err != nil {
		return r.failed(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return r.failed(err)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	_ = resp.Body.Close()
	r.latency, r.connect = t.latency(), t.connect()
	if err != nil {
		return r.failed(err)
	}
	r.received = len(answer)
	r.code = fmt.Sprint(resp.StatusCode)
	r.message = http.StatusText(resp.StatusCode)
	if resp.StatusCode != http.StatusCreated {
		r.err = refusal(resp, answer)
	}
	return r
}

// failed returns the result of a request without a response, in JMeter's terms.
func (r result) failed(err error) result {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	r.err = err
	r.code, r.message = fmt.Sprintf("Non HTTP response code: %T", err), "Non HTTP response message: "+oneLine(err.Error())
	return r
}

// refusal returns the error for an unexpected response. The service gives the reason as
// problem JSON.
func refusal(resp *http.Response, body []byte) error {
	var problem struct{ Title, Detail string }
	if err := json.Unmarshal(body, &problem); err == nil {
		if why := cmp.Or(problem.Detail, problem.Title); why != "" {
			return fmt.Errorf("%s: %s", resp.Status, why)
		}
	}
	return errors.New(resp.Status)
}

func (p *httpPlan) close() error {
	p.transport.CloseIdleConnections()
	return nil
}

// timing records the times of one request. The transport reports them from other
// goroutines, possibly after the request has failed.
type timing struct {
	start     time.Time
	connected atomic.Int64
	firstByte atomic.Int64
}

func (t *timing) watch(ctx context.Context) context.Context {
	t.start = time.Now()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			if !i.Reused {
				t.connected.Store(int64(time.Since(t.start)))
			}
		},
		GotFirstResponseByte: func() { t.firstByte.Store(int64(time.Since(t.start))) },
	})
}

func (t *timing) latency() time.Duration { return time.Duration(t.firstByte.Load()) }
func (t *timing) connect() time.Duration { return time.Duration(t.connected.Load()) }
