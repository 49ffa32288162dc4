package main

import (
	"io"
	"os"
	"strings"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

// hider writes texts without the passwords of stores. It is between this process and
// everything that it prints about a store: errors, logs of clients and reports.
type hider struct {
	w         io.Writer
	addresses []string
	password  string // of the environment
}

// newHider returns a hider for the addresses in the environment and in args, also where no
// address is expected.
func newHider(w io.Writer, args []string) *hider {
	h := &hider{w: w, addresses: []string{os.Getenv(backendEnv)}, password: os.Getenv("PGPASSWORD")}
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=") // a flag and its value
		h.addresses = append(h.addresses, value, arg)
	}
	return h
}

// Write implements [io.Writer]. Each text is written at once.
func (h *hider) Write(p []byte) (int, error) {
	_, err := io.WriteString(h.w, h.hide(string(p)))
	return len(p), err
}

func (h *hider) hide(text string) string {
	for _, a := range h.addresses {
		text = backendurl.Hide(text, a)
	}
	if len(h.password) > 3 {
		text = strings.ReplaceAll(text, h.password, "xxxxx")
	}
	return text
}
