package pglisten

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// server is a server of PostgreSQL, as far as Listen uses one, in the time of a bubble.
type server struct {
	conns, checks atomic.Int32
	user          string // of the last connection

	// answer returns the answer to a query after so many checks: what a check returns, or
	// one of the constants.
	answer func(query string, checks int32) string
}

const (
	refuses = "an error"
	silent  = "nothing, to this and all else"
)

// listener returns a listener that connects to the server.
func (s *server) listener(t *testing.T) *Listener {
	t.Helper()
	config, err := pgx.ParseConfig("postgres://shop@127.0.0.1/shop?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		client, conn := net.Pipe()
		s.conns.Add(1)
		go s.serve(conn)
		return client, nil
	}
	return New(config)
}

// serve serves a connection until the client closes it.
func (s *server) serve(conn net.Conn) {
	defer s.conns.Add(-1)
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	send := func(all ...pgproto3.BackendMessage) {
		for _, m := range append(all, &pgproto3.ReadyForQuery{TxStatus: 'I'}) {
			b.Send(m)
		}
		_ = b.Flush() // the next Receive fails, too
	}
	m, _ := b.ReceiveStartupMessage()
	hello, ok := m.(*pgproto3.StartupMessage)
	if !ok {
		return // it asks to cancel a query of another one
	}
	s.user = hello.Parameters["user"]
	send(&pgproto3.AuthenticationOk{}, &pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"},
		&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	for quiet := false; ; {
		m, err := b.Receive()
		q, ok := m.(*pgproto3.Query)
		switch {
		case err != nil || !ok && !quiet: // closed, or about to be
			return
		case !ok:
			continue
		}
		isCheck := strings.HasPrefix(q.String, "SHOW")
		if isCheck {
			s.checks.Add(1)
		}
		switch answer := s.answer(q.String, s.checks.Load()); {
		case answer == silent:
			quiet = true
		case answer == refuses:
			send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "57P03"})
		case isCheck:
			send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("x"), DataTypeOID: 25}}},
				&pgproto3.DataRow{Values: [][]byte{[]byte(answer)}}, &pgproto3.CommandComplete{CommandTag: []byte("SHOW")})
		default:
			send(&pgproto3.CommandComplete{CommandTag: []byte("LISTEN")}, &pgproto3.NotificationResponse{Channel: "distlock", Payload: "a"})
		}
	}
}
