package keyenc

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Limits of what is encoded. Parameters come from strangers: they must not make
// the process walk without end or hash a gigabyte.
const (
	MaxEncoded = 1 << 20 // bytes
	MaxNesting = 64      // structs, lists and maps in one another; pointers in a row
)

// MaxKeyLen is the most bytes that a full key may have.
const MaxKeyLen = 200

const maxPooled = 64 << 10 // bytes; a larger buffer is dropped

// Every encoded value begins with one of these bytes, which says what follows
// and so where the value ends. That makes the encoding injective: no encoding is
// a prefix of another, whatever strings the values hold. Lengths and integers
// are uvarints in their shortest form.
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

// Encoder encodes one set of parameters. Get one with [NewEncoder].
type Encoder struct {
	key   []byte     // see KeyBuffer
	buf   []byte     // the encoded parameters
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

// Encoded returns the result of Encode. It is valid until Free.
func (e *Encoder) Encoded() []byte { return e.buf }

// KeyBuffer returns an empty slice with room for a key. It is valid until Free.
func (e *Encoder) KeyBuffer() []byte { return e.key[:0] }

// Encode encodes params. Call it once. The error says where in params the fault
// is, and wraps the error of the caller's method if that failed.
func (e *Encoder) Encode(params any) error {
	if params == nil {
		e.buf = append(e.buf, tagNil)
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
			e.buf = append(e.buf, tagNil)
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

// method appends the text that LockKey of v returns, or MarshalText if it has no LockKey. The
// method belongs to the caller, and may be promoted through an embedded pointer that is nil.
func (e *Encoder) method(p *typePlan, v reflect.Value) (fault *paramError) {
	name := "LockKey"
	defer func() {
		if r := recover(); r != nil {
			fault = p.blame(name+" panicked", Panicked(r))
		}
	}()
	receiver := p.receiver(v)
	if keyer, ok := receiver.(lockKeyer); ok {
		key := keyer.LockKey()
		if key == "" {
			return p.blame("LockKey returned an empty string", nil)
		}
		return e.string(key)
	}
	name = "MarshalText"
	text, err := receiver.(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return p.blame(name, err)
	}
	if fault := e.open(tagString, len(text)); fault != nil {
		return fault
	}
	e.buf = append(e.buf, text...)
	return nil
}

func (e *Encoder) structure(p *typePlan, v reflect.Value, depth int) *paramError {
	e.buf = append(e.buf, p.head...)
	for i := range p.fields {
		f := &p.fields[i]
		e.buf = append(e.buf, f.head...)
		if err := e.value(f.plan, v.Field(f.index), depth); err != nil {
			return err.within("." + f.name)
		}
	}
	return nil
}

func (e *Encoder) list(p *typePlan, v reflect.Value, depth int) *paramError {
	n := v.Len()
	e.buf = binary.AppendUvarint(append(e.buf, tagList), uint64(n))
	for i := range n {
		if err := e.value(p.elem, v.Index(i), depth); err != nil {
			return err.within("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

// mapping encodes the entries in random order and then sorts them. Two keys may
// have the same encoding (int32(5) and int64(5) in a map[any]T, or pointers to
// equal values), so the values are compared too.
func (e *Encoder) mapping(p *typePlan, v reflect.Value, depth int) *paramError {
	e.buf = binary.AppendUvarint(append(e.buf, tagMap), uint64(v.Len()))
	start, first := len(e.buf), len(e.spans)
	for it := v.MapRange(); it.Next(); {
		from := len(e.buf)
		if err := e.value(p.key, it.Key(), depth); err != nil {
			return err.within("[key]")
		}
		if err := e.value(p.elem, it.Value(), depth); err != nil {
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

func (e *Encoder) int(i int64) {
	if i < 0 {
		e.buf = binary.AppendUvarint(append(e.buf, tagNeg), -uint64(i))
		return
	}
	e.buf = binary.AppendUvarint(append(e.buf, tagInt), uint64(i))
}

func (e *Encoder) float(f float64) *paramError {
	if math.IsNaN(f) {
		return &paramError{what: "NaN is not equal to itself and cannot take part in a key"}
	}
	if f == 0 {
		f = 0 // -0 == 0
	}
	e.buf = binary.BigEndian.AppendUint64(e.buf, math.Float64bits(f))
	return nil
}

// open appends the tag and the length of a value of n bytes. It refuses a value
// that is too large.
func (e *Encoder) open(tag byte, n int) *paramError {
	if n > MaxEncoded-len(e.buf) {
		return tooLarge()
	}
	e.buf = binary.AppendUvarint(append(e.buf, tag), uint64(n))
	return nil
}

func (e *Encoder) string(s string) *paramError {
	if err := e.open(tagString, len(s)); err != nil {
		return err
	}
	e.buf = append(e.buf, s...)
	return nil
}

func (e *Encoder) bytes(v reflect.Value) *paramError {
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

// time appends the text of the instant in UTC, as MarshalText returns it.
func (e *Encoder) time(v reflect.Value) *paramError {
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
