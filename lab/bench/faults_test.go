package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	f := faults{}
	for range 3 {
		f.add("b", 1)
	}
	f.add("a", 1)
	f.add("c", 1)
	if got := f.sorted(); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("%q", got)
	}
}

// However many messages there are, the report has a few, and no error is left out.
func TestManyFaults(t *testing.T) {
	t.Parallel()
	a, b := faults{}, faults{}
	for i := range 100 {
		a.add(fmt.Sprint("a", i), 1)
		b.add(fmt.Sprint("b", i), 2)
	}
	b.merge(a)
	var sum int64
	for _, n := range b {
		sum += n
	}
	if sum != 300 || len(b) != faultKinds+1 || b[otherFaults] != 300-2*faultKinds {
		t.Errorf("%d errors: %v", sum, b)
	}
}

func TestFaultOf(t *testing.T) {
	t.Parallel()
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 50123}
	remote := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	reset := &net.OpError{Op: "read", Net: "tcp", Source: local, Addr: remote, Err: errors.New("connection reset by peer")}
	for want, err := range map[string]error{
		"a b": errors.New("a\n b "),
		"order: read tcp 127.0.0.1:8080: connection reset by peer": fmt.Errorf("order: %w", reset),
		strings.Repeat("ü", faultLength/2) + "…":                   errors.New(strings.Repeat("ü", faultLength)),
		"x" + strings.Repeat("ü", faultLength/2-1) + "…":           errors.New("x" + strings.Repeat("ü", faultLength)),
	} {
		if got := faultOf(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
