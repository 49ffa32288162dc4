package keyenc

import (
	"context"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lockKeyer is a type that chooses its own text for the key.
type lockKeyer interface{ LockKey() string }

// asTimer is a protobuf Timestamp.
type asTimer interface{ AsTime() time.Time }

var (
	lockKeyerType = reflect.TypeFor[lockKeyer]()
	textType      = reflect.TypeFor[encoding.TextMarshaler]()
	stringerType  = reflect.TypeFor[fmt.Stringer]()
	asTimerType   = reflect.TypeFor[asTimer]()
	valuerType    = reflect.TypeFor[driver.Valuer]()
	contextType   = reflect.TypeFor[context.Context]()
	protoType     = reflect.TypeFor[interface{ ProtoMessage() }]()
	timeType      = reflect.TypeFor[time.Time]()
	addrType      = reflect.TypeFor[netip.Addr]()
	numberType    = reflect.TypeFor[json.Number]()
	skipType      = reflect.TypeFor[skip]()
)

// hasMethod reports whether addressable values of t have the method. For pointers
// and interfaces it returns false: they are followed instead, so that the method
// of a nil one is not called.
func hasMethod(t, method reflect.Type) bool {
	return t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(method)
}

// structFields returns the fields of t that take part in the key: those tagged
// `lock:"key"` if there are any, otherwise all that are not left out.
func structFields(t reflect.Type) ([]reflect.StructField, *paramError) {
	message := reflect.PointerTo(t).Implements(protoType)
	var all, keys []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		tag, fault := lockTag(f.Tag)
		switch {
		case fault != "":
			return nil, &paramError{path: "." + f.Name, what: fault}
		case tag == "key" && !visible(f):
			return nil, &paramError{path: "." + f.Name, what: "is tagged `lock:\"key\"` but unexported, so it cannot be read"}
		case tag == "key" && isContext(f.Type):
			return nil, &paramError{path: "." + f.Name, what: "is tagged `lock:\"key\"` but is a context"}
		case tag == "-" || isContext(f.Type):
			continue
		case f.Anonymous && !f.IsExported() && hasKeyMethod(f.Type):
			return nil, &paramError{path: "." + f.Name, what: "is of an unexported type whose method cannot be called; " +
				"give the struct a method LockKey() string or leave it out with `lock:\"-\"`"}
		case !visible(f):
			continue
		case message && strings.HasPrefix(f.Name, "XXX_"):
			continue
		}
		all = append(all, f)
		if tag == "key" || f.Anonymous && promotesKey(f.Type) {
			keys = append(keys, f)
		}
	}
	if keys != nil {
		return keys, nil
	}
	return all, nil
}

// visible reports whether f can be read. An embedded struct of an unexported type
// can be read if it promotes a field that takes part.
func visible(f reflect.StructField) bool {
	return f.IsExported() || f.Anonymous && promotes(f.Type, nil, func(sub reflect.StructField, tag string) bool {
		return sub.IsExported() && tag != "-" && !isContext(sub.Type)
	})
}

// hasKeyMethod reports whether t or a pointer to it has a method that would
// replace its fields.
func hasKeyMethod(t reflect.Type) bool {
	return slices.ContainsFunc([]reflect.Type{lockKeyerType, textType, asTimerType}, func(method reflect.Type) bool {
		return t.Implements(method) || reflect.PointerTo(t).Implements(method)
	})
}

// promotesKey reports whether the embedded type t has a field tagged
// `lock:"key"`, either its own or a promoted one.
func promotesKey(t reflect.Type) bool {
	return promotes(t, nil, func(_ reflect.StructField, tag string) bool { return tag == "key" })
}

// promotes reports whether wanted accepts a field of the struct t, or of the
// structs embedded in it that are not left out. Above are the types that contain
// t; they end the search in recursive types.
func promotes(t reflect.Type, above []reflect.Type, wanted func(f reflect.StructField, tag string) bool) bool {
	t = structBelow(t)
	if t == nil || slices.Contains(above, t) {
		return false
	}
	above = append(above, t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _ := lockTag(f.Tag)
		if wanted(f, tag) || f.Anonymous && tag != "-" && promotes(f.Type, above, wanted) {
			return true
		}
	}
	return false
}

// structBelow returns the struct type that t is or points to, or nil.
func structBelow(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// encodesFields reports whether the struct t is encoded by its fields even if it
// has such a method: it has `lock` tags, or the method may be promoted from one
// embedded field and ignore the others. Reflection cannot tell whether a method
// is promoted.
func encodesFields(t reflect.Type) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		if tag, fault := lockTag(f.Tag); tag != "" || fault != "" {
			return true
		}
		if f.Anonymous && hasKeyMethod(f.Type) {
			return true
		}
	}
	return false
}

// isContext reports whether t is a [context.Context]. A struct that embeds a
// context has the methods too, but is a request that contains one.
func isContext(t reflect.Type) bool {
	if !t.Implements(contextType) && !reflect.PointerTo(t).Implements(contextType) {
		return false
	}
	s := structBelow(t)
	if hasMethod(t, lockKeyerType) || s != nil && hasMethod(s, lockKeyerType) {
		return false
	}
	if s != nil {
		for i := range s.NumField() {
			if f := s.Field(i); f.Anonymous && f.Type.Implements(contextType) {
				return false
			}
		}
	}
	return true
}

// emptyMessage reports whether t is a generated protobuf message that has no
// fields in its .proto file. Messages of the opaque API, and messages with only
// extensions also show no field, but are not empty: they must not share one key.
func emptyMessage(t reflect.Type) bool {
	if !reflect.PointerTo(t).Implements(protoType) {
		return false
	}
	for i := range t.NumField() {
		switch t.Field(i).Name {
		case "state", "sizeCache", "unknownFields", "XXX_NoUnkeyedLiteral", "XXX_unrecognized", "XXX_sizecache":
		default:
			return false
		}
	}
	return true
}

// lockTag returns the value of the `lock` tag, or what is wrong with it. If a
// misspelt tag were ignored, requests that should exclude each other would not.
func lockTag(tag reflect.StructTag) (value, fault string) {
	value, ok := tag.Lookup("lock")
	switch {
	case ok && value != "key" && value != "-":
		return "", "has the unknown tag `lock:" + strconv.Quote(value) + "`: it is \"key\" or \"-\""
	case !ok && tag != "" && misspelt(string(tag)):
		return "", "has the malformed tag " + strconv.Quote(string(tag)) + ": write `lock:\"key\"` or `lock:\"-\"`"
	}
	return value, ""
}

// misspelt reports whether a tag in which [reflect.StructTag] finds no `lock` looks
// like one with it: `lock:key`, `lock "key"`, `Lock:"key"`, `json:"a",lock:"key"`.
func misspelt(tag string) bool {
	for {
		tag = strings.TrimLeft(tag, " ,;\t")
		name, rest, _ := strings.Cut(tag, ":")
		if word, _, _ := strings.Cut(name, " "); strings.EqualFold(word, "lock") {
			return true
		}
		value, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return false
		}
		tag = rest[len(value):]
	}
}
