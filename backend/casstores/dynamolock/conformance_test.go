package dynamolock_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/distlock-go/distlock/backend/casstores/dynamolock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/mototest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

func client(url string, n *locktest.Network) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &url, HTTPClient: mototest.Client(n), Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")})
}

func TestConformance(t *testing.T) {
	testmode.Long(t)
	url := mototest.Start(t)
	db := client(url, new(locktest.Network))
	mototest.Conform(t, func(n *locktest.Network) driver.Backend {
		return dynamolock.New(client(url, n), dynamolock.Config{Table: "locks"})
	}, func(t *testing.T, key string) error {
		_, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("locks"), Key: map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: key}}})
		return err
	})
}

// In a global table without strong consistency, the last of two writes wins.
func TestGlobalTable(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"Table": {"KeySchema": [{"AttributeName": "k"}], "Replicas": [{"RegionName": "eu-west-1"}]}}`)
	}))
	defer s.Close()
	err := dynamolock.New(client(s.URL, new(locktest.Network)), dynamolock.Config{Table: "locks"}).(driver.Pinger).Ping(t.Context())
	if err == nil || !strings.Contains(err.Error(), `: table "locks": check: it is a global table without strong consistency`) {
		t.Error(err)
	}
}

// Each read is consistent: a replica that lags must not answer. A write without an answer is not
// sent again: it would fail because of itself.
func TestRequests(t *testing.T) {
	var writes atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := "{}"
		switch _, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); {
		case op == "DescribeTable":
			answer = `{"Table": {"KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]}}`
		case op == "PutItem":
			if n := writes.Add(1); n > 16 { // after those of the check
				w.WriteHeader(http.StatusBadGateway)
			} else if n > 1 {
				w.WriteHeader(http.StatusBadRequest)
				answer = `{"__type": "ConditionalCheckFailedException"}`
			}
		case !strings.Contains(string(body), `"ConsistentRead":true`):
			t.Errorf("%s: %s", op, body)
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer s.Close()
	b := dynamolock.New(client(s.URL, new(locktest.Network)), dynamolock.Config{Table: "locks"})
	if _, err := b.(driver.Inspector).Inspect(t.Context(), "", 1); err != nil {
		t.Error(err)
	}
	if _, err := b.TryAcquire(t.Context(), testkit.NewRequest("key")); err == nil || writes.Load() != 17 {
		t.Errorf("%d writes instead of 17: %v", writes.Load(), err)
	}
}
