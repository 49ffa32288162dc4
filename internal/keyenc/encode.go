package keyenc

import (
	"bytes"
	"encoding"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const maxPooled = 64 << 10 // bytes; a larger buffer is dropped

// Encoder encodes one set of parameters. Get one with [NewEncoder].
type Encoder struct {
	key   []byte     // see KeyBuffer
	buf   []byte     // the encoded parameters, a list in parentheses
	spans []mapEntry // entries of the maps being encoded, innermost last
}

type mapEntry struct{ from, to int }

var encoders = sync.Pool{New: func() any {
	return &Encoder{buf: make([]byte, 0, 256), key: make([]byte, 0, MaxKeyLen)}
}}

// NewEncoder returns an Encoder, from a pool if it has one.
func NewEncoder() *Encoder { return encoders.Get().(*Encoder) }

// Free returns e and its buffers to the pool, unless a large request made them
// too large to keep. If a method of the caller's type may still run on e, because
// it ended the goroutine, do not call Free.
func (e *Encoder) Free() {
	if cap(e.buf) > maxPooled || cap(e.spans) > maxPooled/8 {
		return
	}
	e.buf, e.spans = e.buf[:0], e.spans[:0]
	encoders.Put(e)
}

// Encoded returns the result of Encode if that did not fail. It is valid until Free.
func (e *Encoder) Encoded() []byte {
	if e.isList() {
		return e.buf[1 : len(e.buf)-1]
	}
	return e.buf
}

// isList reports whether the parameters are a list: a text has no parentheses.
func (e *Encoder) isList() bool { return len(e.buf) > 0 && e.buf[0] == '(' }

// Parts returns the number of the parameters.
func (e *Encoder) Parts() int {
	if !e.isList() {
		return 1
	}
	parts, depth := 1, 0
	for _, c := range e.Encoded() {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ':':
			if depth == 0 {
				parts++
			}
		}
	}
	return parts
}

// KeyBuffer returns an empty slice with room for a key. It is valid until Free.
func (e *Encoder) KeyBuffer() []byte { return e.key[:0] }

// Encode encodes params. Call it once. The error says where in params the fault
// is, and wraps the error of the caller's method if that failed.
func (e *Encoder) Encode(params any) error {
	if params == nil {
		return nil
	}
	t := reflect.TypeOf(params)
	plan := planOf(t)
	err := e.value(plan, reflect.ValueOf(params), 0)
	if err == nil {
		err = plan.fault
	}
	if err == nil && len(e.buf) > MaxEncoded {
		err = tooLarge()
	}
	if err != nil {
		return err.within(rootName(t))
	}
	return nil
}

// value appends the encoding of v. A fault of v's type is in its plan already; it
// is returned here only if v leads to it, because then its path is exact.
func (e *Encoder) value(p *typePlan, v reflect.Value, depth int) *paramError {
	// Lists, maps and values without end always pass here, so this check ends the walk.
	if len(e.buf) > MaxEncoded {
		return tooLarge()
	}
	var dynamic *paramError // of a type found behind an interface
	for hops := 0; p.op == opPointer || p.op == opInterface; hops++ {
		if v.IsNil() {
			return dynamic
		}
		if hops == MaxNesting {
			return tooDeep()
		}
		v = v.Elem()
		if p.op == opPointer {
			p = p.elem
			continue
		}
		p = planOf(v.Type())
		if dynamic == nil {
			dynamic = p.fault
		}
	}
	if err := e.direct(p, v, depth); err != nil {
		return err
	}
	return dynamic
}

// direct appends the encoding of v, which is neither a pointer nor an interface.
func (e *Encoder) direct(p *typePlan, v reflect.Value, depth int) *paramError {
	switch p.op {
	case opBool:
		e.buf = strconv.AppendBool(e.buf, v.Bool())
	case opInt:
		e.buf = strconv.AppendInt(e.buf, v.Int(), 10)
	case opUint:
		e.buf = strconv.AppendUint(e.buf, v.Uint(), 10)
	case opFloat:
		return e.float(v.Float(), p.typ.Bits())
	case opString:
		return write(e, v.String())
	case opNumber:
		return e.number(v.String())
	case opBytes:
		return e.bytes(v)
	case opMethod:
		return e.method(p, v)
	case opRefuse:
		return p.refused
	default:
		if depth == MaxNesting {
			return tooDeep()
		}
		switch p.op {
		case opStruct:
			return e.structure(p, v, depth+1)
		case opMap:
			return e.mapping(p, v, depth+1)
		default:
			return e.list(p, v, depth+1)
		}
	}
	return nil
}

// method appends the text that a method of v returns. The method belongs to the caller, and
// may be promoted through an embedded pointer that is nil.
func (e *Encoder) method(p *typePlan, v reflect.Value) (fault *paramError) {
	name := "LockKey"
	defer func() {
		if r := recover(); r != nil {
			fault = p.blame(name+" panicked", Panicked(r))
		}
	}()
	switch r := p.receiver(v).(type) {
	case lockKeyer:
		key := r.LockKey()
		if key == "" {
			return p.blame("LockKey returned an empty string", nil)
		}
		return write(e, key)
	case time.Time:
		return e.time(r)
	case *time.Time: // a value that has an address
		return e.time(*r)
	case asTimer:
		name = "AsTime"
		return e.time(r.AsTime())
	case netip.Addr:
		return e.addr(r)
	case *netip.Addr:
		return e.addr(*r)
	case netip.AddrPort:
		return e.endpoint(r)
	case *netip.AddrPort:
		return e.endpoint(*r)
	case encoding.TextMarshaler:
		name = "MarshalText"
		text, err := r.MarshalText()
		if err != nil {
			return p.blame(name, err)
		}
		return write(e, text)
	default:
		name = "String"
		return write(e, r.(fmt.Stringer).String())
	}
}

func (e *Encoder) structure(p *typePlan, v reflect.Value, depth int) *paramError {
	if p.valid != nil && !v.FieldByIndex(p.valid).Bool() {
		return nil
	}
	if len(p.fields) > 1 {
		e.buf = append(e.buf, '(')
	}
	for i := range p.fields {
		f := &p.fields[i]
		if i > 0 {
			e.buf = append(e.buf, ':')
		}
		if err := e.value(f.plan, v.Field(f.index), depth); err != nil {
			return err.within("." + f.name)
		}
	}
	if len(p.fields) > 1 {
		e.buf = append(e.buf, ')')
	}
	return nil
}

func (e *Encoder) list(p *typePlan, v reflect.Value, depth int) *paramError {
	n := v.Len()
	if n > 1 {
		e.buf = append(e.buf, '(')
	}
	for i := range n {
		if i > 0 {
			e.buf = append(e.buf, ':')
		}
		if err := e.value(p.elem, v.Index(i), depth); err != nil {
			return err.within("[" + strconv.Itoa(i) + "]")
		}
	}
	if n > 1 {
		e.buf = append(e.buf, ')')
	}
	return nil
}

// mapping encodes the entries, lists of a key and a value, in random order, and then sorts
// them. Two keys may have the same encoding (int32(5) and "5" in a map[any]T, or pointers to
// equal values), so the values are compared too.
func (e *Encoder) mapping(p *typePlan, v reflect.Value, depth int) *paramError {
	start, first := len(e.buf), len(e.spans)
	for it := v.MapRange(); it.Next(); {
		from := len(e.buf)
		e.buf = append(e.buf, '(')
		if err := e.value(p.key, it.Key(), depth); err != nil {
			return err.within("[key]")
		}
		e.buf = append(e.buf, ':')
		if err := e.value(p.elem, it.Value(), depth); err != nil {
			return err.within("[" + keyName(it.Key()) + "]")
		}
		e.buf = append(e.buf, ')')
		e.spans = append(e.spans, mapEntry{from, len(e.buf)})
	}
	entries, end := e.spans[first:], len(e.buf)
	e.spans = e.spans[:first]
	if len(entries) < 2 {
		return nil
	}
	slices.SortFunc(entries, func(a, b mapEntry) int {
		return bytes.Compare(e.buf[a.from:a.to], e.buf[b.from:b.to])
	})
	sep := byte('(')
	for _, s := range entries {
		e.buf = append(append(e.buf, sep), e.buf[s.from:s.to]...)
		sep = ':'
	}
	e.buf = append(e.buf, ')')
	e.buf = e.buf[:start+copy(e.buf[start:], e.buf[end:])]
	return nil
}

// float appends the shortest decimal, without an exponent: 5.0 is 5.
func (e *Encoder) float(f float64, bits int) *paramError {
	if math.IsNaN(f) {
		return &paramError{what: "NaN is not equal to itself and cannot take part in a key"}
	}
	if f == 0 {
		f = 0 // -0 == 0
	}
	e.buf = strconv.AppendFloat(e.buf, f, 'f', -1, bits)
	return nil
}

// number appends a JSON number as a float if it is written as one, so 5.0 and 50e-1 are 5. An
// integer stays as it is, because a float may be less exact.
func (e *Encoder) number(text string) *paramError {
	if text == "-0" || strings.ContainsAny(text, ".eE") {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return e.float(f, 64)
		}
	}
	return write(e, text)
}

func (e *Encoder) bytes(v reflect.Value) *paramError {
	if v.Kind() == reflect.Slice {
		return write(e, v.Bytes())
	}
	array := make([]byte, v.Len())
	for i := range array {
		array[i] = byte(v.Index(i).Uint())
	}
	if len(array) == 16 { // a UUID
		return write(e, fmt.Sprintf("%x-%x-%x-%x-%x", array[:4], array[4:6], array[6:8], array[8:10], array[10:]))
	}
	return write(e, array)
}

// time appends the instant in UTC.
func (e *Encoder) time(t time.Time) *paramError {
	var buf [64]byte
	text, err := t.UTC().AppendText(buf[:0])
	if err != nil {
		return &paramError{what: "time.Time: MarshalText", err: err}
	}
	return write(e, text)
}

// addr appends the text of an address: one of IPv4 in IPv6 is one of IPv4.
func (e *Encoder) addr(a netip.Addr) *paramError {
	text, _ := a.Unmap().MarshalText()
	return write(e, text)
}

func (e *Encoder) endpoint(a netip.AddrPort) *paramError {
	text, _ := netip.AddrPortFrom(a.Addr().Unmap(), a.Port()).MarshalText()
	return write(e, text)
}

// write appends a text. It refuses one that is too large.
func write[T string | []byte](e *Encoder, s T) *paramError {
	if len(s) > MaxEncoded-len(e.buf) {
		return tooLarge()
	}
	e.buf = escape(e.buf, s)
	return nil
}
