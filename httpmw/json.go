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

// defaultMaxBody is the default limit of [JSONField] for the body, in bytes.
const defaultMaxBody = 64 << 10

// JSONField returns a KeyFunc for a field of the JSON object in the request's body.
// Dots join the names of a path: "order.id". The body is read before the lock is taken,
// and the handler can read it again. It may have maxBytes; 0 means 64 KB.
//
// Each request that waits keeps its body in memory. If the others that wait in one [Lock]
// keep more than 64 MB together, the next one is refused with TypeQueueFull.
//
// A string is a string and a bool a bool. A number must be an integer, without fraction
// or exponent, and is an int64, or a uint64 if it needs one. "5" and 5 are one lock.
//
// The error is a [*distlock.KeyError] if the body is too large, or is not one valid JSON
// value in UTF-8. A field that is missing, null, an empty string, an object, a list or
// another number gives one, too. So does a name on the path that appears twice in its
// object, or in another case: encoding/json takes "ID" for "id", so the handler's parser
// might choose another value than the lock.
//
// JSONField panics if a name in the path is empty or maxBytes is negative.
func JSONField(path string, maxBytes int64) KeyFunc {
	if maxBytes == 0 {
		maxBytes = defaultMaxBody
	}
	mustBePositive("JSONField", maxBytes)
	f := &jsonField{path: strings.Split(path, "."), maxBody: maxBytes}
	for _, name := range f.path {
		if name == "" {
			panic("httpmw: JSONField: empty name in the path " + strconv.Quote(path))
		}
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

// member returns the value of a field of the object in data, which is valid JSON, or what is
// wrong. It looks at all fields, and compares names as encoding/json does when it fills a
// struct. It is quick, because clients choose the body: a decoder takes 0.2 s for a megabyte.
func member(data []byte, name string) (value json.RawMessage, fault string) {
	const missing = "is missing"
	at := space(data, 0)
	if data[at] != '{' {
		return nil, missing
	}
	for at = space(data, at+1); data[at] != '}'; {
		end := valueEnd(data, at)
		field := data[at+1 : end-1]
		if bytes.IndexByte(field, '\\') >= 0 {
			var text string
			if err := json.Unmarshal(data[at:end], &text); err != nil {
				return nil, missing
			}
			field = []byte(text)
		}
		at = space(data, space(data, end)+1) // behind the colon
		end = valueEnd(data, at)
		switch {
		case !bytes.EqualFold(field, []byte(name)):
		case string(field) != name:
			return nil, "appears in another spelling"
		case value != nil:
			return nil, "appears more than once"
		default:
			value = data[at:end]
		}
		if at = space(data, end); data[at] == ',' {
			at = space(data, at+1)
		}
	}
	if value == nil {
		return nil, missing
	}
	return value, ""
}

// space returns where the white space at i ends.
func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// valueEnd returns where the value at i of valid JSON ends.
func valueEnd(data []byte, i int) int {
	for depth := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ',', ':', ' ', '\t', '\n', '\r':
			continue
		default: // a number or a word
			for i+1 < len(data) && strings.IndexByte(",:]} \t\n\r", data[i+1]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// scalar returns the value of valid JSON that is not an object or a list, or what is
// wrong.
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
