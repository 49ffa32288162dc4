package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// edit replaces one text of a file below GOROOT/src, which must be there once.
type edit struct{ file, old, text string }

// edits make a run of the same seed the same: what the Go runtime chooses at random it
// chooses from one fixed sequence, and no choice depends on the time of the machine. Together
// with one processor and no garbage collection, goroutines take the same turns each time.
var edits = []edit{
	{"runtime/rand.go", "seed[i%len(seed)] ^= c\n", "seed[i%len(seed)] = byte(i) + 0*c + 1\n"},
	{"runtime/rand.go", "mp.cheaprand = rand()", "mp.cheaprand = bootstrapRand()"}, // a thread may start at any time
	{"runtime/rand.go", "func maps_rand() uint64 {\n\treturn rand()\n}\n", `func maps_rand() uint64 {
	return repeatable()
}

var repeated uint64

//go:nosplit
func repeatable() uint64 {
	repeated += 0xa0761d6478bd642f
	hi, lo := math.Mul64(repeated, repeated^0xe7037ed1a0b428db)
	return hi ^ lo
}
`},
	{
		"runtime/rand.go", "//go:linkname rand\nfunc rand() uint64 {\n",
		"//go:linkname rand\nfunc rand() uint64 {\n\tif globalRand.init {\n\t\treturn repeatable()\n\t}\n",
	},
	{"runtime/select.go", "cheaprandn(uint32(norder + 1))", "uint32(repeatable() % uint64(norder+1))"},
	{"runtime/time.go", "\t\t\tt.rand = cheaprand()", "\t\t\tt.rand = uint32(repeatable())"},     // the order of timers of one time
	{"runtime/proc.go", "forcePreemptNS = 10 * 1000 * 1000", "forcePreemptNS = 1 << 60"},         // a turn ends by itself
	{"runtime/proc.go", "pp.schedtick%61 == 0 && ", "false && "},                                 // the runtime's own goroutines count, too
	{"internal/sync/mutex.go", "starvationThresholdNs = 1e6", "starvationThresholdNs = 1 << 60"}, // fairness by the machine's clock
}

// edited returns the files of Go with the edits, by path.
func edited() (map[string]string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	texts := make(map[string]string)
	for _, e := range edits {
		path := filepath.Join(strings.TrimSpace(string(out)), "src", e.file)
		if texts[path] == "" {
			text, err := os.ReadFile(path) //nolint:gosec // a file of Go
			if err != nil {
				return nil, err
			}
			texts[path] = string(text)
		}
		if strings.Count(texts[path], e.old) != 1 {
			return nil, fmt.Errorf("%s of this version of Go has %q not once: the edits in build.go need to be brought up to date", path, e.old)
		}
		texts[path] = strings.Replace(texts[path], e.old, e.text, 1)
	}
	return texts, nil
}

// build builds the simulation in dir, with the edits and those of another overlay, and returns
// the path of the program.
func build(dir, planted string) (string, error) {
	var overlay struct{ Replace map[string]string }
	if planted != "" {
		text, err := os.ReadFile(planted) //nolint:gosec // the user names it
		if err == nil {
			err = json.Unmarshal(text, &overlay)
		}
		if err != nil {
			return "", fmt.Errorf("-overlay: %w", err)
		}
	}
	if overlay.Replace == nil {
		overlay.Replace = make(map[string]string)
	}
	texts, err := edited()
	if err != nil {
		return "", err
	}
	for path, text := range texts {
		file := filepath.Join(dir, "go_"+filepath.Base(path))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[path] = file
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	listed, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulation")
	if err := os.WriteFile(listed, list, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", listed, "-o", program, //nolint:gosec // all of it is ours
		"github.com/distlock-go/distlock/lab/proof/torture")
	cmd.Env = append(os.Environ(), "GOEXPERIMENT=norandomizedheapbase64") // maps may be keyed by addresses
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(strings.TrimSpace(string(said)))
	}
	return program, nil
}
