package httpmw

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/distlock-go/distlock"
)

// DefaultMaxBody is how large a body [JSONField] reads by default.
const DefaultMaxBody = 1 << 20

// JSONOption changes what [JSONField] does.
type JSONOption func(*jsonField)

// WithMaxBody sets how many bytes the body may have. The default is
// [DefaultMaxBody]. WithMaxBody panics if n is not positive.
func WithMaxBody(n int64) JSONOption {
	mustBePositive("WithMaxBody", n)
	return func(f *jsonField) { f.maxBody = n }
}

// JSONField returns a KeyFunc for a field of the JSON object that is the
// request's body. Names in the path are joined by dots: "order.id". The body is
// read before the lock is taken, and the handler finds it as it was.
//
// A string is a string and a bool a bool. A number must be written as an
// integer, without fraction or exponent, and is an int64, or a uint64 if it
// needs one. "5" and 5 are two locks; if the handler takes either for the same,
// use [Int] around JSONField.
//
// It is a [*distlock.KeyError] if the body is too large or is not one valid JSON value in
// UTF-8, and if the field is missing, null, an empty string, an object, a list
// or another number. The same goes for a body that different parsers read
// differently, because the handler might see another value than the lock: if a
// name on the path appears twice in its object, or in another case, since
// encoding/json takes "ID" for "id".
//
// JSONField panics if a name in the path is empty.
func JSONField(path string, opts ...JSONOption) KeyFunc {
	f := &jsonField{path: strings.Split(path, "."), maxBody: DefaultMaxBody}
	for _, name := range f.path {
		if name == "" {
			panic("httpmw: JSONField: empty name in the path " + strconv.Quote(path))
		}
	}
	for _, opt := range opts {
		opt(f)
	}
	f.what = part("JSONField", "body field", path)
	return f.params
}

type jsonField struct {
	path    []string
	what    string
	maxBody int64
}

func (f *jsonField) params(r *http.Request) (any, error) {
	data, err := readBody(r, f.maxBody)
	if err != nil {
		return nil, err
	}
	return f.find(data)
}

func (f *jsonField) find(data []byte) (any, error) {
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, &distlock.KeyError{Detail: "the body is not valid JSON"}
	}
	var fault string
	for _, name := range f.path {
		if data, fault = member(data, name); fault != "" {
			return nil, f.bad(fault)
		}
	}
	value, fault := scalar(data)
	if fault != "" {
		return nil, f.bad(fault)
	}
	return value, nil
}

func (f *jsonField) bad(fault string) error { return &distlock.KeyError{Detail: f.what + " " + fault} }

// member returns the value of a field of the object that data is, or what is
// wrong. It looks at all fields, and compares names as encoding/json does when
// it fills a struct.
func member(data []byte, name string) (value json.RawMessage, fault string) {
	const missing = "is missing"
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, missing
	}
	for dec.More() {
		token, err := dec.Token()
		field, ok := token.(string)
		if err != nil || !ok {
			return nil, missing
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, missing
		}
		switch {
		case !strings.EqualFold(field, name):
		case field != name:
			return nil, "appears in another spelling"
		case value != nil:
			return nil, "appears more than once"
		default:
			value = v
		}
	}
	if value == nil {
		return nil, missing
	}
	return value, ""
}

// scalar returns the value of valid JSON that is neither an object nor a list,
// or what is wrong.
func scalar(data []byte) (value any, fault string) {
	switch data[0] {
	case '{':
		return nil, "is an object"
	case '[':
		return nil, "is a list"
	case 'n':
		return nil, "is null"
	case 't':
		return true, ""
	case 'f':
		return false, ""
	case '"':
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, "is not a string"
		}
		if s == "" {
			return nil, "is empty"
		}
		return s, ""
	default:
		return number(string(data))
	}
}

func number(text string) (value any, fault string) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, ""
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, ""
	}
	return nil, "is not an integer of 64 bits"
}
