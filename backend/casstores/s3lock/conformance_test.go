package s3lock_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/distlock-go/distlock/backend/casstores/s3lock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/mototest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

var bucket = "locks"

func client(url string, n *locktest.Network) *s3.Client {
	return s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &url, HTTPClient: mototest.Client(n), UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")})
}

func TestConformance(t *testing.T) {
	testmode.Long(t)
	u := mototest.Start(t)
	c := client(u, new(locktest.Network))
	mototest.Conform(t, func(n *locktest.Network) driver.Backend {
		return s3lock.New(client(u, n), s3lock.Config{Bucket: bucket})
	}, func(t *testing.T, key string) error {
		name := "locks/" + url.PathEscape(key)
		_, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: &name})
		return err
	})
}

// A service that ignores the conditions of a write is refused at the first use.
func TestConditionsIgnored(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			none(w)
		}
	}))
	defer s.Close()
	_, err := s3lock.New(client(s.URL, new(locktest.Network)), s3lock.Config{Bucket: bucket}).TryAcquire(t.Context(), testkit.NewRequest("key"))
	if err == nil || !strings.Contains(err.Error(), `bucket "locks": check: 8 of 8 writes succeeded where one may`) {
		t.Error(err)
	}
}

// none answers that the object does not exist.
func none(w http.ResponseWriter) {
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("<Error><Code>NoSuchKey</Code></Error>"))
}

// A bucket that is missing, or a gateway that has no service, is a failure, and not a free key.
func TestMissingBucket(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w.WriteHeader(http.StatusNotFound); r.Method == http.MethodGet {
			_, _ = w.Write([]byte("404 page not found"))
		}
	}))
	defer s.Close()
	err := s3lock.New(client(s.URL, new(locktest.Network)), s3lock.Config{Bucket: bucket}).(driver.Pinger).Ping(t.Context())
	if err == nil || !strings.Contains(err.Error(), "GetObject") {
		t.Error(err)
	}
}

// After 409 of S3 a write is decided anew. 429 of R2 says that it was not carried out.
func TestConflict(t *testing.T) {
	var writes atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w.Header().Set("ETag", `"1"`); r.Method == http.MethodGet {
			none(w)
		} else if n := writes.Add(1); n < 18 { // those of the check, and one
			w.WriteHeader(http.StatusConflict)
		} else if n > 18 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer s.Close()
	b := s3lock.New(client(s.URL, new(locktest.Network)), s3lock.Config{Bucket: bucket})
	if err := b.Release(t.Context(), testkit.MustTry(t, b, testkit.NewRequest("key"))); !errors.Is(err, driver.ErrNotSent) || writes.Load() != 19 {
		t.Error(err)
	}
}

// MinIO refuses "." and ".." as elements of a path.
func TestDots(t *testing.T) {
	var names sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w.Header().Set("ETag", `"1"`); r.Method == http.MethodGet {
			none(w)
		} else if _, tried := names.LoadOrStore(r.URL.Path, true); tried { // several writes of the check
			w.WriteHeader(http.StatusPreconditionFailed)
		}
	}))
	defer s.Close()
	b := s3lock.New(client(s.URL, new(locktest.Network)), s3lock.Config{Bucket: bucket})
	for key, want := range map[string]string{".": "%2E", "..": "%2E%2E", "...": "...", "a/..": "a%2F.."} {
		testkit.MustTry(t, b, testkit.NewRequest(key))
		if _, ok := names.Load("/locks/locks/" + want); !ok {
			t.Errorf("the object of the key %q is not %q", key, want)
		}
	}
}
