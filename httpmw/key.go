package httpmw

import (
	"fmt"
	"log"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
)

// KeyFunc says what a request locks: it returns the parameters of the key, of any type
// that [distlock.Opts] takes, or [distlock.Skip] if the request needs no lock.
// Parameters that are nil, "" or an empty list are refused, and so is a list with such
// an element. For one lock for all requests, return a constant.
//
// An error that wraps [distlock.ErrKey] says that the request is at fault, and is
// answered with 400; a [*distlock.KeyError] tells the client why. Other errors are
// answered with 500, unless they have another code: see [distlock.CodeOf].
//
// A KeyFunc is called concurrently, once for each request, before the lock is taken. It
// may block until the request's context ends. If it reads the body, it must put another
// one in its place.
type KeyFunc func(r *http.Request) (any, error)

// PathValue returns a KeyFunc for the path's wildcard of that name, a decoded string
// ([http.Request.PathValue]). chi returns parts of the path as the client has encoded
// them, ServeMux decodes them; here "a" and "%61" are one lock with either. The error
// is a [*distlock.KeyError] if the value is empty, or if it has a "%" and it is not
// certain whether the router has decoded the path. PathValue panics if name is empty.
//
// A pattern without the wildcard, or a lock around the router, where there is no pattern
// yet, is a fault of the server. The answer is 500, and [http.Server].ErrorLog gets one
// line for each [Lock]. A router other than ServeMux and
// chi must set [http.Request.Pattern] too, but only for wildcards that can be empty.
func PathValue(name string) KeyFunc {
	what, in := part("PathValue", "path value", name), wildcard(name)
	return func(r *http.Request) (any, error) { return pathValue(r, what, name, in) }
}

// Header returns a KeyFunc for a header field, a string. A field that is missing, empty
// or appears more than once is a [*distlock.KeyError]. Header panics if name is empty,
// or Host, which net/http keeps in Request.Host.
func Header(name string) KeyFunc {
	what := part("Header", "header", name)
	if strings.EqualFold(name, "Host") {
		panic("httpmw: Header: net/http keeps Host in Request.Host")
	}
	return func(r *http.Request) (any, error) { return request.Single(what, r.Header.Values(name)) }
}

// Query returns a KeyFunc for a parameter of the URL's query, a string. A parameter
// that is missing, empty or appears more than once is a [*distlock.KeyError], and so is
// a query that cannot be parsed. Names are case-sensitive.
//
// The handler should read the parameter from URL.Query too: [http.Request.FormValue]
// prefers a field of that name in the body. Query panics if name is empty.
func Query(name string) KeyFunc {
	what := part("Query", "query parameter", name)
	return func(r *http.Request) (any, error) {
		values, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return nil, &distlock.KeyError{Detail: "the query is malformed", Err: err}
		}
		return request.Single(what, values[name])
	}
}

// Int returns a KeyFunc that makes a decimal integer, as [JSONField] has it, of the string that
// f returns: Int(PathValue("id")). "1", "01" and "+1" are one lock; without Int they are three.
// It returns integers and [distlock.Skip] unchanged; anything else is a
// [*distlock.KeyError]. Int panics if f is nil.
func Int(f KeyFunc) KeyFunc {
	if f == nil {
		panic("httpmw: Int: nil KeyFunc")
	}
	return func(r *http.Request) (any, error) {
		v, err := f(r)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case string:
			if n, fault := number(v); fault == "" {
				return n, nil
			}
		case int64, uint64, int:
			return v, nil
		}
		if v == distlock.Skip {
			return v, nil
		}
		return nil, &distlock.KeyError{Detail: "the parameter is not an integer"}
	}
}

// Params returns a KeyFunc for several parts, a []any of the results of the functions
// in their order. They are called one after the other, and the first error or
// [distlock.Skip] is the result for all. So put a function that skips some requests in
// front of functions that would refuse them. Params panics if there are no functions or one
// is nil.
func Params(fs ...KeyFunc) KeyFunc {
	if len(fs) == 0 {
		panic("httpmw: Params: no KeyFunc")
	}
	for i, f := range fs {
		if f == nil {
			panic("httpmw: Params: KeyFunc " + strconv.Itoa(i) + " is nil")
		}
	}
	return func(r *http.Request) (any, error) {
		return request.Parts(len(fs), func(i int) (any, error) { return fs[i](r) })
	}
}

// part names a part of the request in errors.
func part(constructor, kind, name string) string {
	if name == "" {
		panic("httpmw: " + constructor + ": empty name")
	}
	return kind + " " + strconv.Quote(name)
}

// pathValue returns the decoded value, which is not empty. If the router has matched
// the path in its encoded form, the value is a piece of that form; if it has decoded a
// "%", it is not. A piece that cannot be decoded was not encoded. A value that fits
// both is refused: read in the wrong way, it is the lock of another value.
func pathValue(r *http.Request, what, name string, in *regexp.Regexp) (any, error) {
	v := r.PathValue(name)
	switch {
	case v == "" && !in.MatchString(r.Pattern):
		return nil, &wiringError{what, r.Pattern}
	case v == "":
		return request.Single(what, nil)
	case strings.IndexByte(v, '%') < 0 || !strings.Contains(r.URL.RawPath, v):
		return v, nil
	}
	decoded, err := url.PathUnescape(v)
	switch {
	case err != nil:
		return v, nil //nolint:nilerr // not encoded, as said above
	case strings.Contains(r.URL.Path, v):
		return nil, &distlock.KeyError{Detail: what + " is ambiguous"}
	default:
		return decoded, nil
	}
}

// wiringError is a mistake of the server: the route of a request has no path value of
// that name, or no route was found yet. A client cannot avoid it, so it does not wrap
// [distlock.ErrKey] and is answered with 500.
type wiringError struct {
	what    string // path value "order"
	pattern string // "": no pattern
}

// Error names the pattern and the path value.
func (e *wiringError) Error() string {
	if e.pattern == "" {
		return "httpmw: no route has been found when the lock needs " + e.what +
			": the lock belongs to the route, not around the router"
	}
	return fmt.Sprintf("httpmw: the pattern %q has no %s", e.pattern, e.what)
}

// wildcard returns what patterns with a wildcard of that name match: {name}, {name...},
// {name:regexp}, chi's * with the name "*", or the :name of Echo and gin.
func wildcard(name string) *regexp.Regexp {
	if name == "*" {
		return regexp.MustCompile(`\*$`)
	}
	name = regexp.QuoteMeta(name)
	return regexp.MustCompile(`\{` + name + `(\.{3}\}|[}:])|/:` + name + `(/|$)`)
}

// tell logs the mistake for the operator of the server.
func tell(r *http.Request, err error) {
	logger := log.Default()
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ErrorLog != nil {
		logger = s.ErrorLog
	}
	logger.Print(err)
}
