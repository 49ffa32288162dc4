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
	"strings"
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
		v, _ := resolve(reflect.ValueOf(p)) // hashCode reports the error
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

// Lock4j makes the key of @Lock4j with its own key builder and key prefix: "lock4j:",
// the name, "#", and the values of the keys with "." between them. The base is the
// name. A []any is several values, any other value is one. They may be strings,
// integers, bools, and nil among others; what Java makes of the rest is not the text
// that Go makes of it.
func Lock4j(base string, params any) (string, error) {
	var texts []string
	for _, p := range arguments(params) {
		text, err := javaText(p)
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return "lock4j:" + base + "#" + strings.Join(texts, "."), nil
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

// javaText returns what String.valueOf returns.
func javaText(v any) (string, error) {
	r, err := resolve(reflect.ValueOf(v))
	switch {
	case err != nil:
		return "", err
	case !r.IsValid():
		return "null", nil
	}
	switch r.Kind() {
	case reflect.String:
		return r.String(), nil
	case reflect.Bool:
		return strconv.FormatBool(r.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(r.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(r.Uint(), 10), nil
	default:
		return "", fmt.Errorf("javakey: the text of a %T in Java is not known: make it a string", v)
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
