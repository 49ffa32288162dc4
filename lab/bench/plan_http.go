package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// httpPlan orders from the example service: a sample is an order of one piece. The
// counter of a key is the number of pieces missing from the stock of its sku, which
// starts with as many as its users will order.
type httpPlan struct {
	cfg    *config
	base   string
	orders []string // the URL of orders for each key
	client *http.Client
}

// openHTTPPlan fills the stock, and so checks that the service answers.
func openHTTPPlan(ctx context.Context, c *config, locked bool) (plan, error) {
	p := &httpPlan{cfg: c, base: strings.TrimRight(c.target, "/")}
	path := "/items/"
	if !locked {
		path = "/unlocked/items/"
	}
	// As in JMeter, each user keeps a connection. By default all users would share two
	// idle connections and dial anew for most samples.
	p.client = &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: controlTimeout}).DialContext,
			MaxConnsPerHost:     c.group.users,
			MaxIdleConnsPerHost: c.group.users,
			DisableCompression:  true,
		},
		// The answer to an order is not at another URL.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for key := range c.usedKeys() {
		p.orders = append(p.orders, p.base+path+sku(key)+"/orders")
		if err := p.fill(ctx, key); err != nil {
			_ = p.close()
			return nil, fmt.Errorf("-target %s: %w", c.target, err)
		}
	}
	return p, nil
}

func (p *httpPlan) fill(ctx context.Context, key int) error {
	_, err := p.control(ctx, http.MethodPut, key, fmt.Sprintf(`{"stock":%d}`, p.cfg.increments(key)))
	return err
}

func (p *httpPlan) counted(ctx context.Context) (int64, error) {
	var sum int64
	for key := range p.orders {
		answer, err := p.control(ctx, http.MethodGet, key, "")
		if err != nil {
			return 0, err
		}
		var item struct {
			Stock *int `json:"stock"`
		}
		if err := json.Unmarshal(answer, &item); err != nil || item.Stock == nil {
			return 0, fmt.Errorf("GET /items/%s: no stock in the answer %q", sku(key), answer)
		}
		sum += int64(p.cfg.increments(key) - *item.Stock)
	}
	return sum, nil
}

// control sends a request about an item that is not a sample, and returns the answer.
func (p *httpPlan) control(ctx context.Context, method string, key int, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	path := "/items/" + sku(key)
	resp, answer, err := p.do(ctx, method, p.base+path, body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = refusal(resp, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return answer, nil
}

// do sends a request, and reads the answer. Its error does not name the request.
func (p *httpPlan) do(ctx context.Context, method, target, body string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	return resp, answer, err
}

// answerLimit is larger than any answer of the service.
const answerLimit = 64 << 10

func (p *httpPlan) sample(ctx context.Context, user int) result {
	order := p.orders[p.cfg.keyOf(user)]
	body := `{"buyer":"` + buyer(user) + `","quantity":1}`
	r := result{url: order, sent: len(body)}
	resp, answer, err := p.do(ctx, http.MethodPost, order, body)
	if err != nil { // in JMeter's terms
		r.err = err
		r.code, r.message = fmt.Sprintf("Non HTTP response code: %T", err), "Non HTTP response message: "+oneLine(err.Error())
		return r
	}
	r.received = len(answer)
	r.code, r.message = strconv.Itoa(resp.StatusCode), http.StatusText(resp.StatusCode)
	if resp.StatusCode != http.StatusCreated {
		r.err = refusal(resp, answer)
	}
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
	p.client.CloseIdleConnections()
	return nil
}
