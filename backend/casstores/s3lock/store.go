// Package s3lock is a lock backend in a bucket of Amazon S3, or of a service with the same
// interface that has conditional writes (If-Match and If-None-Match), such as Cloudflare R2
// and MinIO. The first use tries whether writes are atomic, and refuses a service that ignores
// the condition.
//
//	cfg, err := config.LoadDefaultConfig(ctx) // of aws-sdk-go-v2
//	...
//	backend := s3lock.New(s3.NewFromConfig(cfg), s3lock.Config{Bucket: "locks"})
//
// It is for jobs, not for queues: an attempt, a renewal and a release are one PUT each, which
// the service charges for, and waiters read at intervals. A lease of a minute or more is
// sensible. A lease is at most 24 hours long. Objects are never removed: give the prefix a
// lifecycle rule of two days or more.
package s3lock

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/driver"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
)

// Config configures a backend.
type Config struct {
	// Bucket is the name of the bucket. It must exist.
	Bucket string

	// Prefix begins the names of all objects. The default is "locks/".
	Prefix string
}

// New returns a backend in a bucket. It sends nothing: a service whose conditional writes are
// not atomic is refused at the first use, if that can be seen. New panics if a field of cfg is
// wrong.
func New(c *s3.Client, cfg Config) driver.Backend {
	if cfg.Bucket == "" {
		panic("s3lock: Config.Bucket is empty")
	}
	cfg.Prefix = cmp.Or(cfg.Prefix, "locks/")
	return caslock.New(&store{c: c, cfg: cfg}, caslock.Config{MaxTTL: 24 * time.Hour})
}

type store struct {
	c   *s3.Client
	cfg Config
}

// String names the store in errors.
func (s *store) String() string {
	o := s.c.Options()
	return fmt.Sprintf("s3: %s: bucket %q", cmp.Or(aws.ToString(o.BaseEndpoint), o.Region), s.cfg.Bucket)
}

// Check implements caslock.Checker.
func (s *store) Check(ctx context.Context) error { return caslock.Try(ctx, s) }

// name returns the name of an object. Some services refuse the elements "." and ".." of a path.
func (s *store) name(key string) *string {
	escaped := url.PathEscape(key)
	if key == "." || key == ".." {
		escaped = strings.Repeat("%2E", len(key))
	}
	return aws.String(s.cfg.Prefix + escaped)
}

func status(err error) int {
	var r *awshttp.ResponseError
	if errors.As(err, &r) {
		return r.HTTPStatusCode()
	}
	return 0
}

// Load implements caslock.Store.
func (s *store) Load(ctx context.Context, key string) ([]byte, string, error) {
	out, err := s.c.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.cfg.Bucket, Key: s.name(key)})
	if errors.As(err, new(*types.NoSuchKey)) { // another 404 may be a gateway's, or of the bucket
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	value, err := io.ReadAll(out.Body)
	return value, aws.ToString(out.ETag), errors.Join(err, out.Body.Close())
}

// Swap implements caslock.Store. A version is an ETag, which may be a digest: no value comes
// twice.
func (s *store) Swap(ctx context.Context, key, version string, value []byte) (string, error) {
	in := &s3.PutObjectInput{Bucket: &s.cfg.Bucket, Key: s.name(key), Body: bytes.NewReader(value), ContentType: aws.String("application/json")}
	if version == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &version
	}
	out, err := s.c.PutObject(ctx, in, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} }) // a repeated write fails because of itself
	switch code := status(err); {
	case code == http.StatusPreconditionFailed, code == http.StatusConflict, code == http.StatusNotFound && version != "":
		return "", caslock.ErrChanged
	case code == http.StatusTooManyRequests: // nothing was carried out
		return "", driver.NotSent(err)
	case err != nil:
		return "", err
	}
	return aws.ToString(out.ETag), nil
}

// List implements caslock.Lister.
func (s *store) List(ctx context.Context, prefix string, each func(key string, value []byte, version string) bool) error {
	p := s3.NewListObjectsV2Paginator(s.c, &s3.ListObjectsV2Input{Bucket: &s.cfg.Bucket, Prefix: s.name(prefix)})
	for p.HasMorePages() {
		out, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, o := range out.Contents {
			key, err := url.PathUnescape(strings.TrimPrefix(aws.ToString(o.Key), s.cfg.Prefix))
			if err != nil {
				continue // it is no lock
			}
			value, version, err := s.Load(ctx, key)
			if err != nil {
				return err
			}
			if !each(key, value, version) {
				return nil
			}
		}
	}
	return nil
}
