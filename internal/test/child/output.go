package child

import (
	"bytes"
	"sync"
)

// Output collects what processes write, while others read it.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns what was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
