package torture

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// Kinds of entries. An operation has two entries, so that its beginning is known even
// if its process died.
const (
	beginAcquire = "acquire?"
	endAcquire   = "acquire"
	beginUse     = "use?" // a write, or a read by a lease that shares the key
	endUse       = "use"
	beginRelease = "release?"
	endRelease   = "release"
	sawUntil     = "until" // the lease is valid, and until when
	sawLoss      = "lost"  // the context was cancelled because of a loss
	sawStall     = "stall" // the process did not run for a while
	sawClose     = "close" // the process closes its Locker
	sawEnd       = "bye"   // the process exits, and what it leaked
	sawGone      = "gone"  // the process trusts the lease, and the store does not have it
)

// entry is a line of a journal.
type entry struct {
	Time    int64   `json:"t"`
	What    string  `json:"e"`
	Worker  int     `json:"w"`
	Key     int     `json:"k"`
	Lease   uint64  `json:"l,omitempty"` // number of the acquisition
	ID      uint64  `json:"i,omitempty"` // number of the use
	Token   uint64  `json:"n,omitempty"`
	Until   int64   `json:"u,omitempty"` // end of the lease, if it is valid
	Grant   string  `json:"g,omitempty"` // fingerprint of the owner in the store
	Handed  bool    `json:"h,omitempty"` // handed over by a holder in the same process
	Healed  bool    `json:"p,omitempty"` // in the phase without faults
	Outcome outcome `json:"o,omitempty"`
	Err     string  `json:"x,omitempty"`
	Gap     int64   `json:"d,omitempty"`

	// The options of the acquisition.
	Mode    distlock.Mode `json:"m,omitempty"`
	Permits int           `json:"pm,omitempty"`
	TTL     int64         `json:"tt,omitempty"`
	MinHold int64         `json:"mh,omitempty"`
	Set     uint64        `json:"s,omitempty"`  // number of its set
	Leads   bool          `json:"ld,omitempty"` // a term of a leader
	Kept    int           `json:"kp,omitempty"` // keys of a set that were not released although others were not acquired
}

// now returns the time in nanoseconds on the clock of the machine, which all processes share.
func now() int64 { return time.Now().UnixNano() }

// journal is the file of one process. Each entry is written at once, so that a process
// that is killed does not lose any.
type journal struct {
	gate func() // is called before an entry is written, and may block; nil: nothing

	mu   sync.Mutex
	file io.Writer
}

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	return &journal{file: f}, err
}

func (j *journal) write(e entry) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	if j.gate != nil {
		j.gate()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		panic(err) // a history with holes proves nothing
	}
}

// readJournal and parseJournal read a journal. Its last line may be incomplete.
func readJournal(path string) ([]entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseJournal(text)
}

func parseJournal(text []byte) ([]entry, error) {
	if end := bytes.LastIndexByte(text, '\n'); end >= 0 {
		text = text[:end+1]
	} else {
		text = nil
	}
	var entries []entry
	for line := range bytes.Lines(text) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}
