package backendurl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
)

// ErrURL means that the value itself is invalid, as opposed to the store that it names.
// A command reports it as a mistake in its usage.
var ErrURL = errors.New("invalid backend")

// errNotEncoded is the whole message for a URL in which the end of the password is
// uncertain.
var errNotEncoded = errors.New("not a URL; special characters in user and password must be percent-encoded")

func invalid(err error) error { return fmt.Errorf("%w: %w", ErrURL, err) }

// because returns err with the reason for which ctx has ended.
func because(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		return fmt.Errorf("%w: %w", end, err)
	}
	return err
}

// hiddenError is an error whose text is shown without secrets.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// printable keeps an error that quotes decoded text on one line.
func printable(err error) error {
	return errors.New(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, err.Error()))
}

// unquoted returns an error of [net/url] without the part of the URL that it quotes.
func unquoted(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	text, _, _ := strings.Cut(err.Error(), `"`)
	return errors.New(strings.TrimSpace(text))
}
