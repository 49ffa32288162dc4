// Package queuemodel is a model of redislock's queue for one exclusive key, small
// enough to be explored in all of its states. It is what a change of the protocol
// is checked with, before it is measured or put under load.
//
// [Server] is what the scripts keep in Redis, and does what acquire.lua,
// release.lua and pass.lua do, in their words. A test in redislock runs the
// scripts along the steps of the model and compares, so that the two stay the
// same. [Process] is what a caller of the Backend knows, and what is on its way
// to and from it. [Action] is everything that may happen next: a process acquires,
// polls, claims, gives up or releases; a lease, a claim window or the whole queue
// ends; a message arrives or is lost; a reply is lost and the call repeated; a call
// comes late; a process crashes.
//
// [Explore] visits every state that can be reached, shortest way first, and looks
// for what must not be:
//
//   - two processes that believe in the lock, or one that does while the server
//     has given it to another or to nobody;
//   - a live owner that is refused, or that waits behind itself;
//   - an owner that has given the lock back and still has it, or a place in line;
//   - a newcomer that passes one who waits, or one who waits and loses its place;
//   - a state from which a process that waits cannot be served any more, once
//     nothing goes wrong and nobody new comes;
//   - a state from which the key does not become as if it had never been used.
//
// The last two are asked of the graph: whether a way exists on which nothing but
// fair actions happen. As there are finitely many states, one that exists from all
// of them is also taken, if nothing that is possible again and again is put off for
// ever.
//
// # What is bounded, and what is left out
//
// Nothing is bounded but the number of processes: each acquires again and again,
// and an exploration ends because there are no further states. A process that
// begins anew has a fresh owner, and does so when nothing of the last one is on
// its way or at the server. A real one does not wait for that; but the server
// knows owners and no processes, so to the server it is two. Of each owner one
// attempt and one release at most are late at a time.
//
// Time is left out: whatever may end may end at any moment, with one exception.
// The lease of a process that believes in it does not end, because the deadline of
// the process comes first. Tokens are left out too, and what brings them (prolong);
// they are looked at along the steps that the scripts take. Renewals change nothing
// where there is no time. Neither are there shared locks, an order to give up a
// lock (force.lua), and the loss of data.
package queuemodel
