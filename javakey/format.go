// Package javakey makes the keys that Java libraries make, so that a Go function and a
// Java method with such a lock exclude each other:
//
//	distlock.Opts{Prefix: "my-", Value: "test", ParamLock: true, KeyFormat: javakey.Aspect}
//
// The functions are for KeyFormat of distlock.Opts. Code that takes a lock by its key
// can call them:
//
//	key, err := javakey.Aspect("my-test", orderID)
//
// Both sides must use one record in the store, too: see package redislock.
package javakey

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
)

// Aspect makes the key of the aspect for Spring that is often copied under the name
// @DistributedLock: prefix + value, then "-" and the hash code of each argument that is
// not null, then "-locks". A []any is a list of arguments, any other value is one
// argument; see [HashCode]. An argument that is a List is a slice of another type, such
// as []string, or an element of the []any.
//
// Different arguments may have one hash code, and then they have one lock, as in Java.
func Aspect(base string, params any) (string, error) {
	key := append(make([]byte, 0, len(base)+32), base...)
	for _, p := range arguments(params) {
		v, err := resolve(reflect.ValueOf(p))
		if err != nil {
			return "", err
		}
		if !v.IsValid() {
			continue
		}
		h, err := hashCode(v, 0)
		if err != nil {
			return "", err
		}
		key = strconv.AppendInt(append(key, '-'), int64(h), 10)
	}
	return string(append(key, "-locks"...)), nil
}

// ShedLock makes the keys of ShedLock's provider for Redis: "job-lock:", the
// environment, ":" and the name, which is the base. They have no parameters.
func ShedLock(environment string) func(base string, params any) (key string, err error) {
	return func(base string, params any) (string, error) {
		if params != nil {
			return "", fmt.Errorf("javakey: the key of ShedLock has no parameters, but there is a %T", params)
		}
		return "job-lock:" + environment + ":" + base, nil
	}
}

// arguments returns the parameters one by one. nil alone is none.
func arguments(params any) []any {
	switch p := params.(type) {
	case nil:
		return nil
	case []any:
		return p
	default:
		return []any{params}
	}
}

// AspectDefaults returns what an annotation of the aspect means where it sets nothing:
// a lease of 1 s, three attempts, 500 ms between them, and the key of [Aspect]. Set
// Prefix and Value, and the fields for which the annotation has attributes; its
// retryCount 0 is RetryCount 0, no limit.
func AspectDefaults() distlock.Opts {
	return distlock.Opts{
		KeyTimeout:    time.Second,
		RetryCount:    3,
		RetryInterval: 500 * time.Millisecond,
		KeyFormat:     Aspect,
	}
}
