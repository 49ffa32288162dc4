package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const maxBody = 64 << 10

// errSlowBody means that the client took too long to send its request.
var errSlowBody = errors.New("the body did not arrive in time")

// readBody decodes the body into v strictly: it must be a single JSON value without
// unknown fields, and arrive within limit. Errors in the input are inputErrors.
func readBody(w http.ResponseWriter, r *http.Request, limit time.Duration, v any) error {
	// The deadline is for the body only, and is removed for the handler. A writer that
	// does not support deadlines is not a network connection.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(limit))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{})
		return decodeStrict(body, v)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return badInput("body: is over %d bytes", tooLarge.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlowBody
	default:
		return badInput("body: ended early")
	}
}

func decodeStrict(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return badInput("body: %s", jsonReason(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return badInput("body: something follows the JSON object")
	}
	return nil
}

// jsonReason describes err in terms of JSON, not of Go.
func jsonReason(err error) string {
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "ends within the JSON object"
	case errors.As(err, &wrongType) && wrongType.Field == "":
		return "want a JSON object, got " + wrongType.Value
	case errors.As(err, &wrongType):
		return wrongType.Field + " cannot be " + wrongType.Value
	default:
		return strings.TrimPrefix(err.Error(), "json: ")
	}
}
