package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"strings"
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

// parseJTL returns the lines as maps by column name.
func parseJTL(t *testing.T, text string) []map[string]string {
	t.Helper()
	const header = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage," +
		"bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect"
	if first, _, _ := strings.Cut(text, "\n"); first != header {
		t.Fatalf("header %q, want %q", first, header)
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var lines []map[string]string
	for _, r := range records[1:] {
		line := map[string]string{}
		for i, name := range records[0] {
			line[name] = r[i]
		}
		lines = append(lines, line)
	}
	return lines
}

func TestJTL(t *testing.T) {
	t.Parallel()
	var out buffer
	j := newJTLWriter(&out)
	start := time.UnixMilli(1_700_000_000_123).Add(900 * time.Microsecond)
	j.write(jtlSample{start: start, elapsed: 1999 * time.Microsecond, label: "wrap lock", group: 1, user: 16, active: 17, result: result{code: "200", message: "OK"}})
	j.write(jtlSample{
		start: start, elapsed: time.Minute, label: `a, "b"`, group: 2, user: 0, active: 1000,
		result: result{
			err: errors.New("busy, \"very\"\nindeed"), code: "409", message: "Conflict, or so", url: "http://h/items/a,b/orders",
			sent: 31, received: 77, latency: 59 * time.Second, connect: 3 * time.Millisecond,
		},
	})
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if !out.closed {
		t.Error("the file was not closed")
	}
	lines := parseJTL(t, out.String())
	for i, want := range []map[string]string{
		{
			"timeStamp": "1700000000123", "elapsed": "2", "label": "wrap lock", "responseCode": "200", "responseMessage": "OK",
			"threadName": "Thread Group 1-17", "dataType": "text", "success": "true", "failureMessage": "",
			"bytes": "0", "sentBytes": "0", "grpThreads": "17", "allThreads": "17", "URL": "null",
			"Latency": "0", "IdleTime": "0", "Connect": "0",
		},
		{
			"timeStamp": "1700000000123", "elapsed": "60000", "label": `a, "b"`, "responseCode": "409", "responseMessage": "Conflict, or so",
			"threadName": "Thread Group 2-1", "dataType": "text", "success": "false", "failureMessage": `busy, "very" indeed`,
			"bytes": "77", "sentBytes": "31", "grpThreads": "1000", "allThreads": "1000", "URL": "http://h/items/a,b/orders",
			"Latency": "59000", "IdleTime": "0", "Connect": "3",
		},
	} {
		for name, value := range want {
			if lines[i][name] != value {
				t.Errorf("line %d: %s is %q, want %q", i+1, name, lines[i][name], value)
			}
		}
	}
	if len(lines) != 2 {
		t.Errorf("%d lines, want 2", len(lines))
	}
}
