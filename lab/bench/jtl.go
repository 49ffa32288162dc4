package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"time"
)

// jtlHeader has the columns that JMeter 5 writes by default, in its order.
var jtlHeader = []string{
	"timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType", "success",
	"failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads", "URL", "Latency", "IdleTime", "Connect",
}

// jtlSample is one line. It is formatted by the writer, so that formatting does not
// count as the users' time.
type jtlSample struct {
	start   time.Time
	elapsed time.Duration
	label   string
	group   int // number of the run, from 1
	user    int
	active  int64 // users at that time
	result  result
}

// fields returns the values of the columns. Times are rounded to milliseconds, so that
// their average is right. Byte counts are those of the bodies.
func (s *jtlSample) fields() []string {
	whole := func(d time.Duration) string { return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) }
	r := &s.result
	failure, url := "", r.url
	if r.err != nil {
		failure = oneLine(r.err.Error())
	}
	if url == "" {
		url = "null" // JMeter's value for a sampler without a URL
	}
	active := strconv.FormatInt(s.active, 10)
	return []string{
		strconv.FormatInt(s.start.UnixMilli(), 10), whole(s.elapsed), s.label, r.code, r.message,
		"Thread Group " + strconv.Itoa(s.group) + "-" + strconv.Itoa(s.user+1),
		"text", strconv.FormatBool(r.err == nil), failure,
		strconv.Itoa(r.received), strconv.Itoa(r.sent), active, active, url, whole(r.latency), "0", whole(r.connect),
	}
}

// jtlWriter writes samples in JMeter's CSV format. Users only put samples into its
// channel; one goroutine writes. A nil jtlWriter writes nothing.
type jtlWriter struct {
	samples chan jtlSample
	err     chan error // of the writing, once
}

// newJTLWriter starts a writer on w, and closes w at the end.
func newJTLWriter(w io.WriteCloser) *jtlWriter {
	j := &jtlWriter{samples: make(chan jtlSample, 8192), err: make(chan error, 1)}
	go func() { j.err <- j.writeAll(w) }()
	return j
}

func (j *jtlWriter) writeAll(w io.WriteCloser) error {
	// A csv.Writer keeps its first error and writes nothing after it, so a full disk
	// does not slow the users down.
	lines := csv.NewWriter(bufio.NewWriterSize(w, 64<<10))
	_ = lines.Write(jtlHeader)
	for s := range j.samples {
		_ = lines.Write(s.fields())
	}
	lines.Flush()
	return errors.Join(lines.Error(), w.Close())
}

func (j *jtlWriter) write(s jtlSample) {
	if j != nil {
		j.samples <- s
	}
}

// close writes the rest. It must be the last call.
func (j *jtlWriter) close() error {
	if j == nil {
		return nil
	}
	close(j.samples)
	return <-j.err
}
