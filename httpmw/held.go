package httpmw

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"
)

var errTooLong = errors.New("httpmw: the response is larger than WithVerified allows")

// heldResponse keeps a response back until it may be sent. It behaves as the writers of
// net/http do, but has no Flush and no Hijack, and no Unwrap, which would give access
// to them.
type heldResponse struct {
	w    http.ResponseWriter
	most int

	header  http.Header // the handler's
	status  int         // 0: nothing was written
	sent    http.Header // header as it was when the status was written
	body    bytes.Buffer
	tooLong bool
}

var _ http.ResponseWriter = (*heldResponse)(nil)

func newHeldResponse(w http.ResponseWriter, most int) *heldResponse {
	return &heldResponse{w: w, most: most, header: w.Header().Clone()}
}

// Header returns a copy of the header that others have begun. If the response is
// dropped, their header is left.
func (h *heldResponse) Header() http.Header { return h.header }

// WriteHeader keeps the first status that is final.
func (h *heldResponse) WriteHeader(status int) {
	if status < 100 || status > 999 { // here, where the stack shows the caller
		panic("invalid WriteHeader code " + strconv.Itoa(status))
	}
	informational := status < 200 && status != http.StatusSwitchingProtocols
	if h.status != 0 || informational {
		return
	}
	h.status, h.sent = status, h.header.Clone()
}

// Write keeps p, or fails if the response becomes too large.
func (h *heldResponse) Write(p []byte) (int, error) {
	if h.status == 0 {
		h.WriteHeader(http.StatusOK)
	}
	switch {
	case len(p) == 0:
		return 0, nil
	case h.status < 200, h.status == http.StatusNoContent, h.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case h.tooLong || len(p) > h.most-h.body.Len():
		h.tooLong, h.body = true, bytes.Buffer{}
		return 0, errTooLong
	}
	return h.body.Write(p)
}

// SetReadDeadline is for [http.ResponseController].
func (h *heldResponse) SetReadDeadline(t time.Time) error {
	return http.NewResponseController(h.w).SetReadDeadline(t)
}

// SetWriteDeadline is for [http.ResponseController].
func (h *heldResponse) SetWriteDeadline(t time.Time) error {
	return http.NewResponseController(h.w).SetWriteDeadline(t)
}

// EnableFullDuplex is for [http.ResponseController].
func (h *heldResponse) EnableFullDuplex() error {
	return http.NewResponseController(h.w).EnableFullDuplex()
}

// send writes the response, or that it is too large.
func (h *heldResponse) send() {
	if h.tooLong {
		tooLong.ServeHTTP(h.w, nil)
		return
	}
	if h.status != 0 {
		h.replace(h.sent)
		h.w.WriteHeader(h.status)
		if h.body.Len() > 0 {
			_, _ = h.w.Write(h.body.Bytes()) // the handler has returned, so the error cannot be reported
		}
	}
	h.replace(h.header) // trailers; or all, if nothing was written
}

func (h *heldResponse) replace(header http.Header) {
	dst := h.w.Header()
	clear(dst)
	maps.Copy(dst, header)
}
