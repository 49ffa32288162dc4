package sqltest

import "sync"

// log collects the output of the processes that a server has had.
type log struct {
	mu   sync.Mutex
	text []byte
	from int // where the output of the present process begins
}

// Write appends p.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *log) mark() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.from = len(l.text)
}

func (l *log) sinceMark() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text[l.from:])
}

func (l *log) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
