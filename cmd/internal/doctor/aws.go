package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

// dynamoTable is a table of DynamoDB, and how far the clock of this machine is from it.
type dynamoTable struct {
	backendurl.DynamoDB
	*types.TableDescription
	err  error
	skew time.Duration
}

const skewWhy = "AWS refuses a request that was signed five minutes ago, or fifteen: then no lease can be renewed (P2)."

var dynamoChecks = []check[*dynamoTable]{
	{"table", server, "Each attempt, renewal and release is a write. A table with a limit of writes refuses what exceeds it (P5).", dynamoCapacity},
	{"global-table", durability, "In a global table without strong consistency the last of two writes wins, so two can have a lock (P1).", dynamoReplicas},
	{"backups", durability, "A restored table has the locks and the tokens of then: tokens come again (P3).", dynamoBackups},
	{"time-to-live", server, "An item of each key stays, unless the table removes it after two days. A list of the locks reads all, and takes from the limit (P5).", dynamoTTL},
	{"clock", timing, skewWhy, func(_ context.Context, t *dynamoTable) (verdict, error) { return judgeSkew(t.skew), t.err }},
}

// answered reports whether the error is one of the service: it is for ping to tell.
func answered(err error) bool {
	var api interface{ ErrorCode() string }
	return errors.As(err, &api)
}

func examineDynamoDB(ctx context.Context, db backendurl.DynamoDB) ([]Finding, error) {
	first, cancel := context.WithTimeout(ctx, backendurl.ReachTimeout)
	defer cancel()
	out, err := db.DescribeTable(first, &dynamodb.DescribeTableInput{TableName: &db.Table})
	if err != nil && !answered(err) {
		return nil, err
	}
	t := &dynamoTable{DynamoDB: db, err: err, TableDescription: new(types.TableDescription)}
	if err == nil {
		t.TableDescription = out.Table
		t.skew, _ = awsmiddleware.GetAttemptSkew(out.ResultMetadata)
	}
	return run(ctx, t, dynamoChecks), nil
}

func dynamoCapacity(_ context.Context, t *dynamoTable) (verdict, error) {
	if p := t.ProvisionedThroughput; p != nil && aws.ToInt64(p.WriteCapacityUnits) > 0 {
		return note(fmt.Sprintf("it may be written %d times a second", *p.WriteCapacityUnits), "aws dynamodb update-table --billing-mode PAY_PER_REQUEST"), t.err
	}
	return ok("%s, on demand", t.TableStatus), t.err
}

func dynamoReplicas(_ context.Context, t *dynamoTable) (verdict, error) {
	switch {
	case len(t.Replicas) == 0:
		return ok("it is in one region"), t.err
	case t.MultiRegionConsistency != types.MultiRegionConsistencyStrong:
		return fault("without strong consistency, in "+count(len(t.Replicas), "replica"), "use a table of one region, or --multi-region-consistency STRONG"), t.err
	default:
		return ok("with strong consistency, in %s", count(len(t.Replicas), "replica")), t.err
	}
}

func dynamoBackups(ctx context.Context, t *dynamoTable) (verdict, error) {
	out, err := t.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &t.Table})
	if err != nil {
		return verdict{}, err
	}
	d := out.ContinuousBackupsDescription.PointInTimeRecoveryDescription
	if d != nil && d.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled {
		return note("point-in-time recovery is on", "do not restore this table: make a new one, and let what checks tokens forget them"), nil
	}
	return ok("point-in-time recovery is off"), nil
}

func dynamoTTL(ctx context.Context, t *dynamoTable) (verdict, error) {
	out, err := t.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &t.Table})
	if err != nil {
		return verdict{}, err
	}
	d := out.TimeToLiveDescription
	do := "aws dynamodb update-time-to-live --table-name " + t.Table + " --time-to-live-specification Enabled=true,AttributeName=e"
	switch {
	case d == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled:
		return note("off", do), nil
	case aws.ToString(d.AttributeName) != "e":
		return warning("for the attribute "+aws.ToString(d.AttributeName)+", which the locks do not have", do), nil
	default:
		return ok("on"), nil
	}
}

// judgeSkew judges how far two clocks are apart.
func judgeSkew(skew time.Duration) verdict {
	if skew.Abs() > time.Minute {
		return warning(fmt.Sprintf("%v from that of the service", skew.Round(time.Second)), "synchronize the clock of this machine")
	}
	return ok("less than a minute from that of the service")
}

// bucket is a bucket of S3, and how far the clock of this machine is from it.
type bucket struct {
	backendurl.S3
	err  error
	skew time.Duration
}

var s3Checks = []check[*bucket]{
	{"versioning", durability, "Each write keeps the version before it, which is charged for, and slows lists down (P5).", s3Versioning},
	{"lifecycle", durability, "A rule removes objects of keys that nobody uses. If it comes too early, it removes locks and tokens (P1, P3).", s3Lifecycle},
	{"clock", timing, skewWhy, func(_ context.Context, b *bucket) (verdict, error) { return judgeSkew(b.skew), b.err }},
}

func examineS3(ctx context.Context, c backendurl.S3) ([]Finding, error) {
	first, cancel := context.WithTimeout(ctx, backendurl.ReachTimeout)
	defer cancel()
	out, err := c.HeadBucket(first, &s3.HeadBucketInput{Bucket: &c.Bucket})
	if err != nil && !answered(err) {
		return nil, err
	}
	b := &bucket{S3: c, err: err}
	if err == nil {
		b.skew, _ = awsmiddleware.GetAttemptSkew(out.ResultMetadata)
	}
	return run(ctx, b, s3Checks), nil
}

func s3Versioning(ctx context.Context, b *bucket) (verdict, error) {
	out, err := b.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &b.Bucket})
	if err == nil && out.Status == s3types.BucketVersioningStatusEnabled {
		return warning("on", "use another bucket, or a rule that ends noncurrent versions after a day"), nil
	}
	return ok("off"), err
}

func s3Lifecycle(ctx context.Context, b *bucket) (verdict, error) {
	const do = "a rule for the prefix, with an expiration of 2 days or more"
	out, err := b.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &b.Bucket})
	var api interface{ ErrorCode() string }
	switch {
	case errors.As(err, &api) && api.ErrorCode() == "NoSuchLifecycleConfiguration":
		out = new(s3.GetBucketLifecycleConfigurationOutput)
	case err != nil:
		return verdict{}, err
	}
	for _, r := range out.Rules {
		prefix := aws.ToString(r.Prefix) //nolint:staticcheck // older rules have it
		if r.Filter != nil {
			prefix = aws.ToString(r.Filter.Prefix)
		}
		switch {
		case r.Status != s3types.ExpirationStatusEnabled || r.Expiration == nil || !strings.HasPrefix(b.Prefix, prefix) && !strings.HasPrefix(prefix, b.Prefix):
		case aws.ToInt32(r.Expiration.Days) < 2:
			return fault(fmt.Sprintf("objects of %q end after %s", prefix, count(int(aws.ToInt32(r.Expiration.Days)), "day")), do), nil
		case strings.HasPrefix(b.Prefix, prefix):
			return ok("objects end after %d days", *r.Expiration.Days), nil
		}
	}
	return note("no rule for "+b.Prefix+": an object of each key stays for ever", do), nil
}
