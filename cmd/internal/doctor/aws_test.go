package doctor_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/mototest"
)

// On an emulator, as in the test of S3: a table that is missing, that has no settings, and that
// has others.
func TestDynamoDB(t *testing.T) {
	url := "dynamodb://us-east-1/mine?endpoint=" + startMoto(t)
	wantFindings(t, examine(t, url, ""), "fault ping")
	store, err := backendurl.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, _ := store.Client.(backendurl.DynamoDB)
	_, err = db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &db.Table, ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(5), WriteCapacityUnits: aws.Int64(5)},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("k"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("k"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := examine(t, url, "")
	wantFindings(t, r, "note table", "note time-to-live")
	wantSeen(t, r, "table", "5 times a second")
	wantSeen(t, r, "clock", "less than a minute")
	for attribute, want := range map[string]string{"other": "warning time-to-live", "e": ""} {
		_, ttlErr := db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
			TableName: &db.Table, TimeToLiveSpecification: &types.TimeToLiveSpecification{Enabled: aws.Bool(true), AttributeName: &attribute},
		})
		_, backupsErr := db.UpdateContinuousBackups(t.Context(), &dynamodb.UpdateContinuousBackupsInput{
			TableName: &db.Table, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
		})
		if ttlErr != nil || backupsErr != nil {
			t.Fatal(ttlErr, backupsErr)
		}
		wanted := []string{"note backups", "note table"}
		if want != "" {
			wanted = append(wanted, want)
		}
		wantFindings(t, examine(t, url, ""), wanted...)
	}
}

func TestS3(t *testing.T) {
	moto := startMoto(t)
	url := "s3://us-east-1/locks?endpoint=" + moto
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
	}))
	defer late.Close()
	wantSeen(t, examine(t, "s3://us-east-1/locks?endpoint="+late.URL, ""), "clock", "-1h0m")
	wantFindings(t, examine(t, "s3://us-east-1/none?endpoint="+moto, ""), "fault ping")
	store, err := backendurl.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, _ := store.Client.(backendurl.S3)
	r := examine(t, url, "")
	wantFindings(t, r, "note lifecycle")
	wantSeen(t, r, "lifecycle", "no rule for locks/")
	wantSeen(t, r, "lock", "median")
	_, err = c.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: &c.Bucket, VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.PutBucketLifecycleConfiguration(t.Context(), &s3.PutBucketLifecycleConfigurationInput{
		Bucket: &c.Bucket, LifecycleConfiguration: &s3types.BucketLifecycleConfiguration{Rules: []s3types.LifecycleRule{{
			ID: aws.String("r"), Status: s3types.ExpirationStatusEnabled, Filter: &s3types.LifecycleRuleFilter{Prefix: aws.String("locks/")},
			Expiration: &s3types.LifecycleExpiration{Days: aws.Int32(1)},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFindings(t, examine(t, url, ""), "fault lifecycle", "warning versioning")
}

// startMoto starts an emulator of AWS, and returns its URL.
func startMoto(t *testing.T) string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	return mototest.Start(t)
}
