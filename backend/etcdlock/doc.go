// Package etcdlock is a lock backend on etcd, 3.4 or later, with the official client.
//
//	client, err := clientv3.New(clientv3.Config{
//		Endpoints:         []string{"etcd1:2379", "etcd2:2379", "etcd3:2379"},
//		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: time.Second,
//	})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	backend, err := etcdlock.New(client, etcdlock.Config{})
//	if err != nil {
//		return err
//	}
//	locker := distlock.New(backend, distlock.Config{})
//	defer locker.Close() // closes the backend, and not the client
//
// Each owner that waits for a key or has it has a place in the key's queue: a key in
// etcd, attached to a lease of etcd. The order of the places is the order in which they
// were created. The owner of the first place has the key. Every other owner watches the
// place in front of its own, so a release wakes exactly one waiter. To take a free key
// is one request, and to release it is another one. A reader does not overtake a writer
// that waits. Adjacent readers at the head of the queue have the key together, and so
// do adjacent requests for permits.
//
// # Guarantees
//
// An owner is granted a key only by an answer that a majority of the servers stands
// for. A member that is cut off from the others cannot grant a key. If the answer to a
// request is lost, the request is harmless: an owner that asks again gets the place
// that it has, and if the owner has given up, the place is deleted in the background. A
// request that arrives after that creates nothing, because its transaction demands that
// a key of the process, the fence, is unchanged, and the process writes the fence
// before it forgets the request.
//
// Fencing tokens are made of the revision that has created the place: the token divided
// by 1024 is that revision. A process that hands the key from goroutine to goroutine
// while no other owner waits writes the place again for every 1024 of them. Tokens rise
// for as long as the cluster keeps its data. After a restore from an old backup, tokens
// may repeat.
//
// # Leases and sessions
//
// A lease of etcd lasts whole seconds, and each is work for the leader. So a Backend
// has one lease of etcd for all its locks, its session, and keeps it alive. The TTL of
// the session is [Config].SessionTTL. Servers refuse to let leases end sooner than
// after one and a half times their election timeout, rounded up: two seconds by
// default.
//
// This package grants no lease that is longer than half of the session's TTL. A longer
// [distlock.Opts.KeyTimeout] is cut. A lock is granted and renewed only if the session
// was kept alive not much earlier, so the holder's context is cancelled before etcd can
// give the key to another owner.
//
// The lease of a lock that is not renewed is ended by this package, in the holder's
// process. If the process is gone, the lease ends with the session. So after a crash a
// key is blocked for the session's TTL, not for KeyTimeout. What MinHold keeps after
// the function has a lease of etcd of its own, and outlives the process: it ends at
// most a second later, or when the servers' shortest lease does. A new leader starts
// the TTL of each lease anew, so an election costs no lock, and may block the keys of a
// crashed process for longer.
//
// If the session ends, because an operator has revoked the lease of etcd, or has
// deleted the keys with the prefix, or because no keep-alive has arrived in time, all
// its locks are lost. The next renewal says so. The next request begins a new session.
//
// The client asks its servers in turn. A request without an answer in half of the time
// of an operation is sent again, to the next one. So a member that is silent costs half
// of [Config].OpTimeout for every third request, until the client notices: with the
// keep-alives above, after seconds; without them, perhaps never.
//
// # Keys in etcd
//
// The places of a key are below the prefix, "distlock/" by default, the name that
// [EscapeKey] returns, and a slash. Anything else that is written there counts as a
// place. The value of a place says what it asks for, and names the owner. The Backend
// writes nothing without a lease.
//
// A cluster that has raised the alarm NOSPACE refuses new locks, and Ping reports it.
// Locks that are held are renewed and released. Each lock is a write to etcd's history,
// so the cluster needs --auto-compaction-retention.
//
// # Users
//
// With authentication the user needs the permission to read and write all keys with the
// prefix. A restart of the servers, and a token that has expired or was revoked, cost
// nothing: the client logs in again. Servers before 3.5 refuse that, and requests hang
// until their deadlines: with authentication, use 3.5 or later.
//
// The client sends the password of its Config for as long as it lives. A program whose
// password changes wraps the client's Auth:
//
//	type login struct{ clientv3.Auth }
//
//	func (l login) Authenticate(ctx context.Context, name, _ string) (
//		*clientv3.AuthenticateResponse, error) {
//		return l.Auth.Authenticate(ctx, name, readPassword())
//	}
//
//	client.Auth = login{client.Auth}
//
// The client looks up the names of its endpoints at each dial. A certificate that is
// renewed is read again if the TLS of its Config has GetClientCertificate.
//
// # concurrency.Mutex
//
// A program that uses concurrency.Mutex of the client library shares the lock if it
// names its mutex by the prefix and [EscapeKey], such as "distlock/order-42". Both wait
// in one queue, in order of arrival. The same holds for the Lock service of the server,
// such as etcdctl lock. A mutex is an exclusive lock without the name of a holder. It
// does not hear of a forced release. The revision in Mutex.Header may be larger than
// the revision of the mutex's place, so it does not compare with token / 1024. The
// CreateRevision of Mutex.Key does.
//
// [distlock.Opts.KeyTimeout]: https://pkg.go.dev/github.com/distlock-go/distlock#Opts
package etcdlock
