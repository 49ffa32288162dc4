package load

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

// httpShop is a shop over HTTP.
type httpShop struct {
	base   string
	orders string // what is between base and the sku in the URL of an order
	client *http.Client
}

func newHTTPShop(c *config, locked bool) *httpShop {
	s := &httpShop{base: strings.TrimRight(c.target, "/"), orders: "/items/"}
	if !locked {
		s.orders = "/unlocked/items/"
	}
	// As in JMeter, each user keeps a connection. By default all users would share two
	// idle connections and dial anew for most samples.
	s.client = &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: controlTimeout}).DialContext,
			MaxConnsPerHost:     c.group.users,
			MaxIdleConnsPerHost: c.group.users,
			DisableCompression:  true,
		},
		// The answer to an order is not at another URL.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

func (s *httpShop) setStock(ctx context.Context, sku string, stock int) error {
	_, err := s.control(ctx, http.MethodPut, sku, fmt.Sprintf(`{"stock":%d}`, stock))
	return err
}

func (s *httpShop) stock(ctx context.Context, sku string) (int, error) {
	answer, err := s.control(ctx, http.MethodGet, sku, "")
	if err != nil {
		return 0, err
	}
	var item struct {
		Stock *int `json:"stock"`
	}
	if err := json.Unmarshal(answer, &item); err != nil || item.Stock == nil {
		return 0, fmt.Errorf("GET /items/%s: no stock in the answer %q", sku, answer)
	}
	return *item.Stock, nil
}

// control sends a request about an item that is not a sample, and returns the answer.
func (s *httpShop) control(ctx context.Context, method, sku, body string) ([]byte, error) {
	path := "/items/" + sku
	a, err := s.do(ctx, method, s.base+path, body)
	if err == nil && a.code/100 != 2 {
		err = a.refusal()
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return a.body, nil
}

// answer is the answer to a request.
type answer struct {
	code   int
	status string // the code and its text
	body   []byte
}

// do sends a request, and reads the answer. Its error does not name the request.
func (s *httpShop) do(ctx context.Context, method, target, body string) (a answer, err error) {
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	a.code, a.status = resp.StatusCode, resp.Status
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // no answer of the service is larger
	return a, err
}

func (s *httpShop) order(ctx context.Context, _ int, sku, buyer string) result {
	body := `{"buyer":"` + buyer + `","quantity":1}`
	r := result{url: s.base + s.orders + sku + "/orders", sent: len(body)}
	a, err := s.do(ctx, http.MethodPost, r.url, body)
	if err != nil { // in JMeter's terms
		r.err = err
		r.code, r.message = fmt.Sprintf("Non HTTP response code: %T", err), "Non HTTP response message: "+oneLine(err.Error())
		return r
	}
	r.code, r.message, r.received = strconv.Itoa(a.code), http.StatusText(a.code), len(a.body)
	if a.code != http.StatusCreated {
		r.err = a.refusal()
	}
	return r
}

// refusal returns the error for an unexpected response. The service gives the reason as
// problem JSON.
func (a answer) refusal() error {
	var problem struct{ Title, Detail string }
	if err := json.Unmarshal(a.body, &problem); err == nil {
		if why := cmp.Or(problem.Detail, problem.Title); why != "" {
			return fmt.Errorf("%s: %s", a.status, why)
		}
	}
	return errors.New(a.status)
}

func (s *httpShop) close() error {
	s.client.CloseIdleConnections()
	return nil
}
