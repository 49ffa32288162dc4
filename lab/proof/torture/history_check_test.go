package torture

import (
	"testing"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestUseOfTheDead checks that the log of the register has the outcome of a use during which
// the process died, and that a use which is not there did not happen.
func TestUseOfTheDead(t *testing.T) {
	const proc = "1.0"
	r := testkit.NewNetRegister(t)
	entries := []entry{
		{Time: now(), What: beginAcquire, Lease: 1},
		{Time: now(), What: endAcquire, Lease: 1, Outcome: ok, Token: 5},
	}
	begun := now()
	for id := range uint64(3) {
		entries = append(entries, entry{Time: begun, What: beginUse, Lease: 1, ID: id})
	}
	log := make(map[string]testkit.Use)
	r.Use(testkit.Use{ID: useID(proc, 0), Key: keyName(0), Token: 5})
	r.Use(testkit.Use{ID: useID(proc, 1), Key: keyName(0), Token: 4})
	for _, u := range r.Log() {
		log[u.ID] = u
	}
	h := &history{}
	if err := h.add(proc, entries, log); err != nil {
		t.Fatal(err)
	}
	uses := h.Leases[0].Uses
	if len(uses) != 2 || uses[0].Outcome != ok || uses[1].Outcome != failed {
		t.Fatalf("the uses are %+v", uses)
	}
	for _, u := range uses {
		if u.Return < u.Call || u.Return > now() {
			t.Errorf("it returned at %d, was called at %d, and now is %d", u.Return, u.Call, now())
		}
	}
}
