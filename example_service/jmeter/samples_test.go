package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// planSamples has the samples of a plan with two orders, without the one of the stock.
const planSamples = `timeStamp,elapsed,label,responseCode,responseMessage,success,failureMessage
1,20,restart the sale,200,OK,true,
2,7,order,201,Created,true,
3,9,order,201,Created,true,
`

const stockIs0, stockIs1 = `4,3,stock,200,OK,true,
`, `4,3,stock,200,OK,false,"Value in json path '$.stock' expected to be '0', but found '1'"
`

func read(t *testing.T, text string) (samples, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "samples.jtl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readSamples(path)
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	const soldOut = "3,9,order,409,Conflict,false,\"Test failed: code expected to equal /201/\"\n"
	for _, c := range []struct {
		explanation, samples string
		passes, failsByStock string // the errors
	}{
		{"exact", planSamples + stockIs0, "", "it passes"},
		{"a lost update", planSamples + stockIs1, "200 Value in json path '$.stock' expected to be '0', but found '1'", ""},
		{"the stock is not read", planSamples, `0 samples "stock", want 1`, `0 samples "stock", want 1`},
		{
			"the stock is not there", planSamples + "4,3,stock,503,,false,Test failed\n",
			"503 Test failed", "503 Test failed",
		},
		{
			"an order is missing", strings.Replace(planSamples, "3,9,order,201,Created,true,\n", "", 1) + stockIs0,
			`1 samples "order", want 2`, `1 samples "order", want 2`,
		},
		{
			"an order failed", strings.Replace(planSamples, "3,9,order,201,Created,true,\n", soldOut, 1) + stockIs1,
			`1 samples "order" failed, the first with: 409 Test failed: code expected to equal /201/`,
			`1 samples "order" failed, the first with: 409 Test failed: code expected to equal /201/`,
		},
	} {
		all, err := read(t, c.samples)
		if err != nil {
			t.Errorf("%s: %v", c.explanation, err)
		}
		r, l := planRun{samples: all}, load{users: 2, loops: 1}
		if got := text(r.passes(l)); got != c.passes {
			t.Errorf("%s: passes: %q, want %q", c.explanation, got, c.passes)
		}
		if got := text(r.failsByStock(l)); got != c.failsByStock {
			t.Errorf("%s: fails by the stock: %q, want %q", c.explanation, got, c.failsByStock)
		}
	}
}

func TestBadSamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ samples, want string }{
		{"", "not a file of samples"},
		{"timeStamp,elapsed\n", "a column is missing"},
		{strings.Replace(planSamples, ",7,", ",x,", 1), "elapsed: "},
	} {
		if _, err := read(t, c.samples); !strings.Contains(text(err), c.want) {
			t.Errorf("%q: %v, want %q", c.samples, err, c.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
