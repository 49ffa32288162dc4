package version

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestLine(t *testing.T) {
	built := " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	for want, info := range map[string]*debug.BuildInfo{
		"distlock v1.2.3":  {Main: debug.Module{Version: "v1.2.3"}},
		"distlock (devel)": {}, // built in a directory without a repository
	} {
		if got := line("distlock", info); got != want+built {
			t.Errorf("%q instead of %q", got, want+built)
		}
	}
	if got, want := line("distlock", nil), "distlock (devel)"+built; got != want {
		t.Errorf("without build info: %q instead of %q", got, want)
	}
}
