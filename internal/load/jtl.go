package load

import (
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

// writeJTL writes all samples in JMeter's CSV format, and closes w. The runs are thread
// groups 1 and 2.
func writeJTL(w io.WriteCloser, runs []*outcome) error {
	lines := csv.NewWriter(w) // it keeps its first error
	_ = lines.Write(jtlHeader)
	for i, o := range runs {
		for _, s := range o.samples {
			_ = lines.Write(s.fields(o.label, "Thread Group "+strconv.Itoa(i+1)+"-"+strconv.Itoa(s.user+1)))
		}
	}
	lines.Flush()
	return errors.Join(lines.Error(), w.Close())
}

// fields returns the values of the columns. Times are rounded to milliseconds, so that
// their average is right. Byte counts are those of the bodies. What is not measured is 0.
func (s *sample) fields(label, thread string) []string {
	failure, url := "", s.url
	if s.err != nil {
		failure = oneLine(s.err.Error())
	}
	if url == "" {
		url = "null" // JMeter's value for a sampler without a URL
	}
	elapsed := strconv.FormatInt(s.elapsed.Round(time.Millisecond).Milliseconds(), 10)
	active := strconv.FormatInt(s.active, 10)
	return []string{
		strconv.FormatInt(s.start.UnixMilli(), 10), elapsed, label, s.code, s.message, thread,
		"text", strconv.FormatBool(s.err == nil), failure,
		strconv.Itoa(s.received), strconv.Itoa(s.sent), active, active, url, "0", "0", "0",
	}
}
