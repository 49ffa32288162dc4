package distlock

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Limits of what is encoded. Strangers choose parameters: nobody may make the
// process walk for ever or hash a gigabyte.
const (
	maxEncoded = 1 << 20 // bytes
	maxNesting = 64      // structs, lists and maps in one another; pointers in a row
	maxPooled  = 64 << 10
)

// Every encoded value begins with one of these bytes, which says what follows
// and so where the value ends. That makes the encoding injective: no value is
// the beginning of another, whatever strings it holds. Lengths and integers are
// uvarints in their shortest form.
//
// The encoding is a promise. A change to it changes every key, and processes of
// the old and the new version no longer exclude each other.
const (
	tagNil     = 'n'
	tagFalse   = 'f'
	tagTrue    = 't'
	tagInt     = '+' // value
	tagNeg     = '-' // absolute value
	tagFloat   = 'd' // 8 bytes, IEEE 754, big endian
	tagComplex = 'c' // two of these
	tagString  = 's' // length, bytes
	tagBytes   = 'b' // length, bytes
	tagList    = 'l' // count, values
	tagMap     = 'm' // count, pairs of key and value in the order of their bytes
	tagStruct  = 'r' // count, pairs of name (length, bytes) and value in the order of names
)

// encoder holds the buffers of one Key call.
type encoder struct {
	buf   []byte     // encoded parameters
	key   []byte     // the key
	spans []mapEntry // entries of the maps being encoded, innermost last
}

type mapEntry struct{ from, to int }

var encoders = sync.Pool{New: func() any {
	return &encoder{buf: make([]byte, 0, 256), key: make([]byte, 0, MaxKeyLen)}
}}

// free puts e back unless one large request made it worth dropping.
func (e *encoder) free() {
	if cap(e.buf) > maxPooled || cap(e.spans) > maxPooled/8 {
		return
	}
	e.buf, e.key, e.spans = e.buf[:0], e.key[:0], e.spans[:0]
	encoders.Put(e)
}

// encode fills e.buf.
func (e *encoder) encode(params any) error {
	switch p := params.(type) { // the common ones, without reflection
	case nil:
		e.buf = append(e.buf, tagNil)
		return nil
	case string:
		if err := e.string(p); err != nil {
			return err.within("params")
		}
		return nil
	case int64:
		e.int(p)
		return nil
	case int:
		e.int(int64(p))
		return nil
	}
	t := reflect.TypeOf(params)
	p := planOf(t)
	err := e.value(p, reflect.ValueOf(params), 0)
	if err == nil && len(e.buf) > maxEncoded {
		err = tooLarge()
	}
	if err == nil {
		err = p.fault
	}
	if err != nil {
		return err.within(rootName(t))
	}
	return nil
}

// value appends the encoding of v. What the type alone tells, its plan knows; a
// fault of the type is told here only when the value leads to it, because then
// it has an exact path.
func (e *encoder) value(p *typePlan, v reflect.Value, depth int) *paramError {
	var dynamic *paramError // the fault of a type found behind an interface
	for hops := 0; p.op == opPointer || p.op == opInterface; hops++ {
		if v.IsNil() {
			e.buf = append(e.buf, tagNil)
			return dynamic
		}
		if hops == maxNesting {
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

// direct appends the encoding of what is neither a pointer nor an interface.
func (e *encoder) direct(p *typePlan, v reflect.Value, depth int) *paramError {
	switch p.op {
	case opBool:
		if v.Bool() {
			e.buf = append(e.buf, tagTrue)
		} else {
			e.buf = append(e.buf, tagFalse)
		}
	case opInt:
		e.int(v.Int())
	case opUint:
		e.buf = binary.AppendUvarint(append(e.buf, tagInt), v.Uint())
	case opFloat:
		e.buf = append(e.buf, tagFloat)
		return e.float(v.Float())
	case opComplex:
		c := v.Complex()
		e.buf = append(e.buf, tagComplex)
		if err := e.float(real(c)); err != nil {
			return err
		}
		return e.float(imag(c))
	case opString:
		return e.string(v.String())
	case opBytes:
		return e.bytes(v)
	case opTime:
		return e.time(v)
	case opText:
		text, err := p.marshalText(v)
		if err != nil {
			return err
		}
		if err := e.open(tagString, len(text)); err != nil {
			return err
		}
		e.buf = append(e.buf, text...)
	case opLockKey:
		key, err := p.lockKey(v)
		if err != nil {
			return err
		}
		return e.string(key)
	case opList, opMap, opStruct:
		if depth == maxNesting {
			return tooDeep()
		}
		// The first and last word on size: whatever has no end comes by here.
		if len(e.buf) > maxEncoded {
			return tooLarge()
		}
		return e.nested(p, v, depth+1)
	default:
		return p.refused
	}
	return nil
}

func (e *encoder) nested(p *typePlan, v reflect.Value, depth int) *paramError {
	switch p.op {
	case opStruct:
		e.buf = append(e.buf, p.head...)
		for i := range p.fields {
			f := &p.fields[i]
			e.buf = append(e.buf, f.head...)
			var err *paramError
			switch fv := v.Field(f.index); f.plan.op { // the common ones, without two calls
			case opInt:
				e.int(fv.Int())
			case opString:
				err = e.string(fv.String())
			default:
				err = e.value(f.plan, fv, depth)
			}
			if err != nil {
				return err.within("." + f.name)
			}
		}
		return nil
	case opMap:
		return e.mapping(p, v, depth)
	default:
		return e.list(p, v, depth)
	}
}

func (e *encoder) list(p *typePlan, v reflect.Value, depth int) *paramError {
	n := v.Len()
	e.buf = binary.AppendUvarint(append(e.buf, tagList), uint64(n))
	for i := range n {
		err := e.value(p.elem, v.Index(i), depth)
		if err == nil && len(e.buf) > maxEncoded {
			err = tooLarge()
		}
		if err != nil {
			return err.within("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

// mapping encodes the entries as they come and then puts them in order. Two
// keys may have one encoding (int32(5) and int64(5) in a map[any]T, or pointers
// to equal values), so the values take part in the order.
func (e *encoder) mapping(p *typePlan, v reflect.Value, depth int) *paramError {
	e.buf = binary.AppendUvarint(append(e.buf, tagMap), uint64(v.Len()))
	start, first := len(e.buf), len(e.spans)
	for it := v.MapRange(); it.Next(); {
		from := len(e.buf)
		if err := e.value(p.key, it.Key(), depth); err != nil {
			return err.within("[key]")
		}
		err := e.value(p.elem, it.Value(), depth)
		if err == nil && len(e.buf) > maxEncoded {
			err = tooLarge()
		}
		if err != nil {
			return err.within("[" + keyName(it.Key()) + "]")
		}
		e.spans = append(e.spans, mapEntry{from, len(e.buf)})
	}
	entries, end := e.spans[first:], len(e.buf)
	slices.SortFunc(entries, func(a, b mapEntry) int {
		return bytes.Compare(e.buf[a.from:a.to], e.buf[b.from:b.to])
	})
	for _, s := range entries {
		e.buf = append(e.buf, e.buf[s.from:s.to]...)
	}
	copy(e.buf[start:], e.buf[end:])
	e.buf, e.spans = e.buf[:end], e.spans[:first]
	return nil
}

func (e *encoder) int(i int64) {
	if i < 0 {
		e.buf = binary.AppendUvarint(append(e.buf, tagNeg), -uint64(i))
		return
	}
	e.buf = binary.AppendUvarint(append(e.buf, tagInt), uint64(i))
}

func (e *encoder) float(f float64) *paramError {
	if math.IsNaN(f) {
		return &paramError{what: "NaN is not equal to itself and cannot take part in a key"}
	}
	if f == 0 {
		f = 0 // -0 == 0
	}
	e.buf = binary.BigEndian.AppendUint64(e.buf, math.Float64bits(f))
	return nil
}

// open begins a value of n bytes, unless that is too many.
func (e *encoder) open(tag byte, n int) *paramError {
	if n > maxEncoded-len(e.buf) {
		return tooLarge()
	}
	e.buf = binary.AppendUvarint(append(e.buf, tag), uint64(n))
	return nil
}

func (e *encoder) string(s string) *paramError {
	if err := e.open(tagString, len(s)); err != nil {
		return err
	}
	e.buf = append(e.buf, s...)
	return nil
}

func (e *encoder) bytes(v reflect.Value) *paramError {
	n := v.Len()
	if err := e.open(tagBytes, n); err != nil {
		return err
	}
	if v.Kind() == reflect.Slice || v.CanAddr() {
		e.buf = append(e.buf, v.Bytes()...)
		return nil
	}
	for i := range n { // an array that cannot be sliced
		e.buf = append(e.buf, byte(v.Index(i).Uint()))
	}
	return nil
}

// time writes what MarshalText gives for the instant in UTC.
func (e *encoder) time(v reflect.Value) *paramError {
	var t time.Time
	if v.CanAddr() {
		t = *v.Addr().Interface().(*time.Time) // Interface alone would copy it to the heap
	} else {
		t = v.Interface().(time.Time)
	}
	start := len(e.buf) + 2
	text, err := t.UTC().AppendText(append(e.buf, tagString, 0))
	if err != nil {
		return &paramError{what: "time.Time: MarshalText", err: err}
	}
	text[start-1] = byte(len(text) - start) // at most 30, a uvarint of one byte
	e.buf = text
	return nil
}
