package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"cirello.io/dynamolock/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The names of the peers in F20 to F23.
const (
	bareKV  = "bare-kv"
	cirello = "cirello"
	bareS3  = "bare-s3"
	elector = "leaderelection" // if the program was built with -tags kube
)

// polling is a lock by hand: take returns what releases the lock, and nil if another has it.
// A caller tries again after a random pause of one to two times the given one.
func polling(pause time.Duration, take func(ctx context.Context, key string) (unlockFunc, error)) lockFunc {
	return func(ctx context.Context, key string) (unlockFunc, error) {
		for {
			if unlock, err := take(ctx, key); unlock != nil || err != nil {
				return unlock, err
			}
			time.Sleep(pause + rand.N(pause)) // the next attempt tells if ctx has ended
		}
	}
}

// newBareKV uses a key-value bucket of NATS by hand: it creates a key, and deletes it if nobody
// has changed it. All keys of the bucket end after the lease.
func newBareKV(t task) (lockFunc, error) {
	nc, err := nats.Connect(t.URL)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	kv, err := js.CreateOrUpdateKeyValue(context.Background(), jetstream.KeyValueConfig{Bucket: "bare", TTL: leaseTime})
	return polling(bareDelay, func(ctx context.Context, key string) (unlockFunc, error) {
		key = strings.ReplaceAll(key, ":", ".")
		revision, err := kv.Create(ctx, key, nil)
		if errors.Is(err, jetstream.ErrKeyExists) {
			return nil, nil //nolint:nilnil // it is held
		}
		return func(ctx context.Context) error { return kv.Delete(ctx, key, jetstream.LastRevision(revision)) }, err
	}), err
}

// awsConfig is that of the emulator in a URL.
func awsConfig(rawURL string) aws.Config {
	u, _ := url.Parse(rawURL) // it is ours
	return aws.Config{
		Region: u.Host, BaseEndpoint: aws.String(u.Query().Get("endpoint")),
		Credentials: credentials.NewStaticCredentialsProvider("x", "x", ""),
	}
}

func s3Client(rawURL string) *s3.Client {
	return s3.NewFromConfig(awsConfig(rawURL), func(o *s3.Options) { o.UsePathStyle = true })
}

// newCirello uses cirello.io/dynamolock with its defaults, but for the lease, and deletes a lock
// that is released, as most of its users do. A waiter reads each second.
func newCirello(t task) (lockFunc, error) {
	c, err := dynamolock.New(dynamodb.NewFromConfig(awsConfig(t.URL)), "locks", dynamolock.WithPartitionKeyName("k"), dynamolock.WithLeaseDuration(leaseTime))
	return func(ctx context.Context, key string) (unlockFunc, error) {
		l, err := c.AcquireLockWithContext(ctx, key, dynamolock.WithDeleteLockOnRelease(), dynamolock.WithAdditionalTimeToWaitForLock(patience))
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { return lockedUntil(c.ReleaseLockWithContext(ctx, l)) }, nil
	}, err
}

// newBareS3 puts an object if there is none, and deletes it. It ends no lease. A waiter tries as
// often as s3lock reads by default.
func newBareS3(t task) (lockFunc, error) {
	c := s3Client(t.URL)
	return polling(time.Second/2, func(ctx context.Context, key string) (unlockFunc, error) {
		owner := strings.NewReader(uuid.NewString())
		_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("locks"), Key: &key, Body: owner, IfNoneMatch: aws.String("*")})
		if refused := smithy.APIError(nil); errors.As(err, &refused) && refused.ErrorCode() == "PreconditionFailed" {
			return nil, nil //nolint:nilnil // it is held
		}
		return func(ctx context.Context) error {
			_, err := c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String("locks"), Key: &key})
			return err
		}, err
	}), nil
}
