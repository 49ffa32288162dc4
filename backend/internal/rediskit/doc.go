// Package rediskit has what the backends on Redis share: goroutines that outlive a
// call, and what they have to know about owners and about errors of the client.
package rediskit
