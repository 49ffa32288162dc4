package doctor

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

// decision is what a function has decided on values.
type decision struct {
	got  verdict
	want Severity
	seen string // part of what was seen or of what to do
}

// The tests with servers show the other decisions.
func TestDecide(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	cluster := func(assigned, failed, masters string) verdict {
		return judgeCluster(map[string]string{
			"cluster_state": "ok", "cluster_slots_assigned": assigned, "cluster_slots_fail": failed, "cluster_size": masters,
		})
	}
	members := func(n int, down ...string) verdict {
		v, _ := countMembers(t.Context(), ensemble{make([]string, n), down})
		return v
	}
	replicas := func(c types.MultiRegionConsistency, n int) verdict {
		v, _ := dynamoReplicas(t.Context(), dynamoTable{TableDescription: &types.TableDescription{MultiRegionConsistency: c, Replicas: make([]types.ReplicaDescription, n)}})
		return v
	}
	lifecycle := func(prefix string, days int32) verdict {
		return judgeLifecycle("locks/", []s3types.LifecycleRule{{
			Status: s3types.ExpirationStatusEnabled, Prefix: &prefix, Expiration: &s3types.LifecycleExpiration{Days: &days},
		}})
	}
	password := func(server string) verdict {
		v, _ := authentication(t.Context(), &backendurl.Backend{Servers: []string{server}})
		return v
	}
	for i, d := range []decision{
		{password("127.0.0.1:6379"), Note, "every program of this machine"},
		{password("localhost:6379"), Note, "every program of this machine"},
		{password("192.0.2.1:6379"), Warning, "every machine that reaches"},

		{judgeEviction("noeviction", mb), OK, "noeviction"},
		{judgeEviction("volatile-ttl", 0), Warning, "as soon as"},
		{judgeEviction("volatile-ttl", 100*mb), Fault, "100 MB: it evicts keys that expire, and every lock expires"},
		{judgeReplicas(0, 0), Note, "none"},
		{judgeReplicas(1, 0), Warning, "CONFIG SET min-replicas-to-write 1"},
		{judgeReplicas(1, 1), Note, "WaitReplicas"},
		{judgeReplicas(1, 2), Fault, "refused"},
		{cluster("16384", "0", "1"), OK, "16384 of 16384"},
		{cluster("16384", "0", "3"), Warning, "NewClusterClient"},
		{cluster("16384", "100", "3"), Fault, "16284 of 16384"},

		{members(2), Warning, "2 servers: none"},
		{members(3), OK, "1 may fail"},
		{members(4), Note, "than of 3"},
		{members(3, "h:1"), Warning, "1 of 3 do not answer: h:1"},

		{replicas("", 0), OK, "0 replicas"},
		{replicas(types.MultiRegionConsistencyEventual, 2), Fault, "without strong consistency, in 2 replicas"},
		{replicas(types.MultiRegionConsistencyStrong, 2), OK, "2 replicas"},
		{lifecycle("lo", 2), OK, "2 days"},
		{lifecycle("locks/", 1), Fault, "end after 1 day"},
		{lifecycle("other/", 1), Note, "no rule for locks/"},
		{judgeSkew(-5*time.Minute, true), Warning, "-5m0s"},

		{atLeast("PostgreSQL", 11, 0)("15.5 (Debian 15.5-0)"), OK, "15.5"},
		{atLeast("PostgreSQL", 11, 0)("9.6.2"), Fault, "PostgreSQL 11.0 or later"},
		{mysqlVersion("8.0.36"), OK, "MySQL 8.0.36"},
		{mysqlVersion("5.7.44-log"), Fault, "MySQL 8.0 or later"},
		{mysqlVersion("10.11.6-MariaDB-0+deb12u1"), OK, "MariaDB 10.11.6"},
		{mysqlVersion("10.5.1-MariaDB"), Fault, "MariaDB 10.6 or later"},
		{postgresRole("on"), Fault, "read-only"},
		{judgePooler(true, true), Warning, "default_query_exec_mode=exec"},
		{judgePooler(true, false), Note, "poll"},
		{judgeStandbys(0, 0, ""), Note, "none"},
		{judgeStandbys(2, 1, "ANY 1 (*)"), OK, "2 standbys, 1 synchronous"},
		{judgeStandbys(0, 0, "other"), Fault, "wait without end"},
		{judgeDumps(1), Warning, "1 connected"},
		{judgeSnapshot("59"), OK, "59s"},
		{judgeSnapshot("60"), Warning, "1m0s"},
	} {
		if d.got.severity != d.want || !strings.Contains(d.got.seen+"\n"+d.got.do, d.seen) {
			t.Errorf("%d: %v: %q, %q; want %v with %q", i, d.got.severity, d.got.seen, d.got.do, d.want, d.seen)
		}
		if (d.got.do == "") != (d.want == OK) {
			t.Errorf("%d: %v, and what to do is %q", i, d.got.severity, d.got.do)
		}
	}
}

// rows returns the documented form of a table.
func rows[S any](t *testing.T, store string, table []check[S]) string {
	var ids []string
	for _, c := range table {
		if !slices.Contains(topics, c.topic) || !regexp.MustCompile(`\((P[1-8](, )?)+\)\.$|only\.$`).MatchString(c.why) {
			t.Errorf("%s: the topic is %q, and %q names no promise", c.id, c.topic, c.why)
		}
		ids = append(ids, "`"+c.id+"`")
	}
	return "| " + store + " | " + strings.Join(ids, ", ") + " |\n"
}

// The page has all checks.
func TestDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	want := rows(t, "all", lockChecks) + rows(t, "all, by the URL", connectionChecks) + rows(t, "Redis", redisChecks) +
		rows(t, "PostgreSQL", postgresChecks) + rows(t, "MySQL, MariaDB", mysqlChecks) + rows(t, "SQLite", fileChecks) +
		rows(t, "ZooKeeper, etcd", memberChecks) + rows(t, "Kubernetes", kubeChecks) + rows(t, "DynamoDB", dynamoChecks) + rows(t, "S3", s3Checks)
	if !strings.Contains(string(page), want) {
		t.Errorf("docs/doctor.md does not have these rows:\n%s", want)
	}
}
