package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/distlock-go/distlock/internal/testmode"
)

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output, Key, Value string
}

// id is a test of a package. The id of the package itself has no test.
type id struct{ pkg, test string }

func (i id) String() string {
	if i.test == "" {
		return i.pkg
	}
	return i.test + " of " + i.pkg
}

// top returns the test that i is a part of.
func (i id) top() id {
	name, _, _ := strings.Cut(i.test, "/")
	return id{i.pkg, name}
}

// holds reports whether i is o, or a test that o is a part of.
func (i id) holds(o id) bool {
	return i.pkg == o.pkg && (i.test == o.test || strings.HasPrefix(o.test, i.test+"/"))
}

// state is the state of a test.
type state struct {
	result string // pass, fail, skip; "" if it did not end
	real   bool   // it is marked as in real time
	output bytes.Buffer
}

// report is the result of a run.
type report struct {
	verbose bool // tests that pass are printed, too
	states  map[id]*state
	order   []id // in which they began
}

func newReport() *report { return &report{states: make(map[id]*state)} }

func (r *report) state(i id) *state {
	s, ok := r.states[i]
	if !ok {
		s = new(state)
		r.states[i], r.order = s, append(r.order, i)
	}
	return s
}

// read reads the events of a run, and prints for each package what go test prints.
func (r *report) read(from io.Reader, p *printer) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.take(line, p)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func (r *report) take(line []byte, p *printer) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		p.printf("%s", line)
		return
	}
	i := id{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		p.printf("%s", e.Output)
	case "build-fail": // the package fails as well
	case "attr":
		if e.Key == testmode.Attribute && e.Value == testmode.RealTime {
			r.state(i).real = true
		}
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			r.state(i).output.WriteString(e.Output)
		}
	case "pass", "fail", "skip":
		r.state(i).result = e.Action
		if e.Test == "" {
			r.print(e.Package, p)
		}
	}
}

// print prints a package that has ended: the tests that failed, and the last line.
func (r *report) print(pkg string, p *printer) {
	whole := r.states[id{pkg: pkg}]
	for _, i := range r.order {
		if s := r.states[i]; i.pkg == pkg && i.test != "" && (r.verbose || s.result == "fail" || whole.result == "fail" && s.result == "") {
			p.printf("%s", s.output.Bytes())
		}
	}
	text := whole.output.String()
	if whole.result == "pass" {
		text = text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]
	}
	p.printf("%s", text)
}

// passed reports whether a test ran and passed, and its package with it.
func (r *report) passed(i id) bool {
	whole, ok := r.states[id{pkg: i.pkg}]
	s, ran := r.states[i]
	return ok && ran && whole.result == "pass" && s.result == "pass"
}

// failures returns the tests that get a second try, and the names of the tests and
// packages that have finally failed.
func (r *report) failures() (again []id, wrong []string) {
	for _, whole := range r.order {
		if whole.test != "" || r.states[whole].result == "pass" || r.states[whole].result == "skip" {
			continue
		}
		tests := r.failed(whole.pkg)
		if len(tests) == 0 || !r.complete(whole.pkg) {
			wrong = append(wrong, whole.String())
			continue
		}
		for _, t := range tests {
			if r.real(t) {
				again = append(again, t)
			} else {
				wrong = append(wrong, t.String())
			}
		}
	}
	return again, wrong
}

// failed returns the tests of a package that failed, without their parts.
func (r *report) failed(pkg string) (tests []id) {
	for _, i := range r.order {
		if i.pkg == pkg && i.test != "" && i.top() == i && r.states[i].result != "pass" && r.states[i].result != "skip" {
			tests = append(tests, i)
		}
	}
	return tests
}

// complete reports whether the tests of a failed package ran to their end, without a
// crash and without a data race: the test binary prints FAIL then.
func (r *report) complete(pkg string) bool {
	for _, i := range r.order {
		if i.pkg == pkg && bytes.Contains(r.states[i].output.Bytes(), []byte("WARNING: DATA RACE")) {
			return false
		}
	}
	return slices.Contains(strings.Split(r.states[id{pkg: pkg}].output.String(), "\n"), "FAIL")
}

// real reports whether everything that failed in a test is in real time: the failed
// part, a part that contains it, or a part within it is marked.
func (r *report) real(t id) bool {
	for _, i := range r.order {
		if !t.holds(i) || r.states[i].result != "fail" || r.failedWithin(i) {
			continue
		}
		if !slices.ContainsFunc(r.order, func(o id) bool { return r.states[o].real && (o.holds(i) || i.holds(o)) }) {
			return false
		}
	}
	return true
}

// failedWithin reports whether a part of a test has failed.
func (r *report) failedWithin(t id) bool {
	return slices.ContainsFunc(r.order, func(o id) bool { return o != t && t.holds(o) && r.states[o].result == "fail" })
}

// summary returns one line with the number of tests that passed, and the tests that
// were skipped and why.
func (r *report) summary() string {
	passed, others := 0, 0
	reasons := make(map[string]int)
	for _, i := range r.order {
		s := r.states[i]
		if i.test == "" {
			continue
		}
		switch s.result {
		case "pass":
			passed++
		case "skip":
			if _, reason, ok := strings.Cut(s.output.String(), testmode.LeftOut); ok {
				reason, _, _ = strings.Cut(reason, "\n")
				reasons[reason]++
			} else {
				others++
			}
		}
	}
	text := fmt.Sprintf("%d tests passed, %d do not apply", passed, others)
	if len(reasons) == 0 {
		return text + ", none was left out"
	}
	var all []string
	for reason, n := range reasons {
		all = append(all, fmt.Sprintf("%d (%s)", n, reason))
	}
	slices.Sort(all)
	return text + "; left out: " + strings.Join(all, ", ")
}
