package dynamolock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/distlock-go/distlock/backend/casstores/dynamolock"
	"github.com/distlock-go/distlock/backend/casstores/internal/test/mototest"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// table makes a table whose key has the given name.
func table(t *testing.T, db *dynamodb.Client, name, key string) {
	t.Helper()
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func client(t *testing.T) *dynamodb.Client {
	url := mototest.Start(t)
	return dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &url, HTTPClient: mototest.Client(), Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")})
}

func TestConformance(t *testing.T) {
	testmode.Long(t)
	db := client(t)
	table(t, db, "locks", "k")
	open := func() driver.Backend { return dynamolock.New(db, dynamolock.Config{Table: "locks"}) }
	locktest.Run(t, func(*testing.T) driver.Backend { return open() }, locktest.Features{
		Lease:     time.Second,
		NoNetwork: true, // moto answers one request at a time; natslock has the same engine over a network
		Peer:      func(*testing.T, driver.Backend) driver.Backend { return open() },
		Drop: func(t *testing.T, _ driver.Backend, key string) {
			_, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("locks"), Key: map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: key}}})
			if err != nil {
				t.Fatal(err)
			}
		},
	})
}

func TestUnfitTable(t *testing.T) {
	db := client(t)
	table(t, db, "other", "id")
	for name, want := range map[string]string{"other": "its key is not k alone", "none": "describe"} {
		err := dynamolock.New(db, dynamolock.Config{Table: name}).(driver.Pinger).Ping(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("table %q: %v, want %q", name, err, want)
		}
	}
}
