// Package httpmw runs HTTP handlers under distributed locks. [Lock] is a middleware for
// net/http: for http.ServeMux, for chi, and for every router that sets the path values of
// a request ([http.Request.PathValue]).
//
//	r.With(httpmw.Lock(locker, httpmw.PathValue("id"), distlock.Opts{Prefix: "shop:", Value: "pay"})).
//		Post("/orders/{id}/pay", pay)
//
// The handler runs only with the lock. The context of its request carries the lease
// ([distlock.FromContext]) and is cancelled when the lease is lost. The lock is released
// when the handler returns, panics or calls [runtime.Goexit]; a panic goes on unchanged,
// also [http.ErrAbortHandler].
//
// # Keys
//
// A [KeyFunc] says what a request locks. There is no default: a key that all requests
// share by mistake stops a service, and one that no two requests share locks nothing. Its
// result is encoded like the parameters of [distlock.Wrap]: PathValue("sku") with the
// value "u1" has the key of a function with distlock.By(func(r Req) any { return r.SKU }),
// if Prefix and Value are equal.
//
// A client must not get two locks for one thing by writing it in two ways. The functions
// here use parsed values. They refuse with a 400 what is missing, empty, given twice, or
// read differently by different parsers. Use [Int] for numbers: 1, 01 and +1
// are one number but three strings. Case and Unicode form are for the application to
// normalise. Take the tenant from the authentication, and add it with [Params].
//
// If the router sets path values only after it has found the route, the middleware belongs
// to the route: use chi's With and Group, not Use, and ServeMux.Handle, not a handler
// around the ServeMux. See [PathValue].
//
// # Answers
//
// A request that does not get its lock is answered with problem JSON (RFC 9457), see
// [ProblemOf], or by the function given to [WithErrorHandler]. Then the handler does not run.
//
//	400  the request does not say what to lock           TypeBadKey
//	403  a ticket is missing, or not in order            TypeTicket
//	409  another holder has the lock, and the wait ended TypeBusy
//	409  the caller holds the lock, says its ticket      TypeReentry
//	412  the data have seen a later holder               TypeStale
//	413  the body is larger than the limit               TypeBodyTooLarge
//	424  the outcome is in doubt: the lock was lost      TypeLost
//	429  too many requests wait already                  TypeQueueFull
//	503  the store of the locks failed, or is closed     TypeUnavailable
//	500  anything else
//
// After a 409, 429 or 503, which have Retry-After, a client or a proxy may repeat the
// request, because nothing was done. After a 424 they must not, until the outcome is known. If
// the context of a request ends during the wait, the answer is TypeBusy, or TypeUnavailable if
// the store was failing. Answers do not name keys, owners and servers.
//
// # Preflights
//
// A CORS preflight is an OPTIONS request without the parts that are the key, so it is
// refused with 400. Put the CORS middleware around the lock: it answers preflights itself.
//
// # Waiting
//
// Without a limit a request waits until its context ends, and net/http sets no deadline
// for the context: set [distlock.Opts].MaxWait, which limits only the wait. A timeout
// around the middleware also ends the work of the handler. MaxWaiters limits the number of
// requests that wait, and [JSONField] says how many bytes their bodies may have.
//
// A handler that sends a request to a route with the same lock waits for itself until one
// of these limits, because leases do not travel over the network. Lock only one of the
// two routes, and send the ticket to the other: [SendTickets], [ReceiveTickets].
//
// net/http notices that a client has left only when the request's body has been read:
// see [WithBodyFirst].
//
// # Timeouts inside of the lock
//
// The lock ends when the handler has returned, not when its work has. [http.TimeoutHandler],
// and middlewares that run the handler in a goroutine, return before the work ends: put them
// around the lock. Lock refuses a TimeoutHandler. If other work writes the answer, or asks the
// request's context for its lease, after the request has ended, the server's ErrorLog is
// told, once for each Lock. Work that does neither is not noticed. A goroutine that outlives
// the handler needs a context of [distlock.Detach], and a lock of its own.
//
// # Losing the lock
//
// If a lease is lost while the handler runs, the request's context is cancelled, and the
// outcome is in doubt. The handler should call [distlock.Lease.Check] before it commits.
// Once the lease is over, a handler that begins a success or a 5xx, or returns without having
// written, is answered with TypeLost. A 4xx of the handler is its own. A response that began
// before the loss, or before this process could know of it, is not changed. A loss, or a
// failed release, is reported to [distlock.Hooks].
//
// # Websockets and streams
//
// The handler's [http.ResponseWriter] has Flush, Hijack, ReadFrom, and Unwrap for
// [http.ResponseController]. The lock is held while the handler runs, also for a websocket
// that it serves. net/http does not cancel the context of a hijacked request when the client
// leaves, so watch the connection too. MaxHold limits the time of a client that is stuck: when the
// lease is lost, reads of the body and of a hijacked connection end.
package httpmw
