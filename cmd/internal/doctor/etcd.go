package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// etcdServer reads the values of an etcd cluster.
type etcdServer struct {
	client *clientv3.Client
	status *clientv3.StatusResponse // of a server that answers
	err    error                    // the user may not see it
}

var etcdChecks = []check[*etcdServer]{
	{"version", server, "The locks need requests that older servers do not have, and the tests run on these versions only.", etcdVersion},
	{"role", server, "Without a leader, nothing is granted, renewed or released (P1, P5).", etcdRole},
	{"members", server, membersWhy, etcdMembers},
	{"alarms", server, "With the alarm NOSPACE no new lock is granted; with CORRUPT nothing is certain (P1, P5).", etcdAlarms},
}

func examineEtcd(ctx context.Context, client *clientv3.Client) ([]Finding, error) {
	s := &etcdServer{client: client}
	for _, endpoint := range client.Endpoints() {
		if s.status, s.err = statusOf(ctx, client, endpoint); s.err == nil || forbidden(s.err) {
			break
		}
	}
	if s.err != nil && !forbidden(s.err) {
		return nil, fmt.Errorf("no answer: %w", s.err)
	}
	return run(ctx, s, etcdChecks), nil
}

// statusOf asks one server.
func statusOf(ctx context.Context, client *clientv3.Client, endpoint string) (*clientv3.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	return client.Status(ctx, endpoint)
}

// forbidden reports whether a server answers, and the user has too few rights.
func forbidden(err error) bool {
	return errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrUserEmpty)
}

func etcdVersion(_ context.Context, s *etcdServer) (verdict, error) {
	if s.err != nil {
		return verdict{}, s.err
	}
	return atLeast("etcd", 3, 4)(s.status.Version), nil
}

func etcdRole(_ context.Context, s *etcdServer) (verdict, error) {
	switch {
	case s.err != nil:
		return verdict{}, s.err
	case s.status.Leader == 0:
		return fault("no server leads: a majority is missing", "start the other servers"), nil
	default:
		return ok("a server leads"), nil
	}
}

// etcdMembers asks each server of the cluster.
func etcdMembers(ctx context.Context, s *etcdServer) (verdict, error) {
	list, err := s.client.MemberList(ctx)
	if err != nil {
		return verdict{}, err
	}
	var down []string
	for _, m := range list.Members {
		if len(m.ClientURLs) == 0 {
			down = append(down, m.Name)
		} else if _, err := statusOf(ctx, s.client, m.ClientURLs[0]); err != nil && !forbidden(err) {
			down = append(down, m.ClientURLs[0])
		}
	}
	return judgeMembers(len(list.Members), down, false), nil
}

func etcdAlarms(ctx context.Context, s *etcdServer) (verdict, error) {
	list, err := s.client.AlarmList(ctx)
	if err != nil {
		return verdict{}, err
	}
	var names []string
	for _, a := range list.Alarms {
		names = append(names, a.Alarm.String())
	}
	return judgeAlarms(names), nil
}

func judgeAlarms(names []string) verdict {
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) == 0:
		return ok("none")
	case slices.Contains(names, etcdserverpb.AlarmType_CORRUPT.String()):
		return fault(strings.Join(names, ", "), "stop the servers with wrong data, and let them join again empty")
	default:
		return fault(strings.Join(names, ", "), "etcdctl compact REVISION; etcdctl defrag; etcdctl alarm disarm; and --auto-compaction-retention=1h")
	}
}
