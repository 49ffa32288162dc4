package main

import (
	"strings"
	"testing"
	"time"
)

func TestGoalTable(t *testing.T) {
	var b strings.Builder
	goalTable(&b, []verdict{
		{ID: "F1", What: "short", Goal: 1.1, Direction: atMost, Ratio: 1.0523, Ours: 105.23, Best: 100, BestName: "bare", Unit: micros, Met: true},
		{ID: "F4.order", What: "a longer one", Goal: 64, Direction: atMost, Ratio: 1234, Ours: 1234},
		{ID: "F2.cpu", What: "without one", Ratio: 1.5, Ours: 21, Best: 14, BestName: "bare", Unit: micros},
		{ID: "F16", What: "nothing", Direction: atMost, Best: 7, BestName: "bare", Met: true},
	})
	want := `Scenario  What             Ours  Best peer        Ratio     Goal  Met
F1        short          105 us     100 us  bare   1.05  <= 1.10  yes
F4.order  a longer one    1,234                   1,234  <= 64.0  no
F2.cpu    without one   21.0 us    14.0 us  bare   1.50
F16       nothing             0       7.00  bare      0     <= 0  yes
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		count(0):                       "0",
		count(999.6):                   "1,000",
		count(1234567):                 "1,234,567",
		ratio(0.4567):                  "0.46",
		ratio(99.94):                   "99.9",
		quantity(12.345, percent):      "12.3%",
		quantity(12345, perSecond):     "12,345/s",
		span(1500 * time.Nanosecond):   "1.50 us",
		span(12340 * time.Microsecond): "12.3 ms",
		span(90 * time.Second):         "90.0 s",
	} {
		if got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
	for x, want := range map[float64]float64{0: 0, 1.23456: 1.235, 0.000123456: 0.0001235, 987.65: 987.7, 123456.7: 123457} {
		if got := round(x); got < want*0.999999 || got > want*1.000001 {
			t.Errorf("%v is rounded to %v instead of %v", x, got, want)
		}
	}
}
