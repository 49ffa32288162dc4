// Package rediskit contains what the backends on Redis share: calls with a time limit,
// goroutines that outlive a call, the reasons of errors, and checks of options and names.
package rediskit
