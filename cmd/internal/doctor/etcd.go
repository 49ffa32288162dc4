package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// etcdLimit is the default operation timeout of etcdlock.
const etcdLimit = 2 * time.Second

// etcdServer reads the values of an etcd cluster.
type etcdServer struct {
	client *clientv3.Client
	prefix string // of the keys
}

func examineEtcd(ctx context.Context, client *clientv3.Client, prefix string) ([]Finding, error) {
	s := etcdServer{client, prefix}
	first, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	endpoint := client.Endpoints()[0]
	var status *clientv3.StatusResponse
	var err error
	for _, endpoint = range client.Endpoints() {
		one, end := context.WithTimeout(first, etcdLimit)
		status, err = client.Status(one, endpoint)
		end()
		if err == nil || errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrUserEmpty) {
			break
		}
	}
	var findings []Finding
	switch {
	case err == nil:
		findings = append(findings, etcdVersion(status.Version), etcdLeader(status.Leader), s.space(ctx, endpoint, status))
	case errors.Is(err, rpctypes.ErrPermissionDenied), errors.Is(err, rpctypes.ErrUserEmpty):
		findings = append(findings, unseen("version", "version, leader and size of the database", err))
	default:
		return nil, fmt.Errorf("no answer: %w", err)
	}
	findings = append(findings, s.members(ctx)...)
	findings = append(findings, s.alarms(ctx), s.compaction(ctx))
	loopback := allLoopback(client.Endpoints())
	findings = append(findings, authentication(client.Username != "", loopback), encryption(strings.HasPrefix(endpoint, "https://"), loopback))
	findings = append(findings, s.write(ctx)...)
	t, err := measure(ctx, 50, func(ctx context.Context) error {
		_, err := client.Get(ctx, prefix, clientv3.WithCountOnly())
		return err
	})
	if err == nil {
		findings = append(findings, roundTrip(t, etcdLimit))
	}
	return findings, nil
}

func etcdVersion(version string) Finding {
	major, minor := major(version), 0
	if _, rest, has := strings.Cut(version, "."); has {
		minor, _ = strconv.Atoi(strings.SplitN(rest, ".", 2)[0])
	}
	if major < 3 || major == 3 && minor < 4 {
		return fault("version", "etcd "+version, "use etcd 3.4 or later")
	}
	return ok("version", "etcd %s", version)
}

func etcdLeader(leader uint64) Finding {
	if leader == 0 {
		return fault("role", "no server leads: a majority is missing", "start the other servers")
	}
	return ok("role", "a server leads")
}

// members examines the servers of the cluster.
func (s etcdServer) members(ctx context.Context) []Finding {
	list, err := s.client.MemberList(ctx)
	if err != nil {
		return []Finding{unseen("members", "the list of members", err)}
	}
	voters := 0
	var down []string
	for _, m := range list.Members {
		if !m.IsLearner {
			voters++
		}
		if len(m.ClientURLs) == 0 {
			down = append(down, m.Name+" (not started)")
			continue
		}
		one, end := context.WithTimeout(ctx, etcdLimit)
		if _, err := s.client.Status(one, m.ClientURLs[0]); err != nil && !errors.Is(err, rpctypes.ErrPermissionDenied) {
			down = append(down, m.Name+" ("+m.ClientURLs[0]+")")
		}
		end()
	}
	return []Finding{members(len(list.Members), voters), urlServers(len(s.client.Endpoints()), len(list.Members)), memberHealth(len(list.Members), down)}
}

// alarms reads the alarms of the cluster.
func (s etcdServer) alarms(ctx context.Context) Finding {
	list, err := s.client.AlarmList(ctx)
	if err != nil {
		return unseen("alarms", "the alarms", err)
	}
	var names []string
	for _, a := range list.Alarms {
		names = append(names, a.Alarm.String())
	}
	return etcdAlarms(names)
}

func etcdAlarms(names []string) Finding {
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) == 0:
		return ok("alarms", "none")
	case slices.Contains(names, etcdserverpb.AlarmType_CORRUPT.String()):
		return fault("alarms", strings.Join(names, ", "), "stop the servers with wrong data, and let them join again empty")
	default:
		return fault("alarms", strings.Join(names, ", "), "etcdctl compact REVISION; etcdctl defrag; etcdctl alarm disarm; and --auto-compaction-retention=1h")
	}
}

// etcdQuota is the limit of the database if --quota-backend-bytes is 0, its default.
const etcdQuota = 2 << 30

// space reads the size of the database and its limit, which older versions tell only in
// their metrics.
func (s etcdServer) space(ctx context.Context, endpoint string, status *clientv3.StatusResponse) Finding {
	quota, known := status.DbSizeQuota, true
	if quota == 0 {
		quota, known = s.quotaInMetrics(ctx, endpoint)
	}
	return databaseSize(status.DbSize, status.DbSizeInUse, quota, known)
}

// quotaInMetrics reads /metrics.
func (s etcdServer) quotaInMetrics(ctx context.Context, endpoint string) (quota int64, known bool) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		u = &url.URL{Scheme: "http", Host: endpoint}
	}
	ctx, cancel := context.WithTimeout(ctx, etcdLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Scheme+"://"+u.Host+"/metrics", nil)
	if err != nil {
		return 0, false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is lost
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, is := strings.CutPrefix(lines.Text(), "etcd_server_quota_backend_bytes "); is {
			v, err := strconv.ParseFloat(value, 64)
			return int64(v), err == nil
		}
	}
	return 0, false
}

// databaseSize decides on the size of the database.
func databaseSize(size, inUse, quota int64, known bool) Finding {
	const do = "etcdctl compact REVISION; etcdctl defrag; --auto-compaction-retention=1h; --quota-backend-bytes"
	limit := bytes(quota)
	if !known {
		quota = etcdQuota
		limit = "a quota that cannot be seen (the default is 2 GB)"
	}
	seen := fmt.Sprintf("%s of %s, %s of it in use", bytes(size), limit, bytes(inUse))
	switch {
	case size >= quota/10*9:
		return warning("database-size", seen, do)
	default:
		return ok("database-size", "%s", seen)
	}
}

// compaction finds out how much history there is: the first revision that can be read.
func (s etcdServer) compaction(ctx context.Context) Finding {
	now, err := s.client.Get(ctx, s.prefix, clientv3.WithCountOnly())
	if err != nil {
		return unseen("auto-compaction", "the history", err)
	}
	last := now.Header.Revision
	first := sort.Search(int(last), func(i int) bool {
		if err != nil {
			return false
		}
		_, readErr := s.client.Get(ctx, s.prefix, clientv3.WithCountOnly(), clientv3.WithSerializable(), clientv3.WithRev(int64(i)+1))
		if readErr != nil && !errors.Is(readErr, rpctypes.ErrCompacted) {
			err = readErr
		}
		return readErr == nil
	})
	if err != nil {
		return unseen("auto-compaction", "the history", err)
	}
	return etcdHistory(last, int64(first))
}

// etcdHistory decides on the number of revisions since the last compaction; compacted is
// 0 if there was none.
func etcdHistory(revision, compacted int64) Finding {
	const many = 1_000_000
	const do = "--auto-compaction-retention=1h"
	switch {
	case compacted == 0 && revision > many/100:
		return warning("auto-compaction", "never compacted, with "+count(int(revision), "revision"), do)
	case compacted == 0:
		return note("auto-compaction", "not compacted yet, with "+count(int(revision), "revision")+"; the setting cannot be seen", do)
	case revision-compacted > many:
		return warning("auto-compaction", count(int(revision-compacted), "revision")+" since the last compaction", do)
	default:
		return ok("auto-compaction", "%s since the last compaction", count(int(revision-compacted), "revision"))
	}
}

// write writes and deletes a key with a lease of etcd, as a lock does.
func (s etcdServer) write(ctx context.Context) []Finding {
	key := s.prefix + "distlock-doctor-" + uuid.NewString()
	granted, err := s.client.Grant(ctx, 10)
	if err != nil {
		return []Finding{etcdWrite(s.prefix, s.client.Username, err)}
	}
	defer s.client.Revoke(context.WithoutCancel(ctx), granted.ID) //nolint:errcheck // the lease ends by itself
	t, err := measure(ctx, 10, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*reachTimeout)
		defer cancel()
		if _, err := s.client.Put(ctx, key, "", clientv3.WithLease(granted.ID)); err != nil {
			return err
		}
		_, err := s.client.Delete(ctx, key)
		return err
	})
	if err == nil {
		_, err = s.client.Get(ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	}
	findings := []Finding{etcdWrite(s.prefix, s.client.Username, err)}
	if err == nil {
		findings = append(findings, commit(times{t.median / 2, t.p99 / 2})) // two changes each
	}
	return findings
}

func etcdWrite(prefix, user string, err error) Finding {
	switch {
	case err == nil:
		return ok("write-access", "keys can be written and deleted below %s", prefix)
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fault("write-access", oneLine(err), "see alarms")
	case errors.Is(err, rpctypes.ErrPermissionDenied), errors.Is(err, rpctypes.ErrUserEmpty):
		return fault("write-access", fmt.Sprintf("the user %q may not read and write the keys below %s: %s", user, prefix, oneLine(err)),
			"etcdctl role grant-permission ROLE readwrite --prefix "+prefix+"; etcdctl user grant-role "+user+" ROLE")
	default:
		return fault("write-access", oneLine(err), "look at the log of the servers")
	}
}
