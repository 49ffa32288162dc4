// Package rediskit contains what the backends on Redis share: scripts that are sent
// once, connections beside the user's client, calls with a time limit,
// goroutines that outlive a call, messages of channels, the reasons of errors, and
// checks of options and names.
package rediskit
