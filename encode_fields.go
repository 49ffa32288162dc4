package distlock

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// structFields returns the fields of t that take part: those tagged `lock:"key"`
// if there are any, else those that are not left out.
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
		case f.Anonymous && !f.IsExported() && hasMethod(f.Type):
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

// visible reports whether f can be read. An embedded struct of an unexported
// type can if it promotes a field that takes part.
func visible(f reflect.StructField) bool {
	return f.IsExported() || f.Anonymous && promotes(f.Type, nil, func(sub reflect.StructField, tag string) bool {
		return sub.IsExported() && tag != "-" && !isContext(sub.Type)
	})
}

// hasMethod reports whether t or a pointer to it has a method that would speak
// for it.
func hasMethod(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Implements(lockKeyerType) || p.Implements(lockKeyerType) || t.Implements(textType) || p.Implements(textType)
}

// promotesKey reports whether the embedded type t has a field tagged
// `lock:"key"`, its own or a promoted one.
func promotesKey(t reflect.Type) bool {
	return promotes(t, nil, func(_ reflect.StructField, tag string) bool { return tag == "key" })
}

// promotes reports whether a field of the struct t, or of the structs embedded
// in it and not left out, is what is looked for. The types above end the search
// in recursive types.
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

// speaksByFields reports whether the struct t is encoded by its fields although
// it may have MarshalText: it has `lock` tags, which are meant for this very
// purpose, or the method may be promoted from one embedded field and know
// nothing of the others. Which of the two a method is, reflection cannot tell.
func speaksByFields(t reflect.Type) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		if tag, fault := lockTag(f.Tag); tag != "" || fault != "" {
			return true
		}
		if f.Anonymous && (f.Type.Implements(textType) || reflect.PointerTo(f.Type).Implements(textType)) {
			return true
		}
	}
	return false
}

// isContext reports whether t is a [context.Context]. A struct that only
// embeds one has the methods too, but is a request with a context in it.
func isContext(t reflect.Type) bool {
	if !t.Implements(contextType) && !reflect.PointerTo(t).Implements(contextType) {
		return false
	}
	s := structBelow(t)
	if speaks(t, lockKeyerType) || s != nil && speaks(s, lockKeyerType) {
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
// fields in its .proto file either. Others without a field to see must not pass
// for empty, because all would share one key: those of the opaque API, or those
// that have extensions only.
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

// lockTag returns the value of the `lock` tag, or what is wrong with it. A tag
// that is misspelt would otherwise be ignored, and requests that should exclude
// each other would not.
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

// misspelt reports whether a tag in which [reflect.StructTag] finds no `lock` was
// meant to have one: `lock:key`, `lock "key"`, `Lock:"key"`, `json:"a",lock:"key"`.
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
