package backendurl

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/distlock-go/distlock/backend/casstores/dynamolock"
	"github.com/distlock-go/distlock/backend/casstores/s3lock"
)

// endpointParameter is the URL of another service with the interface of AWS, such as MinIO.
const endpointParameter = "endpoint"

// DynamoDB is a client of a table.
type DynamoDB struct {
	*dynamodb.Client
	dynamolock.Config
}

// S3 is a client of a bucket.
type S3 struct {
	*s3.Client
	s3lock.Config
}

// awsConfig returns the region, which is the host of a URL, and the credentials that the
// environment has.
func awsConfig(ctx context.Context, u *hostURL) (aws.Config, error) {
	switch {
	case u.user != nil:
		return aws.Config{}, invalid(errors.New("want no user: the environment has the credentials, as for the AWS CLI"))
	case u.name() == "":
		return aws.Config{}, invalid(errors.New("the table or the bucket is missing"))
	}
	region, _, _ := net.SplitHostPort(u.servers[0])
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion(region))
	if endpoint, ok := u.parameter(endpointParameter); ok {
		c.BaseEndpoint = &endpoint
	}
	return c, err
}

func connectDynamoDB(ctx context.Context, u *hostURL) (*Backend, error) {
	c, err := awsConfig(ctx, u)
	if err != nil {
		return nil, err
	}
	db := DynamoDB{dynamodb.NewFromConfig(c), dynamolock.Config{Table: u.name()}}
	return &Backend{Backend: dynamolock.New(db.Client, db.Config), Client: db, Password: true, TLS: true}, nil
}

func connectS3(ctx context.Context, u *hostURL) (*Backend, error) {
	c, err := awsConfig(ctx, u)
	if err != nil {
		return nil, err
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) {
		o.UsePathStyle = c.BaseEndpoint != nil
		o.DisableLogOutputChecksumValidationSkipped = true // of each object
	})
	bucket, prefix, _ := strings.Cut(u.name(), "/")
	b := S3{client, s3lock.Config{Bucket: bucket, Prefix: cmp.Or(prefix, "locks/")}}
	return &Backend{Backend: s3lock.New(b.Client, b.Config), Client: b, Password: true, TLS: true}, nil
}
