// Package redissonlock shares locks with Redisson.
package redissonlock
