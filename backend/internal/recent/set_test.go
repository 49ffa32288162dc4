package recent_test

import (
	"testing"

	"github.com/distlock-go/distlock/backend/internal/recent"
)

func TestSet(t *testing.T) {
	const most = 1024
	var s recent.Set[int]
	if s.Has(0) {
		t.Error("the empty set has 0")
	}
	for i := range most {
		s.Add(i)
		s.Add(i) // counts once
	}
	for i := range most {
		if !s.Has(i) {
			t.Errorf("%d is not there", i)
		}
	}
	s.Add(most)
	if s.Has(0) || !s.Has(1) || !s.Has(most) {
		t.Errorf("after one more: %v, %v, %v", s.Has(0), s.Has(1), s.Has(most))
	}
}
