package s3lock_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/distlock-go/distlock/backend/casstores/internal/test/mototest"
	"github.com/distlock-go/distlock/backend/casstores/s3lock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

var bucket = "locks"

func client(t *testing.T) *s3.Client {
	t.Helper()
	u := mototest.Start(t)
	c := s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &u, HTTPClient: mototest.Client(), UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")})
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	testmode.Long(t)
	c := client(t)
	open := func() driver.Backend {
		return s3lock.New(c, s3lock.Config{Bucket: bucket, Poll: 200 * time.Millisecond})
	}
	locktest.Run(t, func(*testing.T) driver.Backend { return open() }, locktest.Features{
		Lease:     time.Second,
		NoNetwork: true, // moto answers one request at a time; natslock has the same engine over a network
		Peer:      func(*testing.T, driver.Backend) driver.Backend { return open() },
		Drop: func(t *testing.T, _ driver.Backend, key string) {
			name := "locks/" + url.PathEscape(key)
			if _, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: &name}); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// A service that ignores the conditions of a write is refused at the first use.
func TestConditionsIgnored(t *testing.T) {
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer old.Close()
	c := s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &old.URL, UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")})
	_, err := s3lock.New(c, s3lock.Config{Bucket: bucket}).TryAcquire(t.Context(), testkit.NewRequest("key"))
	if err == nil || !strings.Contains(err.Error(), `bucket "locks": try: 8 of 8 writes under the same condition succeeded`) {
		t.Error(err)
	}
}
