package httpmw

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/leasestate"
	"github.com/distlock-go/distlock/internal/request"
)

// response is the writer of a handler. It does not let a success or a fault of the server,
// which clients repeat, begin after the lease was lost: the client gets the problem of a lost
// lock in its place.
type response struct {
	http.ResponseWriter
	lease  *distlock.Lease
	before http.Header // as the handler found it
	call   *request.Call

	begun bool  // the final status was written, by the handler or in its place
	lost  error // why what the handler writes is dropped
}

// begin is called before the handler writes. An error of the request, 4xx, which the handler
// has chosen itself, may begin after the loss.
func (w *response) begin(status int) error {
	w.call.Check()
	if w.begun {
		return w.lost
	}
	w.begun = true
	chosen := http.StatusBadRequest <= status && status < http.StatusInternalServerError
	if err := w.lease.Check(); !chosen && err != nil && !errors.Is(err, leasestate.ErrReleased) {
		w.replace(err)
	}
	return w.lost
}

// replace answers with the problem of a lost lock.
func (w *response) replace(why error) {
	w.begun, w.lost = true, why
	header := w.Header()
	clear(header)
	maps.Copy(header, w.before)
	lost.ServeHTTP(w.ResponseWriter, nil)
}

func (w *response) WriteHeader(status int) {
	informational := status < 200 && status != http.StatusSwitchingProtocols
	if informational && !w.begun || w.begin(status) == nil {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *response) Write(p []byte) (int, error) {
	if err := w.begin(http.StatusOK); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(p)
}

// ReadFrom keeps the system call that net/http has for files.
func (w *response) ReadFrom(r io.Reader) (int64, error) {
	if err := w.begin(http.StatusOK); err != nil {
		return 0, err
	}
	return io.Copy(w.ResponseWriter, r)
}

func (w *response) Flush() { _ = w.FlushError() }

// FlushError is Flush for [http.ResponseController].
func (w *response) FlushError() error {
	begun := w.begun
	if err := w.begin(http.StatusOK); err != nil {
		return err
	}
	err := http.NewResponseController(w.ResponseWriter).Flush()
	w.begun = begun || !errors.Is(err, http.ErrNotSupported)
	return err
}

func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	begun := w.begun
	if err := w.begin(http.StatusSwitchingProtocols); err != nil {
		return nil, nil, err
	}
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.begun = begun || err == nil
	return conn, rw, err
}

// Unwrap is for the deadlines of [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
