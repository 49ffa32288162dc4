package main

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"unicode/utf8"
)

// faults counts failed samples by message.
type faults map[string]int64

const (
	faultKinds  = 20 // different messages; the rest is counted together
	faultLength = 300
	otherFaults = "other errors"
)

// add counts failed samples with a message.
func (f faults) add(message string, n int64) {
	if _, known := f[message]; !known && len(f) >= faultKinds {
		message = otherFaults
	}
	f[message] += n
}

func (f faults) merge(o faults) {
	for _, message := range o.sorted() {
		f.add(message, o[message])
	}
}

// sorted returns the messages, the most frequent first.
func (f faults) sorted() []string {
	return slices.SortedFunc(maps.Keys(f), func(a, b string) int {
		return cmp.Or(cmp.Compare(f[b], f[a]), cmp.Compare(a, b))
	})
}

// faultOf returns the message of an error on one line. The port of the local address
// differs for each connection, so the address is left out.
func faultOf(err error) string {
	text := err.Error()
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Source != nil {
		text = strings.Replace(text, op.Source.String()+"->", "", 1)
	}
	text = oneLine(text)
	if len(text) <= faultLength {
		return text
	}
	end := faultLength
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
