package lockui

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"

	"github.com/distlock-go/distlock/admin"
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
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct { // an error means that the client is gone
		Key  string `json:"key"`
		Held bool   `json:"held"`
	}{key, held})
	return nil
}

// keyToRelease returns the field key of a form.
func keyToRelease(w http.ResponseWriter, r *http.Request) (string, error) {
	if typ, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); typ != "application/x-www-form-urlencoded" {
		return "", &problem{http.StatusUnsupportedMediaType, "want a form: application/x-www-form-urlencoded"}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	err := r.ParseForm()
	switch keys := r.PostForm["key"]; {
	case errors.As(err, new(*http.MaxBytesError)):
		return "", &problem{http.StatusRequestEntityTooLarge, "the body is too large"}
	case err != nil, len(keys) > 1:
		return "", badRequest("the body cannot be parsed")
	case len(keys) == 0 || keys[0] == "":
		return "", badRequest("key is missing")
	default:
		return keys[0], nil
	}
}
