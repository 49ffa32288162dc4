package mutant

import (
	"slices"
	"testing"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestReplayFinds plants bugs that the recorded histories of the specification find too.
func TestReplayFinds(t *testing.T) {
	testmode.Long(t)
	for _, name := range []string{"state-without-margin", "token-for-two", "refresh-counts-from-the-answer", "deadline-from-the-reply"} {
		t.Run(name, func(t *testing.T) {
			m := all[slices.IndexFunc(all, func(m mutant) bool { return m.Name == name })]
			m.Package, m.Test = "./lab/spec", "TestRecorded"
			output, err := m.run(t.Context(), t.TempDir())
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			t.Logf("%s: %s", m.Rule, said(output))
		})
	}
}
