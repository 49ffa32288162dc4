// Package grpcmw runs gRPC methods under distributed locks. Interceptors look up a method
// in a table of rules; methods without a rule run without a lock.
//
//	rules := grpcmw.ByMethod(map[string]grpcmw.Rule{
//		"/shop.v1.ShopService/Pay": {
//			Key:  grpcmw.Fields("order_id"),
//			Opts: distlock.Opts{Prefix: "shop:", Value: "pay"},
//		},
//	})
//	grpc.NewServer(grpc.ChainUnaryInterceptor(grpcmw.UnaryServerInterceptor(locker, rules)))
//
// The handler runs only with the lock. Its context carries the lease
// ([distlock.FromContext]) and is cancelled when the lease is lost. The lock is released
// when the handler returns, panics or calls [runtime.Goexit]; a panic goes on. A new
// interceptor checks everything that can be checked without a call, and panics with the
// method and the field: a misspelt name would otherwise be a lock that is not taken.
//
// # Keys
//
// A [Key] says what a call locks. Its result is encoded like the parameters of
// [distlock.Wrap]: Fields("order_id") has the key of a function with
// distlock.By(func(r PayRequest) any { return r.OrderID }), if Prefix and Value are equal.
// A part that is missing or empty is refused with InvalidArgument. Only a number, bool or enum
// without presence cannot be missing: it is 0, and a lock that such calls share. See [Fields].
//
// There is no key for the whole message: every field that is added to the message would
// change all keys, and old and new versions of a service would not exclude each other.
//
// # Options in .proto files
//
// [FromOptions] makes the rules from options of the methods in the .proto file:
//
//	import "distlock/v1/lock.proto";
//
//	service ShopService {
//	  rpc Pay(PayRequest) returns (PayResponse) {
//	    option (distlock.v1.lock) = {prefix: "shop:" value: "pay" params: ["order_id"] key_timeout: {seconds: 10}};
//	  }
//	}
//
// Nothing is generated for it: the build only gets package grpcmw/proto/distlock/v1, which the
// generated code imports for the option. The head of grpcmw/proto/distlock/v1/lock.proto says
// how protoc finds it.
//
// If some of the methods stream, each interceptor
// gets its half, and panics on the other:
//
//	rules := grpcmw.FromOptions()
//	grpc.NewServer(
//		grpc.ChainUnaryInterceptor(grpcmw.UnaryServerInterceptor(locker, rules.Unary())),
//		grpc.ChainStreamInterceptor(grpcmw.StreamServerInterceptor(locker, rules.Streams())),
//	)
//
// [Rules.Adjust] sets what depends on where a program runs. A key from metadata or from a
// function needs [ByMethod], in an interceptor of its own.
//
// # Waiting
//
// A call waits until its context ends. If that is a deadline of the client, no time is left
// for the handler: [distlock.Opts].MaxWait limits only the wait. MaxWaiters limits the
// number of calls that wait. If the messages of the others that wait in one interceptor have
// more than 64 MB together, the next call is refused with LOCK_QUEUE_FULL.
//
// # Streams
//
// [StreamServerInterceptor] holds the lock while the handler runs, and the stream
// has the context of the lease. If the client streams, there is no single request: the key
// can only be metadata or the method, and Fields is refused. Such a client decides how long
// the lock is held; MaxHold limits it. RecvMsg returns the loss of the lease.
//
// # Goroutines
//
// The lock ends when the handler has returned, not when its work has. A goroutine that a
// handler or a timeout leaves behind has no lock. If it asks its context for the lease, that
// is logged by [slog.Default], once for each interceptor. Wait for the goroutines, or give them
// a context of [distlock.Detach] and a lock of their own.
//
// # Answers
//
// A call that does not get its lock ends with one of these, made by [StatusError]. An
// interceptor before this one can give another answer. Each status has an ErrorInfo with the
// reason. A call with RetryInfo in its status can be repeated, because nothing was done. After
// LOCK_LOST a call must not be repeated until its outcome is known: no retry policy should
// contain FailedPrecondition.
//
//	InvalidArgument     LOCK_KEY          the request does not say what to lock
//	Aborted             LOCK_BUSY         another holder has the lock, and the wait ended; RetryInfo
//	ResourceExhausted   LOCK_QUEUE_FULL   too many calls wait already; RetryInfo
//	Unavailable         LOCK_UNAVAILABLE  the store failed, or the Locker is closed; RetryInfo
//	FailedPrecondition  LOCK_LOST         the lock was lost, or the work had begun: the outcome is in doubt
//	FailedPrecondition  LOCK_REENTRY      the caller holds the lock, says its ticket
//	FailedPrecondition  LOCK_STALE        the data have seen a later holder
//	Unauthenticated     LOCK_TICKET       a ticket is missing, or not in order
//	Canceled            LOCK_BUSY         the caller's own context ended during the wait
//	DeadlineExceeded    LOCK_BUSY         the same
//	Internal            LOCK_INTERNAL     anything else
//
// Answers do not name keys, owners and servers. Within the process, the error still
// matches the original error by [errors.Is].
//
// # Losing the lock
//
// If a lease is lost while the handler runs, its context is cancelled, and the outcome is in
// doubt. The handler should call [distlock.Lease.Check] before it commits. If it succeeds all
// the same, or fails with a fault of the server, such as Internal, Unavailable or an error
// without a status, the call ends with LOCK_LOST. A status that says what is wrong with the
// call, such as NotFound, is not replaced. For a stream only the status changes; messages
// that were sent are sent. A loss, or a failed release, is reported to [distlock.Hooks].
//
// # Clients
//
// A client that has to lock, because the server does not, calls within
// [distlock.Locker.Do]. Do not lock one key on both sides: leases do not travel, so the
// server would wait for the client, which waits for the server. The same is true for a
// handler that calls another method with the same lock. Tickets travel: [SendTickets],
// [ReceiveTickets].
package grpcmw
