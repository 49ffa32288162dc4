// Package dynamolock is a lock backend in a table of Amazon DynamoDB. The table has the string
// k as its partition key, and no sort key:
//
//	aws dynamodb create-table --table-name locks --billing-mode PAY_PER_REQUEST \
//	    --attribute-definitions AttributeName=k,AttributeType=S --key-schema AttributeName=k,KeyType=HASH
//
//	cfg, err := config.LoadDefaultConfig(ctx) // of aws-sdk-go-v2
//	...
//	backend := dynamolock.New(dynamodb.NewFromConfig(cfg), dynamolock.Config{Table: "locks"})
//
// An attempt, a renewal and a release are one write each. Waiters look at intervals, because
// DynamoDB sends no messages. To have keys removed that were not used for two days, enable
// the table's time to live for the attribute e. A lease is at most 24 hours long.
package dynamolock

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/driver"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
)

// Config configures a backend.
type Config struct {
	// Table is the name of the table. It must exist.
	Table string
}

// New returns a backend in a table. It sends nothing: a table that cannot keep locks is
// refused at the first use. New panics if a field of cfg is wrong.
func New(db *dynamodb.Client, cfg Config) driver.Backend {
	if cfg.Table == "" {
		panic("dynamolock: Config.Table is empty")
	}
	return caslock.New(&store{db: db, cfg: cfg}, caslock.Config{MaxTTL: maxTTL})
}

// maxTTL is the longest lease: an item that was not used for twice as long may be removed.
const maxTTL = 24 * time.Hour

type store struct {
	db  *dynamodb.Client
	cfg Config
}

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// String names the store in errors.
func (s *store) String() string {
	o := s.db.Options()
	return fmt.Sprintf("dynamodb: %s: table %q", cmp.Or(aws.ToString(o.BaseEndpoint), o.Region), s.cfg.Table)
}

// Check implements caslock.Checker.
func (s *store) Check(ctx context.Context) error {
	out, err := s.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.cfg.Table})
	if err != nil {
		return err
	}
	if t := out.Table; len(t.Replicas) > 0 && t.MultiRegionConsistency != types.MultiRegionConsistencyStrong {
		return errors.New("it is a global table without strong consistency, in which the last of two writes wins")
	}
	return caslock.Try(ctx, s)
}

// version is a digest of a value. No value comes twice.
func version(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:12])
}

func read(item attributes) (value []byte, v string) {
	if r, ok := item["r"].(*types.AttributeValueMemberS); ok {
		value = []byte(r.Value)
	}
	if a, ok := item["v"].(*types.AttributeValueMemberS); ok {
		v = a.Value
	}
	return value, v
}

// Load implements caslock.Store.
func (s *store) Load(ctx context.Context, key string) ([]byte, string, error) {
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Table, ConsistentRead: aws.Bool(true), Key: attributes{"k": text(key)}})
	if err != nil {
		return nil, "", err
	}
	value, v := read(out.Item)
	return value, v, nil
}

// Swap implements caslock.Store.
func (s *store) Swap(ctx context.Context, key, last string, value []byte) (string, error) {
	next := version(value)
	end := time.Now().Add(2 * maxTTL).Unix()
	in := &dynamodb.PutItemInput{
		TableName: &s.cfg.Table, ConditionExpression: aws.String("attribute_not_exists(k)"),
		Item: attributes{"k": text(key), "v": text(next), "r": text(string(value)), "e": &types.AttributeValueMemberN{Value: strconv.FormatInt(end, 10)}},
	}
	if last != "" {
		in.ConditionExpression, in.ExpressionAttributeValues = aws.String("v = :v"), attributes{":v": text(last)}
	}
	_, err := s.db.PutItem(ctx, in, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }) // a repeated write fails because of itself
	if failed := new(types.ConditionalCheckFailedException); errors.As(err, &failed) {
		return "", caslock.ErrChanged
	}
	return next, err
}

// List implements caslock.Lister. It reads the whole table.
func (s *store) List(ctx context.Context, prefix string, each func(key string, value []byte, version string) bool) error {
	in := &dynamodb.ScanInput{TableName: &s.cfg.Table, ConsistentRead: aws.Bool(true)}
	if prefix != "" {
		in.FilterExpression, in.ExpressionAttributeValues = aws.String("begins_with(k, :p)"), attributes{":p": text(prefix)}
	}
	for p := dynamodb.NewScanPaginator(s.db, in); p.HasMorePages(); {
		out, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, item := range out.Items {
			if k, ok := item["k"].(*types.AttributeValueMemberS); ok {
				if value, v := read(item); !each(k.Value, value, v) {
					return nil
				}
			}
		}
	}
	return nil
}
