package keyenc

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock/internal/text"
)

// paramError says which part of the parameters cannot be encoded, and why.
type paramError struct {
	path string // is built from the inside out while the walk returns
	what string
	err  error // from a method of the caller's type
}

func (p *paramError) Error() string {
	s := p.path + ": " + p.what
	if p.err != nil {
		s += ": " + p.err.Error()
	}
	return s
}

func (p *paramError) Unwrap() error { return p.err }

// within returns p one step further out. It copies p, because plans keep and
// share the faults of types.
func (p *paramError) within(step string) *paramError {
	const most = 256 // bytes: a cycle through a map repeats the caller's key
	c := *p
	if c.path = step + c.path; len(c.path) > most {
		c.path = strings.ToValidUTF8(c.path[:most], "") + "…"
	}
	return &c
}

// Panicked returns the value of a panic as an error. Methods and functions of the
// caller that panic while a key is built end the call with an error: nothing is
// locked yet.
func Panicked(value any) error {
	if err, ok := value.(error); ok {
		return err
	}
	return errors.New(text.Quote(fmt.Sprint(value)))
}

func tooDeep() *paramError {
	return &paramError{what: "nested deeper than " + strconv.Itoa(MaxNesting) + " levels, or without end"}
}

func tooLarge() *paramError {
	return &paramError{what: "the parameters are over " + strconv.Itoa(MaxEncoded) + " bytes when encoded"}
}

// rootName returns the first word of the path in errors.
func rootName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	if t.PkgPath() == "" { // of Go itself, or without a name
		return "params"
	}
	return t.String()
}

// keyName returns the key of a map as text for a path. Strangers choose such keys.
func keyName(v reflect.Value) string {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.String:
		return text.Quote(v.String())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	default:
		return ""
	}
}
