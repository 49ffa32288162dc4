// Package lockui is a page that shows the locks of a store: the holders of each key with
// their tokens and the time left, and who waits, in order. [New] returns it as a handler for
// net/http:
//
//	ui := lockui.New(locker, lockui.WithPrefix("shop:"))
//	mux.Handle("/locks/", http.StripPrefix("/locks", ui))
//
// It works below any path of any mux, because all its URLs are relative, and brings its
// scripts and styles along. The backend must be a
// [github.com/distlock-go/distlock/driver.Inspector]. In Redis the page is for a database of
// locks: to list them, Redis visits all its keys, and a million others make each look slow.
//
// Put the handler behind the authentication of the application: the page is for
// operators. To listen on 127.0.0.1 alone is not enough, because a page of another site
// can reach that in the browser of an operator (DNS rebinding). The page shows only a
// fingerprint of an owner, with which any client of the store could release the lock. It is
// read-only unless [WithForceRelease] says which requests may take a key away.
//
// # Paths
//
//	GET  ./?prefix=P         the page, or the locks in JSON
//	GET  ./key?name=K        the page for one key, or the key in JSON
//	GET  ./events?prefix=P   the locks as server-sent events
//	POST ./release           takes the key in the field "key" of a form away from its holders
//
// The first two answer with JSON if the header Accept names application/json. Without
// a prefix they are about all keys, or the keys of [WithPrefix], at most 1,000.
// A free key is not an error. Errors are problem JSON (RFC 9457): 400 for parameters
// that are not acceptable, 403 for keys outside of the prefix, 501 if the backend cannot
// list its locks, 503 if the store does not answer, or if many others ask
// for a minute.
//
//	{"at": "2026-11-22T10:12:30Z",
//	 "locks": [{
//	   "key": "shop:stock:u1", "mode": "exclusive", "held": 1, "waiting": 1, "waiting_here": 79,
//	   "holders": [{"holder": "web-3/1432", "fingerprint": "a5e8f800315f", "token": "1795342347462681",
//	                "last_token": "1795342347463704", "since": "2026-11-22T10:12:27Z", "until": "2026-11-22T10:12:37Z"}],
//	   "waiters": [{"waiter": "web-4/1902", "fingerprint": "f5fce0520b6b", "mode": "exclusive",
//	                "since": "2026-11-22T10:12:28Z"}]}],
//	 "more": false, "can_release": false}
//
// The mode is exclusive, shared, permits or foreign; a foreign key contains something
// that is not a lock of this library, and "foreign" is its type. What the store does not
// know about a holder or a waiter is omitted. The waiters are the first 16 places of the
// store's queue; the mode of a waiter, and its "permits", are what it asks for. "waiting" is
// how many have a place in that queue, and "waiting_here" how many callers of this process
// wait behind one of their own. The tokens of a holder are among "token" to "last_token".
// They are strings, because they may exceed what JavaScript counts exactly. "since" is the
// store's time, the others are times of this process. "more" says that there are more keys
// than these.
//
// # Events
//
// The event "locks" has the same JSON, when the client connects and whenever it has
// changed; a renewal is a change. The event "unavailable" says that the store does not
// answer, as {"error": "unavailable"}; the next "locks" says that it answers again. The
// store is asked twice a second for each prefix, however many clients look at it, and
// only while one does. A Handler asks the store once at a time, and then pauses for as long as
// the answer took. Who asks for the locks of a prefix meanwhile gets that answer, too. The
// streams end with [Handler.Close], which a server calls when it shuts down, because
// [net/http.Server.Shutdown] waits for them:
//
//	server.RegisterOnShutdown(ui.Close)
//
// # In another page
//
// The table is a custom element, which any page of the same origin can show:
//
//	<script type="module" src="/locks/lockui.js"></script>
//	<distlock-locks src="/locks/" prefix="shop:"></distlock-locks>
package lockui
