// Package text formats parts of error messages.
package text

import (
	"strconv"
	"strings"
	"time"
)

// OneLine returns the text of err with its lines joined into one.
func OneLine(err error) string {
	s := strings.TrimSpace(err.Error())
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines, "; ")
}

// Quote returns s in quotes, cut if it is long, so that text from strangers is fit
// for a log.
func Quote(s string) string {
	const most = 64
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// Duration formats d, rounded for people.
func Duration(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(time.Millisecond)
	}
	return d.String()
}
