package javakey

import (
	"encoding"
	"fmt"
	"reflect"
)

// maxNesting keeps values that contain themselves from being followed without end.
const maxNesting = 64

// hashCoder is a value with a hash code of its own, such as that of a class of the user.
type hashCoder interface{ HashCode() int32 }

// resolve follows pointers and interfaces. The result is not valid if v stands for null. A
// type with a text of its own is refused: the kind below it, such as the array of a UUID or the
// number of an enum, does not say what the class in Java is.
func resolve(v reflect.Value) (reflect.Value, error) {
	for range maxNesting {
		if !v.IsValid() {
			return v, nil
		}
		indirect := v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface
		if indirect && v.IsNil() {
			return reflect.Value{}, nil
		}
		if v.CanInterface() && v.Kind() != reflect.Interface { // what is in an interface comes next, and may be nil
			switch v.Interface().(type) {
			case hashCoder:
				return v, nil
			case encoding.TextMarshaler, fmt.Stringer:
				return v, fmt.Errorf("javakey: a %v has a text of its own, and may be a class of any kind: convert it", v.Type())
			}
		}
		if !indirect {
			return v, nil
		}
		v = v.Elem()
	}
	return v, errNesting
}

var errNesting = fmt.Errorf("javakey: nested deeper than %d levels, or without end", maxNesting)
