// Package hertzlock mounts httpmw on routes of Hertz.
//
//	h.POST("/orders/:id/pay", hertzlock.Use(httpmw.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{
//		Prefix: "shop:", Value: "pay", MaxWait: 3 * time.Second,
//	})), pay)
//
// # When the lock is lost
//
// The context that the handler gets as its first argument is cancelled, with cause
// [distlock.ErrLost]. The handler should call [distlock.Lease.Check] before it commits.
// If its answer after the loss is a success, the client gets 424 in its place. An error
// is its own, and so is an answer that it began to send in chunks before.
//
// A request that does not get its lock is answered by httpmw: 409, 429, 503 or 400, as
// problem JSON. Further handlers are not called.
//
// # What Hertz does otherwise
//
// A request waits on when its client has left, unless the server has
// WithSenseClientDisconnection. With WithStreamBody, a key from the body reads the
// whole body: the handler finds it in c.Request.Body, and nothing in the stream. A body
// without Content-Length is then refused. Hertz reads a stream that is an answer, and
// calls the handler of a hijacked connection, after all handlers have returned: then
// the lock is released. Hertz has no timeout for handlers. A middleware that runs the
// next one in a goroutine and answers without it belongs in front of the lock: behind
// it, the work would have no lock.
package hertzlock

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/protocol"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
)

// Use makes a middleware for net/http, such as what httpmw.Lock returns, one for Hertz.
// The path's parameters are the path values of the request, so httpmw.PathValue finds
// them. It belongs to a route, or to a group with the parameters in its path.
func Use(middleware func(http.Handler) http.Handler) app.HandlerFunc {
	return func(ctx context.Context, c *app.RequestContext) {
		w := &response{c: c, header: http.Header{}}
		c.Response.Header.CopyTo(&w.before)
		r, err := request(ctx, c)
		if err != nil {
			c.Abort()
			httpmw.WriteError(w, nil, &distlock.KeyError{Detail: "the address is malformed", Err: err})
			return
		}
		middleware(http.HandlerFunc(func(through http.ResponseWriter, r *http.Request) {
			w.ran = true
			c.Next(r.Context())
			through.WriteHeader(c.Response.StatusCode())
		})).ServeHTTP(w, r)
		if !w.ran {
			c.Abort()
		}
	}
}

// wildcard is a parameter in a path of Hertz.
var wildcard = regexp.MustCompile(`[:*]([^/]+)`)

// request returns the request of c as net/http has it, for the key.
func request(ctx context.Context, c *app.RequestContext) (*http.Request, error) {
	address, err := url.ParseRequestURI(string(c.Request.RequestURI()))
	if err != nil {
		return nil, err
	}
	address.RawPath = address.EscapedPath() // a server WithUseRawPath has its routes from it
	r := &http.Request{
		Method: string(c.Method()), URL: address, Host: string(c.Host()), RemoteAddr: c.RemoteAddr().String(),
		Pattern: wildcard.ReplaceAllString(c.FullPath(), "{$1}"), Header: http.Header{},
		Body: io.NopCloser(&body{of: &c.Request}), ContentLength: int64(c.Request.Header.ContentLength()),
	}
	c.Request.Header.VisitAll(func(name, value []byte) { r.Header.Add(string(name), string(value)) })
	for _, p := range c.Params {
		r.SetPathValue(p.Key, p.Value)
	}
	return r.WithContext(ctx), nil
}

// body has Hertz read the body when a key needs it.
type body struct {
	of   *protocol.Request
	left *bytes.Reader // nil: not read yet
}

// Read implements [io.Reader]. It reads no stream without a length, because Hertz has
// no limit for one.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.left != nil:
	case b.of.IsBodyStream() && b.of.Header.ContentLength() < 0:
		return 0, errors.New("hertzlock: the body is a stream without a length")
	default:
		data, err := b.of.BodyE()
		if err != nil {
			return 0, err
		}
		b.left = bytes.NewReader(data)
	}
	return b.left.Read(p)
}

// response is where the middleware answers. Hertz sends what is in c.Response after all
// handlers have returned, so an answer of the middleware replaces what they have put
// there.
type response struct {
	c      *app.RequestContext
	before protocol.ResponseHeader // as the handlers found it
	header http.Header
	ran    bool // the handlers
	own    bool // the answer is that of the middleware
}

// Header implements [http.ResponseWriter].
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter]. With the status that the handlers have
// chosen, their answer stands.
func (w *response) WriteHeader(status int) {
	answer := &w.c.Response
	if w.own || answer.GetHijackWriter() != nil {
		return
	}
	if w.own = !w.ran || status != answer.StatusCode(); w.own {
		w.before.CopyTo(&answer.Header)
		answer.ResetBody()
		answer.SetStatusCode(status)
		w.c.SetHijackHandler(nil)
	}
	for name, values := range w.header {
		answer.Header.Del(name)
		for _, value := range values {
			answer.Header.Add(name, value)
		}
	}
}

// Write implements [http.ResponseWriter].
func (w *response) Write(p []byte) (int, error) {
	if w.WriteHeader(http.StatusOK); w.own {
		return w.c.Write(p)
	}
	return len(p), nil
}
