// Package javakey makes the keys that Java libraries make, so that a Go function and a
// Java method with such a lock exclude each other:
//
//	distlock.Opts{Prefix: "my-", Value: "test", ParamLock: true, KeyFormat: javakey.Aspect}
//
// The functions are for KeyFormat of distlock.Opts. Code that takes a lock by its key can call
// them:
//
//	key, err := javakey.Aspect("my-test", orderID)
//
// Both sides must use one record in the store, too: see package redislock.
package javakey
