package keyenc

import (
	"reflect"
	"slices"
)

// Skip stands in place of parameters of a call that needs no lock. It cannot be
// encoded. Its text only shows in a log.
const Skip skip = "distlock.Skip"

type skip string

// Fault stands for parameters that a middleware could not make: a Site returns Err, after
// its hooks have been told.
type Fault struct{ Err error }

// Missing reports whether params is not a value: nil, an empty string, list or
// map, or a list with such a part. Zero and false are values. Middlewares refuse
// missing parameters, which come from strangers: otherwise all requests that
// leave out their ID would share one lock.
func Missing(params any) bool {
	switch v := params.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case int64:
		return false
	case []any:
		return len(v) == 0 || slices.ContainsFunc(v, Missing)
	}
	switch v := reflect.ValueOf(params); v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Pointer:
		return v.IsNil()
	default:
		return false
	}
}
