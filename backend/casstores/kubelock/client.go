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

	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/driver"
)

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
func (s *store) String() string {
	return fmt.Sprintf("kubernetes: %s: namespace %q", s.cfg.Server, s.cfg.Namespace)
}

// leases returns the path of the objects; rest is the name of one, or a query.
func (s *store) leases(rest string) string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + url.PathEscape(s.cfg.Namespace) + "/leases" + rest
}

// do sends a request, and decodes the answer into out.
func (s *store) do(ctx context.Context, method, path string, body, out any) error {
	resp, err := s.send(ctx, method, path, body)
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

// send sends a request.
func (s *store) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, s.cfg.Server+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if r.Header.Set("Content-Type", "application/json"); method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if body == nil {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	resp, err := s.http.Do(r)
	switch {
	case err != nil: // the connection may have been dead
		return nil, fmt.Errorf("%w: %w", caslock.ErrNoAnswer, err)
	case resp.StatusCode < http.StatusMultipleChoices:
		return resp, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	_ = resp.Body.Close()
	answer := status{Message: string(text)}
	_ = json.Unmarshal(text, &answer) // a proxy answers in words
	answer.Code = resp.StatusCode
	if err = fmt.Errorf("%s: %w", method, &answer); answer.Code == http.StatusTooManyRequests || answer.Reason == "Invalid" {
		err = driver.NotSent(err) // nothing was carried out: a Lease may be too large, with many holders
	}
	return nil, err
}
