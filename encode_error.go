package distlock

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// paramError says what cannot take part in a key, and where it is.
type paramError struct {
	path string // grows from the inside out while the walk returns
	what string
	err  error // of a method of the caller's
}

func (p *paramError) Error() string {
	text := p.path + ": " + p.what
	if p.err != nil {
		text += ": " + p.err.Error()
	}
	return text
}

func (p *paramError) Unwrap() error { return p.err }

// within returns a copy, because plans keep and share the faults of types.
func (p *paramError) within(step string) *paramError {
	const most = 256 // bytes: a cycle through a map repeats the caller's key
	c := *p
	if c.path = step + c.path; len(c.path) > most {
		c.path = strings.ToValidUTF8(c.path[:most], "") + "…"
	}
	return &c
}

// panicked returns an error for the panic of a method or a function of the caller while
// a key was built: nothing is locked yet, and decorators do not panic themselves.
func panicked(with any) error {
	if err, ok := with.(error); ok {
		return err
	}
	return errors.New(quoteKey(fmt.Sprint(with)))
}

func tooDeep() *paramError {
	return &paramError{what: "nested deeper than " + strconv.Itoa(maxNesting) + " levels, or without end"}
}

func tooLarge() *paramError {
	return &paramError{what: "the parameters are over " + strconv.Itoa(maxEncoded) + " bytes when encoded"}
}

// rootName begins the path in errors.
func rootName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	if t.Name() == "" {
		return "params"
	}
	return t.String()
}

// keyName shows a map's key in a path. Callers choose keys.
func keyName(v reflect.Value) string {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.String:
		return quoteKey(v.String())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	default:
		return ""
	}
}
