// Package httpmw runs HTTP handlers under distributed locks. [Lock] is a
// middleware for net/http: for http.ServeMux, for chi, and for every router
// that fills in [http.Request.PathValue].
//
//	r.With(httpmw.Lock(locker, httpmw.PathValue("id"), distlock.Opts{Prefix: "shop:", Value: "pay"})).
//		Post("/orders/{id}/pay", pay)
//
// The handler runs only with the lock. Its request carries the lease:
// [distlock.FromContext] finds it in the request's context, and that context is
// cancelled when the lease is lost. The lock is given back when the handler
// returns, panics or calls [runtime.Goexit]; a panic goes on untouched,
// [http.ErrAbortHandler] among them.
//
// # Keys
//
// A [KeyFunc] says what a request locks. There is no default: a key that all
// requests share by mistake stops a service, and one that none share locks
// nothing. What it returns goes through the same encoding as the parameters of
// [distlock.Wrap], so PathValue("sku") with the value "u1" has the key of a
// function that is locked with distlock.By(func(r Req) any { return r.SKU }),
// given the same Prefix and Value.
//
// Who sends a request twice must not get two locks by writing one thing in two
// ways. The functions here work on parsed values and refuse with a 400 what is
// missing, empty, given twice, or read differently by different parsers. Use
// [PathInt] and [Int] for numbers: 1, 01 and +1 are one number but three
// strings. Case and Unicode form are for the application to settle, before the
// key is made. Take the tenant from the authentication, not from what the
// client says, and make it a part of its own with [Params].
//
// Where the router sets path values only when it has found the route, the
// middleware belongs to the route: chi's With and Group, not Use; inside
// ServeMux.Handle, not around the ServeMux. A lock in the wrong place, or with the
// name of a wildcard that the pattern does not have, is a mistake of the server: the
// answer is 500, and [http.Server].ErrorLog gets one line for each pattern.
// [CheckPattern] finds the mistake when the program starts.
//
// # Answers
//
// A request that does not get its lock is answered by [WriteError], with RFC
// 9457 problem JSON, or by the function given to [WithErrorHandler]. Either is
// called once and only if the handler has not run and will not.
//
//	400  the request does not say what to lock           TypeBadKey
//	400  its body is larger than was to be read          TypeBodyTooLarge
//	409  another holds the lock, and waiting has ended   TypeBusy
//	429  too many wait already                           TypeQueueFull
//	503  the store of the locks failed, or is closed     TypeUnavailable
//	503  the lock was lost: the outcome is in doubt      TypeLost
//	500  anything else
//
// A 409, 429 or TypeUnavailable comes with Retry-After; nothing has happened
// and the client may repeat the request. A request whose context ended while it
// waited, because the client left or a deadline passed, counts as busy, or as
// unavailable if the store was failing: there may still be a client to tell,
// and an access log should not show a success that never was. Answers name
// neither keys nor owners nor servers.
//
// # Waiting
//
// Without a limit a request waits until its context ends, and net/http sets no
// deadline for the context: set [distlock.Opts].MaxWait, which limits only the wait. A
// timeout around the middleware ends the handler's work, too. MaxWaiters limits the
// number of requests that wait.
//
// A handler that sends a request to a route with the same lock waits for itself, until
// one of these limits: leases do not travel over the network. The error says that this
// process holds the lock, or names the process that sent the request. Lock only one of
// the two routes, or call the other handler within the process, with the request's
// context.
//
// net/http notices that a client has left only when the request's body has been
// read. [WithBodyFirst] and [JSONField] read it before the lock is taken; so a
// client that sends its body slowly does not hold the lock meanwhile, and one
// that leaves gives up its place in line.
//
// # Losing the lock
//
// A lease can be lost while the handler runs. Then the request's context is
// cancelled; what has been done is in doubt, and the response is the handler's
// business, which should ask [distlock.Lease.Check] before it commits. With
// [WithVerified] the response is held back until the handler has returned, and
// replaced by a 503 if the lease did not last. A loss, or a lock that could not
// be given back, is told to [distlock.Hooks] in any case.
//
// # Websockets and streams
//
// Without WithVerified the handler gets the [http.ResponseWriter] as it is, with
// Flush, Hijack, ReadFrom and the rest. The lock is held as long as the handler
// runs, so a websocket or an event stream holds it until it ends. A handler
// that hijacks the connection, hands it to another goroutine and returns has
// given the lock back; and net/http does not cancel the context of a hijacked
// request when the client leaves, so watch the connection too. MaxHold bounds
// what a stuck client can hold.
package httpmw
