package httpmw_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
)

func TestJSONField(t *testing.T) {
	cases := []struct {
		path, body string
		want       any    // nil: refused
		detail     string // of the refusal, after the field's name
	}{
		{"id", `{"id":"a"}`, "a", ""},
		{"id", " \r\n\t{ \"x\" : [1,{}] , \"id\" : 7 } \n", int64(7), ""},
		{"id", `{"id":-7}`, int64(-7), ""},
		{"id", `{"id":-0}`, int64(0), ""},
		{"id", `{"id":0}`, int64(0), ""},
		{"id", `{"id":true}`, true, ""},
		{"id", `{"id":false}`, false, ""},
		{"id", `{"id":9223372036854775807}`, int64(math.MaxInt64), ""},
		{"id", `{"id":-9223372036854775808}`, int64(math.MinInt64), ""},
		{"id", `{"id":18446744073709551615}`, uint64(math.MaxUint64), ""},
		{"id", `{"i\u0064":"\u0061"}`, "a", ""},
		{"a.b.c", `{"a":{"b":{"c":"x"}}}`, "x", ""},
		{"order.id", `{"order":{"id":1},"id":2}`, int64(1), ""},
		{"id", `{"id":"a","x":1,"x":2}`, "a", ""}, // nothing that leads to the field
		{"id", `{"id":"a","sub":{"id":"b","id":"c"}}`, "a", ""},
		{"größe", `{"größe":"XL"}`, "XL", ""},

		{"id", `{"id":"\ud800"}`, "\ufffd", ""}, // as encoding/json reads it

		{"id", `{}`, nil, "is missing"},
		{"id", `[]`, nil, "is missing"},
		{"id", `"id"`, nil, "is missing"},
		{"id", `null`, nil, "is missing"},
		{"id", `[{"id":1}]`, nil, "is missing"},
		{"order.id", `{"order":{}}`, nil, "is missing"},
		{"order.id", `{"order":null}`, nil, "is missing"},
		{"order.id", `{"order":[{"id":1}]}`, nil, "is missing"},
		{"order.id", `{"order.id":1}`, nil, "is missing"},
		{"id", `{"id":null}`, nil, "is null"},
		{"id", `{"id":""}`, nil, "is empty"},
		{"id", `{"id":{}}`, nil, "is an object"},
		{"id", `{"id":["a"]}`, nil, "is a list"},
		{"id", `{"id":1.0}`, nil, "is not an integer of 64 bits"},
		{"id", `{"id":1e2}`, nil, "is not an integer of 64 bits"},
		{"id", `{"id":18446744073709551616}`, nil, "is not an integer of 64 bits"},
		{"id", `{"id":-9223372036854775809}`, nil, "is not an integer of 64 bits"},

		// Bodies that parsers read differently.
		{"id", `{"id":1,"id":1}`, nil, "appears more than once"},
		{"id", `{"id":null,"id":1}`, nil, "appears more than once"},
		{"id", `{"id":1,"i\u0064":2}`, nil, "appears more than once"},
		{"id", `{"id":1,"ID":2}`, nil, "appears in another spelling"},
		{"id", `{"Id":2}`, nil, "appears in another spelling"},
		{"kind", `{"kind":1,"` + "\u212a" + `ind":2}`, nil, "appears in another spelling"}, // the Kelvin sign folds to k
		{"sku", `{"\u017fku":2}`, nil, "appears in another spelling"},                      // the long s to s, though it is lower case already
		{"order.id", `{"order":{"id":1},"order":{"id":2}}`, nil, "appears more than once"},
		{"order.id", `{"order":{"id":1,"iD":2}}`, nil, "appears in another spelling"},
		{"order.id", `{"Order":{"id":1}}`, nil, "appears in another spelling"},

		{"id", ``, nil, "-"},
		{"id", `{"id":1}x`, nil, "-"},
		{"id", `{"id":1}{"id":2}`, nil, "-"},
		{"id", `{"id":1,}`, nil, "-"},
		{"id", `{"id":01}`, nil, "-"},
		{"id", `{"id":1`, nil, "-"},
		{"id", `{'id':1}`, nil, "-"},
		{"id", "\ufeff" + `{"id":1}`, nil, "-"},
		{"id", "{\"id\":\"\xff\"}", nil, "-"},
		{"id", `{"id":NaN}`, nil, "-"},
		{"id", strings.Repeat(`{"id":`, 20000) + "1" + strings.Repeat("}", 20000), nil, "-"},
	}
	for i, c := range cases {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", strings.NewReader(c.body))
			got, err := httpmw.JSONField(c.path, math.MaxInt64)(r)
			if c.want != nil {
				if got != c.want || err != nil {
					t.Errorf("%s: %#v, %v, want %#v", c.body, got, err, c.want)
				}
			} else {
				detail := fmt.Sprintf("body field %q %s", c.path, c.detail)
				if c.detail == "-" {
					detail = "the body is not valid JSON"
				}
				e := new(distlock.KeyError)
				if got != nil || !errors.As(err, &e) || !errors.Is(err, distlock.ErrKey) || e.Detail != detail {
					t.Errorf("%.50s: %#v, %v, want %s", c.body, got, err, detail)
				}
			}
			if left, err := io.ReadAll(r.Body); string(left) != c.body || err != nil {
				t.Errorf("the body that is left: %.50q, %v", left, err)
			}
		})
	}
}

// FuzzJSONField compares with what a handler sees that uses encoding/json: where
// there is a key, the handler has the same value, in a struct and in a map; and
// what the handler takes for a value of the right type, is not overlooked.
func FuzzJSONField(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a"}`, `{"id":1}`, `{"id":1e2}`, `{"ID":1,"id":2}`, `{"id":null}`, `{"id":18446744073709551615}`,
		`{"id":"\ud800"}`, `{"x":{"id":1},"id":true}`, `[{"id":1}]`, "{\"id\":\"\xff\"}", `{"id":1}{}`, `{"\u0130d":1}`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/", bytes.NewReader(body))
		got, err := httpmw.JSONField("id", 0)(r)
		if left, _ := io.ReadAll(r.Body); !bytes.Equal(left, body) {
			t.Fatalf("the body that is left: %q", left)
		}

		var inStruct struct {
			ID any `json:"id"`
		}
		var inMap map[string]any
		asStruct := json.NewDecoder(bytes.NewReader(body))
		asStruct.UseNumber()
		asMap := json.NewDecoder(bytes.NewReader(body))
		asMap.UseNumber()
		structErr, mapErr := asStruct.Decode(&inStruct), asMap.Decode(&inMap)
		if err != nil {
			if !errors.Is(err, distlock.ErrKey) || got != nil {
				t.Fatalf("%#v, %v", got, err)
			}
			if s, ok := inMap["id"].(string); ok && s != "" && utf8.Valid(body) && json.Valid(body) && !strings.Contains(err.Error(), "appears") {
				t.Fatalf("%q was overlooked: %v", s, err)
			}
			return
		}
		if structErr != nil || mapErr != nil {
			t.Fatalf("%#v, but encoding/json says %v, %v", got, structErr, mapErr)
		}
		for _, handler := range []any{inStruct.ID, inMap["id"]} {
			if n, ok := handler.(json.Number); ok {
				value, err := strconv.ParseInt(n.String(), 10, 64)
				handler = value
				if err != nil {
					handler, err = strconv.ParseUint(n.String(), 10, 64)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if handler != got {
				t.Fatalf("the lock is on %#v, the handler has %#v", got, handler)
			}
		}
	})
}

// TestJSONFieldOfManyFields: a body with as many fields as fit costs no memory for each.
func TestJSONFieldOfManyFields(t *testing.T) {
	body := `{"order":{` + strings.Repeat(`"a":1,`, 170_000) + `"id":7}}`
	key := httpmw.JSONField("order.id", 1<<20)
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	n := testing.AllocsPerRun(5, func() {
		if v, err := key(r); v != int64(7) || err != nil {
			t.Fatal(v, err)
		}
	})
	if n > 100 {
		t.Errorf("%v allocations", n)
	}
}
