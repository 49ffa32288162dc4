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

type dynamoTable struct {
	backendurl.DynamoDB
	*types.TableDescription
}

const clockWhy = "AWS refuses a request that was signed five minutes ago, or fifteen: then no lease can be renewed (P2)."

var dynamoChecks = []check[dynamoTable]{
	{"table", server, "Each attempt, renewal and release is a write. A table with a limit of writes refuses what exceeds it (P5).", dynamoCapacity},
	{"global-table", durability, "In a global table without strong consistency the last of two writes wins, so two can have a lock (P1).", dynamoReplicas},
	{"backups", durability, "A restored table has the locks and the tokens of then: tokens come again (P3).", dynamoBackups},
	{"time-to-live", server, "An item of each key stays, unless the table removes it after two days. A list of the locks reads all, and takes from the limit (P5).", dynamoTTL},
	{"clock", timing, clockWhy, func(ctx context.Context, t dynamoTable) (verdict, error) {
		out, err := t.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Table})
		if err != nil {
			return verdict{}, err
		}
		return judgeSkew(awsmiddleware.GetAttemptSkew(out.ResultMetadata)), nil
	}},
}

// unanswered returns an error unless it is one of the service, which is for ping to tell.
func unanswered(err error) error {
	var api interface{ ErrorCode() string }
	if errors.As(err, &api) {
		return nil
	}
	return err
}

func examineDynamoDB(ctx context.Context, db backendurl.DynamoDB) ([]Finding, error) {
	first, cancel := context.WithTimeout(ctx, backendurl.ReachTimeout)
	defer cancel()
	out, err := db.DescribeTable(first, &dynamodb.DescribeTableInput{TableName: &db.Table})
	if err != nil {
		return nil, unanswered(err)
	}
	return run(ctx, dynamoTable{db, out.Table}, dynamoChecks), nil
}

func dynamoCapacity(_ context.Context, t dynamoTable) (verdict, error) {
	if p := t.ProvisionedThroughput; p != nil && aws.ToInt64(p.WriteCapacityUnits) > 0 {
		return note(fmt.Sprintf("it may be written %d times a second", *p.WriteCapacityUnits), "aws dynamodb update-table --billing-mode PAY_PER_REQUEST"), nil
	}
	return ok("%s, on demand", t.TableStatus), nil
}

func dynamoReplicas(_ context.Context, t dynamoTable) (verdict, error) {
	if len(t.Replicas) > 0 && t.MultiRegionConsistency != types.MultiRegionConsistencyStrong {
		return fault("without strong consistency, in "+count(len(t.Replicas), "replica"), "use a table of one region, or --multi-region-consistency STRONG"), nil
	}
	return ok("%s elsewhere", count(len(t.Replicas), "replica")), nil
}

func dynamoBackups(ctx context.Context, t dynamoTable) (verdict, error) {
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

func dynamoTTL(ctx context.Context, t dynamoTable) (verdict, error) {
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

// judgeSkew judges how far the clock of the service is from that of this machine.
func judgeSkew(skew time.Duration, _ bool) verdict {
	if skew.Abs() > time.Minute {
		return warning(fmt.Sprintf("%v from that of the service", skew.Round(time.Second)), "synchronize the clock of this machine")
	}
	return ok("less than a minute from that of the service")
}

var s3Checks = []check[backendurl.S3]{
	{"versioning", durability, "Each write keeps the version before it, which is charged for, and slows lists down (P5).", s3Versioning},
	{"lifecycle", durability, "A rule removes objects of keys that nobody uses. If it comes too early, it removes locks and tokens (P1, P3).", s3Lifecycle},
	{"clock", timing, clockWhy, func(ctx context.Context, b backendurl.S3) (verdict, error) {
		out, err := b.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.Bucket})
		if err != nil {
			return verdict{}, err
		}
		return judgeSkew(awsmiddleware.GetAttemptSkew(out.ResultMetadata)), nil
	}},
}

func examineS3(ctx context.Context, b backendurl.S3) ([]Finding, error) {
	first, cancel := context.WithTimeout(ctx, backendurl.ReachTimeout)
	defer cancel()
	if _, err := b.HeadBucket(first, &s3.HeadBucketInput{Bucket: &b.Bucket}); err != nil {
		return nil, unanswered(err)
	}
	return run(ctx, b, s3Checks), nil
}

func s3Versioning(ctx context.Context, b backendurl.S3) (verdict, error) {
	out, err := b.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &b.Bucket})
	if err == nil && out.Status == s3types.BucketVersioningStatusEnabled {
		return warning("on", "use another bucket, or a rule that ends noncurrent versions after a day"), nil
	}
	return ok("off"), err
}

func s3Lifecycle(ctx context.Context, b backendurl.S3) (verdict, error) {
	out, err := b.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &b.Bucket})
	switch {
	case err == nil:
		return judgeLifecycle(b.Prefix, out.Rules), nil
	case strings.Contains(err.Error(), "NoSuchLifecycleConfiguration"):
		return judgeLifecycle(b.Prefix, nil), nil
	default:
		return verdict{}, err
	}
}

func judgeLifecycle(locks string, rules []s3types.LifecycleRule) verdict {
	const do = "a rule for the prefix, with an expiration of 2 days or more"
	for _, r := range rules {
		prefix := aws.ToString(r.Prefix) //nolint:staticcheck // older rules have it
		if r.Filter != nil {
			prefix = aws.ToString(r.Filter.Prefix)
		}
		if r.Status == s3types.ExpirationStatusEnabled && r.Expiration != nil && strings.HasPrefix(locks, prefix) {
			days := int(aws.ToInt32(r.Expiration.Days))
			if days < 2 {
				return fault(fmt.Sprintf("objects of %q end after %s", prefix, count(days, "day")), do)
			}
			return ok("objects end after %d days", days)
		}
	}
	return note("no rule for "+locks+": an object of each key stays for ever", do)
}
