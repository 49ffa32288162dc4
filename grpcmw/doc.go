// Package grpcmw runs gRPC methods under distributed locks. Interceptors look a
// method up in a table of rules; methods without a rule run without a lock.
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
// ([distlock.FromContext]) and is cancelled when the lease is lost. The lock is
// given back when the handler returns, panics or calls [runtime.Goexit]; a panic
// goes on. What can be checked without a call is checked when an interceptor is
// made, which panics and names the method and the field: a lock that is not
// taken because of a misspelt name would be noticed too late.
//
// # Keys
//
// A [Key] says what a call locks. What it returns goes through the same encoding
// as the parameters of [distlock.Wrap], so Fields("order_id") has the key of a
// function that is locked with distlock.By(func(r PayRequest) any { return
// r.OrderID }), given the same Prefix and Value. A part that is missing or empty
// is refused with InvalidArgument: it is never a lock that all share.
//
// There is no key for the whole message. With it, every field that is added to
// the message would change all keys, and while the versions run side by side
// they would not exclude each other. Name the fields.
//
// # Options in .proto files
//
// [FromOptions] makes the rules of what stands beside the methods themselves, in
// the .proto file:
//
//	import "distlock/v1/lock.proto";
//
//	service ShopService {
//	  rpc Pay(PayRequest) returns (PayResponse) {
//	    option (distlock.v1.lock) = {prefix: "shop:" value: "pay" params: ["order_id"] key_timeout: {seconds: 10}};
//	  }
//	}
//
// Nothing is generated for it: package proto/distlock/v1, which the generated
// code imports for the option, is all that is added to a build. If some of the
// methods stream, each interceptor gets its half, and refuses the other:
//
//	rules := grpcmw.FromOptions()
//	grpc.NewServer(
//		grpc.ChainUnaryInterceptor(grpcmw.UnaryServerInterceptor(locker, rules.Unary())),
//		grpc.ChainStreamInterceptor(grpcmw.StreamServerInterceptor(locker, rules.Streams())),
//	)
//
// [Rules.Adjust] sets what depends on where a program runs. A key of metadata, or
// one that a function makes, needs [ByMethod]: give that to an interceptor beside
// the other. An option is no agreement between client and server on who locks;
// one of them does.
//
// # Waiting
//
// A call waits until its context ends. If the client has set a deadline, no time is
// left for the handler then: [distlock.Opts].MaxWait limits only the wait. MaxWaiters
// limits the number of calls that wait.
//
// # Streams
//
// [StreamServerInterceptor] holds the lock from before the handler begins until
// it has returned, and the stream's context is the lease's. For methods that
// stream only their answers it receives the request first, makes the key from
// it, and hands it to the handler's first RecvMsg. Where the client streams
// there is no one request, and waiting for the first message could wait for
// ever, because the client may be waiting for the server: there the key can be
// made only of the metadata or the method, and Fields is refused. Such a client
// decides how long the lock is held; MaxHold bounds it.
//
// # Answers
//
// A call that does not get its lock ends with one of these, made by
// [StatusError], or with what the function given to [WithErrorHandler] says. Either
// is called once and only if the handler has not run and will not. Each status
// has an ErrorInfo with the reason; those with RetryInfo can be repeated
// safely, because nothing was done.
//
//	InvalidArgument     LOCK_KEY          the request does not say what to lock
//	Aborted             LOCK_BUSY         another holds the lock and the wait has ended; RetryInfo
//	ResourceExhausted   LOCK_QUEUE_FULL   too many wait already; RetryInfo
//	Unavailable         LOCK_UNAVAILABLE  the store failed, or the Locker is closed; RetryInfo
//	Unavailable         LOCK_LOST         the lock was lost: the outcome is in doubt
//	Canceled            LOCK_BUSY         the caller's own context ended while it waited
//	DeadlineExceeded    LOCK_BUSY
//	Internal            LOCK_INTERNAL     anything else
//
// Answers name neither keys nor owners nor servers. In the process itself the
// error still matches, by [errors.Is], what the status was made of.
//
// # Losing the lock
//
// A lease can be lost while the handler runs. Then its context is cancelled;
// what has been done is in doubt, and the answer is the handler's business,
// which should ask [distlock.Lease.Check] before it commits. An error of the
// handler's is never replaced. With [WithVerified] a success is: it becomes
// Unavailable with LOCK_LOST if the lease did not last. A loss, or a lock that
// could not be given back, is told to [distlock.Hooks] in any case.
//
// # Clients
//
// [UnaryClientInterceptor] takes the lock around the outgoing call. Do not lock
// one key on both sides: leases do not travel, so the server would wait for the
// client, which waits for the server. The same is true for a handler that calls
// another method with the same lock. The wait ends with a deadline or MaxWait, and the
// error names the process that holds the lock, and since when.
package grpcmw
