// Package queuemodel is a model of redislock's queue for one exclusive key. It is small
// enough to explore all of its states. A change of the protocol is checked with it
// before it is measured or tested under load.
//
// [Server] is the data that the scripts keep in Redis, and does what acquire.lua,
// release.lua and grant_next.lua do. A test in redislock runs the scripts along the steps of
// the model and compares both, so that they stay the same. [Process] is what a caller
// of the Backend knows, and its requests and messages in flight. [Step] is an event: a
// process acquires, polls, claims, abandons or releases; a lease, a claim window or the
// queue expires; a message arrives or is lost; a reply is lost and the call repeated; a
// request arrives late; a process crashes.
//
// [Explore] visits every reachable state, nearest first, and looks for violations:
//
//   - two processes trust the lock, or one trusts it while the server has given it to
//     another or to no owner;
//   - a live owner is refused, or waits behind itself;
//   - an owner has released the lock and still has it, or a place in the queue;
//   - a newcomer passes a waiter, or a waiter loses its place;
//   - in a state without further faults or newcomers, a waiter cannot be served any
//     more;
//   - from a state the key cannot return to its unused state.
//
// The last two are questions about the graph: is there a path of fair steps only? The
// number of states is finite, so if there is a path from all of them, it is also taken,
// provided that a step that is possible again and again is not postponed without end.
//
// # What is bounded, and what is left out
//
// Only the number of processes is bounded: each acquires again and again, and an
// exploration ends because there are no further states. A process starts again with a
// new owner, and only when its last owner has nothing in flight or at the server. A
// real process does not wait for that; but the server knows owners and not processes,
// so for the server it is two processes. Each owner has at most one late attempt and
// one late release.
//
// Time is not modelled: a lease can expire at any moment, with one exception. The lease
// of a process that trusts it does not expire, because the deadline of the process
// comes first. Tokens and the extension of leases are
// not modelled either; the test that runs the scripts checks tokens along the steps.
// Renewals have no effect without time. Shared locks, forced releases (force.lua) and the
// loss of data are left out as well.
package queuemodel
