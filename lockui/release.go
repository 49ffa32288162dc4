package lockui

import (
	"context"
	"encoding/json"
	"errors"
	"github.com/distlock-go/distlock/admin"
	"io"
	"mime"
	"net/http"
)

// maxBody is the longest body of a release, in bytes.
const maxBody = 4 << 10

// release takes a key away from its holders.
func (h *Handler) release(w http.ResponseWriter, r *http.Request) error {
	if h.origins.Check(r) != nil {
		return &problem{http.StatusForbidden, "the request comes from a page of another origin"}
	}
	key, err := keyToRelease(w, r)
	if err != nil {
		return err
	}
	if err := h.checkKey(key); err != nil {
		return err
	}
	if h.authorize(r, key) != nil {
		return &problem{http.StatusForbidden, "this request may not release the key"}
	}
	// A client that leaves does not leave the outcome in doubt.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), inspectTimeout)
	defer cancel()
	held, err := admin.ForceRelease(ctx, h.locker, key)
	if err != nil {
		return err
	}
	if accepts(r, "text/html") { // a form without a script
		w.Header().Set("Location", "./")
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct { // an error means that the client is gone
		Key  string `json:"key"`
		Held bool   `json:"held"`
	}{key, held})
	return nil
}

// keyToRelease returns the field key of a form or of a JSON object.
func keyToRelease(w http.ResponseWriter, r *http.Request) (key string, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	switch typ, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); typ {
	case "application/json":
		key, err = keyOf(r.Body)
	case "application/x-www-form-urlencoded":
		err = r.ParseForm()
		key = r.PostForm.Get("key")
		if len(r.PostForm["key"]) > 1 {
			err = errors.New("more than one key")
		}
	default:
		return "", &problem{http.StatusUnsupportedMediaType, "want a form or application/json"}
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return "", &problem{http.StatusRequestEntityTooLarge, "the body is too large"}
	case err != nil:
		return "", badRequest("the body cannot be parsed")
	case key == "":
		return "", badRequest("key is missing")
	}
	return key, nil
}

// keyOf returns the value of {"key": "…"}. It refuses whatever another parser might read
// differently: a second "key", "KEY", or anything behind the object.
func keyOf(body io.Reader) (key string, err error) {
	d := json.NewDecoder(body)
	for _, want := range []json.Token{json.Delim('{'), "key", nil, json.Delim('}')} {
		got, err := d.Token()
		text, isText := got.(string)
		switch {
		case err != nil:
			return "", err
		case want == nil && isText:
			key = text
		case got != want:
			return "", errors.New("not an object with one key")
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errors.Join(errors.New("more than an object"), err)
	}
	return key, nil
}
