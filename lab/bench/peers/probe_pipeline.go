package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// The pipeline is filled like that of redis-benchmark -c 50 -P 32.
const (
	pipelineConns = 50
	pipelinePairs = 16 // of two commands each
)

// newPipeline measures how many bare pairs the server can execute if the client costs
// almost nothing: requests are prepared in advance, many pairs are in one write, and
// replies are compared and not parsed.
func newPipeline(t task) (func(context.Context, order) report, func(), error) {
	o, err := redis.ParseURL(t.URL)
	if err != nil {
		return nil, nil, err
	}
	c := redis.NewClient(o)
	defer c.Close() //nolint:errcheck // nothing is lost
	if err := bareUnlock.Load(context.Background(), c).Err(); err != nil {
		return nil, nil, err
	}
	conns := make([]net.Conn, pipelineConns)
	end := func() {
		for _, c := range conns {
			if c != nil {
				_ = c.Close()
			}
		}
	}
	for i := range conns {
		if conns[i], err = dial(o); err != nil {
			end()
			return nil, nil, err
		}
	}
	return func(_ context.Context, o order) report { return fill(t, o, conns) }, end, nil
}

// fill keeps all connections busy for as long as the order says.
func fill(t task, o order, conns []net.Conn) report {
	start := time.Unix(0, o.Start)
	time.Sleep(time.Until(start))
	var pairs atomic.Int64
	errs := make([]error, len(conns))
	var wg sync.WaitGroup
	for i, c := range conns {
		batch := bytes.Repeat(pair(fmt.Sprintf("%s:%d", t.Key, i)), pipelinePairs)
		want := bytes.Repeat([]byte("+OK\r\n:1\r\n"), pipelinePairs)
		wg.Go(func() {
			got := make([]byte, len(want))
			for end := start.Add(o.For); time.Now().Before(end) && errs[i] == nil; pairs.Add(pipelinePairs) {
				_, err := c.Write(batch)
				if err == nil {
					_, err = io.ReadFull(c, got)
				}
				if err == nil && !bytes.Equal(got, want) {
					err = fmt.Errorf("the server answered %q", got)
				}
				errs[i] = err
			}
		})
	}
	wg.Wait()
	r := report{Start: o.Start, End: time.Now().UnixNano(), Locks: pairs.Load(), Finished: true}
	if err := errors.Join(errs...); err != nil {
		r.Finished, r.Errors, r.FirstError = false, 1, err.Error()
	}
	return r
}

// pair returns a lock and an unlock on the wire.
func pair(key string) []byte {
	const owner = "00000000-0000-4000-8000-000000000000"
	lease := strconv.FormatInt(leaseTime.Milliseconds(), 10)
	return append(command("SET", key, owner, "NX", "PX", lease),
		command("EVALSHA", bareUnlock.Hash(), "1", key, owner)...)
}

func command(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// dial returns a connection that is ready for commands.
func dial(o *redis.Options) (net.Conn, error) {
	c, err := net.DialTimeout(o.Network, o.Addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	if o.TLSConfig != nil {
		c = tls.Client(c, o.TLSConfig)
	}
	var first [][]byte
	switch {
	case o.Username != "":
		first = append(first, command("AUTH", o.Username, o.Password))
	case o.Password != "":
		first = append(first, command("AUTH", o.Password))
	}
	if o.DB != 0 {
		first = append(first, command("SELECT", strconv.Itoa(o.DB)))
	}
	answers := bufio.NewReaderSize(c, 16)
	for _, cmd := range first {
		_, err := c.Write(cmd)
		if err == nil {
			var line string
			if line, err = answers.ReadString('\n'); err == nil && !strings.HasPrefix(line, "+OK") {
				err = errors.New("redis: " + strings.TrimSpace(line))
			}
		}
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}
