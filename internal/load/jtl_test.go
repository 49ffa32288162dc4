package load

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

type buffer struct {
	bytes.Buffer
	closed bool
}

func (b *buffer) Close() error {
	b.closed = true
	return nil
}

func TestJTL(t *testing.T) {
	t.Parallel()
	start := time.UnixMilli(1_700_000_000_123).Add(900 * time.Microsecond)
	var out buffer
	err := writeJTL(&out, []*outcome{
		{label: "wrap lock", samples: []sample{{start: start, elapsed: 1999 * time.Microsecond, user: 16, active: 17, result: result{code: "200", message: "OK"}}}},
		{label: `a, "b"`, samples: []sample{{
			start: start, elapsed: time.Minute, active: 1000, result: result{
				err: errors.New("busy, \"very\"\nindeed"), code: "409", message: "Conflict, or so", url: "http://h/items/a,b/orders", sent: 31, received: 77,
			},
		}}},
	})
	const want = `timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect
1700000000123,2,wrap lock,200,OK,Thread Group 1-17,text,true,,0,0,17,17,null,0,0,0
1700000000123,60000,"a, ""b""",409,"Conflict, or so",Thread Group 2-1,text,false,"busy, ""very"" indeed",77,31,1000,1000,"http://h/items/a,b/orders",0,0,0
`
	if err != nil || !out.closed || out.String() != want {
		t.Errorf("error %v, closed: %v, got\n%s\nwant\n%s", err, out.closed, out.String(), want)
	}
}
