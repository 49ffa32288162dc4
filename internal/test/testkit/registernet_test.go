package testkit_test

import (
	"testing"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestNetRegister checks which uses are accepted, and that all are in the log.
func TestNetRegister(t *testing.T) {
	r := testkit.NewNetRegister(t)
	here := testkit.DialRegister(r.Addr())
	defer here.Close()
	for _, c := range []struct {
		use  testkit.Use
		want bool
	}{
		{testkit.Use{ID: "first", Key: "k", Token: 5}, true},
		{testkit.Use{Key: "k", Token: 4}, false},
		{testkit.Use{Key: "k", Token: 4, Reads: true}, false},
		{testkit.Use{Key: "another", Token: 4}, true},
		{testkit.Use{Key: "k", Token: 5}, true},
		{testkit.Use{Key: "k", Token: 9, Reads: true}, true},
		{testkit.Use{Key: "k", Token: 6}, true}, // a read does not count
		{testkit.Use{Key: "k", Token: 5}, false},
	} {
		if got, err := here.Use(c.use); got != c.want || err != nil {
			t.Errorf("%+v: %v, %v", c.use, got, err)
		}
	}
	r.Close()
	if _, err := here.Use(testkit.Use{Key: "k", Token: 10}); err == nil {
		t.Error("a register that is closed answers")
	}
	log := r.Log()
	if len(log) != 8 {
		t.Fatalf("%d uses in the log", len(log))
	}
	if first := log[0]; first.ID != "first" || first.Token != 5 || !first.Accepted || first.At.IsZero() {
		t.Errorf("the first is %+v", first)
	}
	if log[1].Accepted || !log[6].Accepted {
		t.Errorf("the log is %+v", log)
	}
}
