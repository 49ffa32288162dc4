package kubelock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

// client sends requests to an API server.
type client struct {
	http *http.Client
	cfg  Config
}

// status is an answer that is no success.
type status struct {
	Code            int
	Reason, Message string
}

func (s *status) Error() string { return fmt.Sprintf("%d %s: %s", s.Code, s.Reason, s.Message) }

func is(err error, reason string) bool {
	var s *status
	return errors.As(err, &s) && s.Reason == reason
}

// String begins the text of each error.
func (c *client) String() string {
	return fmt.Sprintf("kubernetes: %s: namespace %q", c.cfg.Server, c.cfg.Namespace)
}

// leases returns the path of the objects; rest is the name of one, or a query.
func (c *client) leases(rest string) string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + url.PathEscape(c.cfg.Namespace) + "/leases" + rest
}

// do sends a request, and decodes the answer into out.
func (c *client) do(ctx context.Context, method, path string, body, out any) error {
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// send sends a request. A server that has too many does not carry one out, and says when to
// send it again.
func (c *client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	for err == nil {
		var r *http.Request
		if r, err = http.NewRequestWithContext(ctx, method, c.cfg.Server+path, bytes.NewReader(data)); err != nil {
			break
		}
		if r.Header.Set("Content-Type", "application/json"); method == http.MethodPatch {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
		if body == nil {
			r.Body, r.ContentLength = http.NoBody, 0
		}
		var resp *http.Response
		if resp, err = c.http.Do(r); err != nil {
			break
		}
		if resp.StatusCode < http.StatusMultipleChoices {
			return resp, nil
		}
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		_ = resp.Body.Close()
		s := status{Message: string(text)}
		_ = json.Unmarshal(text, &s) // a proxy answers in words
		s.Code = resp.StatusCode
		err = fmt.Errorf("%s: %w", method, &s)
		after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		pause := time.Duration(max(after, 1)) * time.Second
		if end, ok := ctx.Deadline(); s.Code == http.StatusTooManyRequests && (!ok || time.Until(end) > pause) && clock.Sleep(ctx, pause) {
			err = nil
		}
	}
	return nil, err
}
