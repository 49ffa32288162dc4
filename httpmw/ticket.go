package httpmw

import (
	"net/http"

	"github.com/distlock-go/distlock/fence"
)

// ticketHeader has the tickets of a request, one in each value.
const ticketHeader = "Distlock-Ticket"

// SendTickets returns a transport that sends the tickets of the request's context along.
// They belong to leases that the caller holds alone, or came with its own call. If a lease is
// over, it sends nothing, and the error matches [distlock.ErrLost]. Without a lease the request
// is as it was. A redirect to another host fails, because tickets are not for it.
//
// A nil next is [http.DefaultTransport]. SendTickets panics if b is nil.
func SendTickets(next http.RoundTripper, b *fence.Boundary) http.RoundTripper {
	if b == nil {
		panic("httpmw: SendTickets: nil Boundary: choose fence.Signed or fence.Unsigned")
	}
	if next == nil {
		next = http.DefaultTransport
	}
	return sender{next, b}
}

type sender struct {
	next     http.RoundTripper
	boundary *fence.Boundary
}

func (s sender) RoundTrip(r *http.Request) (*http.Response, error) {
	tickets, err := s.boundary.Tickets(r.Context())
	if err == nil && len(tickets) > 0 && redirected(r) {
		err = &fence.TicketError{Detail: "is not for the host of a redirect: " + r.URL.Host}
	}
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as every RoundTripper must
		}
		return nil, err
	}
	if len(tickets) > 0 {
		r = r.Clone(r.Context())
		r.Header[ticketHeader] = tickets
	}
	return s.next.RoundTrip(r)
}

// redirected reports whether r follows a redirect from another host, or one that gives up TLS.
func redirected(r *http.Request) bool {
	if r.Response == nil {
		return false
	}
	from := r.Response.Request
	return from == nil || from.URL.Hostname() != r.URL.Hostname() || from.URL.Scheme == "https" && r.URL.Scheme != "https"
}

// ReceiveTickets returns a middleware that puts the tickets of a request into its context, for
// [fence.FromContext]. [Lock] below it refuses a key of which the caller has sent a ticket,
// with TypeReentry, because it would wait for the caller. A ticket that is malformed, or not
// signed as b demands, is refused by [WriteError], and the handler does not run. Requests
// without tickets go on: the handler, or Check of package fence, decides. It panics if b is nil.
func ReceiveTickets(b *fence.Boundary) func(http.Handler) http.Handler {
	if b == nil {
		panic("httpmw: ReceiveTickets: nil Boundary: choose fence.Signed or fence.Unsigned")
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, err := b.Context(r.Context(), r.Header[ticketHeader])
			if err != nil {
				WriteError(w, r, err)
				return
			}
			pass(ctx, r, func(r *http.Request) { next.ServeHTTP(w, r) })
		})
	}
}
