package javakey

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"unicode/utf16"
	"unicode/utf8"
)

// HashCode returns what hashCode() returns in Java for the value that v stands for:
//
//   - a string, a bool, a float32 or a float64: String, Boolean, Float, Double
//   - int8, int16, int32, int64: Byte, Short, Integer, Long
//   - other integers: Integer or Long; their hash codes differ for negative numbers only.
//     So these are refused, and so are numbers above the largest Long
//   - a slice or an array: a List, or what Arrays.hashCode returns. Bytes are a byte[]
//   - nil: null; its hash code in a List is 0
//   - a type with a method HashCode() int32: what it returns
//
// Pointers are followed. Anything else is refused, and so is a type with a method
// String or MarshalText, such as a UUID or an enum: most other classes of Java have a
// hash code of their own, or one that differs between processes. So has an array by
// itself.
func HashCode(v any) (int32, error) { return hashCode(reflect.ValueOf(v), 0) }

func hashCode(v reflect.Value, depth int) (int32, error) {
	v, err := resolve(v)
	switch {
	case err != nil:
		return 0, err
	case depth > maxNesting:
		return 0, errNesting
	case !v.IsValid():
		return 0, nil
	}
	if v.CanInterface() {
		if h, ok := v.Interface().(hashCoder); ok {
			return h.HashCode(), nil
		}
	}
	switch v.Kind() {
	case reflect.String:
		return hashString(v.String())
	case reflect.Bool:
		if v.Bool() {
			return 1231, nil
		}
		return 1237, nil
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return int32(v.Int()), nil
	case reflect.Int64:
		return hashLong(uint64(v.Int())), nil
	case reflect.Int:
		if v.Int() < 0 {
			return 0, fmt.Errorf("javakey: the int %d is negative: make it an int32 for an Integer, or an int64 for a Long", v.Int())
		}
		return hashLong(uint64(v.Int())), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() > math.MaxInt64 {
			return 0, fmt.Errorf("javakey: %d is more than a Long can be", v.Uint())
		}
		return hashLong(v.Uint()), nil
	case reflect.Float32:
		return hashFloat(float32(v.Float())), nil
	case reflect.Float64:
		return hashDouble(v.Float()), nil
	case reflect.Slice, reflect.Array:
		return hashList(v, depth)
	default:
		return 0, fmt.Errorf("javakey: the hash code of a %v is not known: give it a method HashCode() int32", v.Type())
	}
}

// hashString is the hash code of the UTF-16 units.
func hashString(s string) (h int32, err error) {
	if !utf8.ValidString(s) {
		return 0, fmt.Errorf("javakey: the string %q is not UTF-8", s)
	}
	for _, r := range s {
		if r > math.MaxUint16 {
			high, low := utf16.EncodeRune(r)
			h, r = h*31+high, low
		}
		h = h*31 + r
	}
	return h, nil
}

func hashLong(bits uint64) int32 { return int32(bits ^ bits>>32) }

// hashFloat treats all NaN as one, as Float.hashCode does.
func hashFloat(f float32) int32 {
	if math.IsNaN(float64(f)) {
		return 0x7fc00000
	}
	return int32(math.Float32bits(f))
}

func hashDouble(f float64) int32 {
	if math.IsNaN(f) {
		return 0x7ff80000
	}
	return hashLong(math.Float64bits(f))
}

func hashList(list reflect.Value, depth int) (int32, error) {
	h := int32(1)
	bytes := list.Type().Elem().Kind() == reflect.Uint8
	for i := range list.Len() {
		var e int32
		if bytes {
			e = int32(int8(list.Index(i).Uint())) // a byte of Java has a sign
		} else {
			var err error
			if e, err = hashCode(list.Index(i), depth+1); err != nil {
				return 0, err
			}
		}
		h = h*31 + e
	}
	return h, nil
}

// maxNesting keeps values that contain themselves from being followed without end.
const maxNesting = 64

// hashCoder is a value with a hash code of its own, such as a class of the
// user.
type hashCoder interface{ HashCode() int32 }

// resolve follows pointers and interfaces. The result is not valid if v stands for
// null. A type with a text of its own is refused: the kind below it, such as the array
// of a UUID or the number of an enum, does not say what the class in Java is.
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
