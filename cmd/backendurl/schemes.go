package backendurl

import (
	"context"
	"errors"
	"strings"
)

// scheme is a kind of values.
type scheme struct {
	prefix string
	form   string // of the rest
	port   string // the default; "": the rest is not a URL
	rules         // of a URL

	// connect makes the backend. It does not ask the store for anything; only etcd checks
	// the password of a user. An error about the URL wraps ErrURL.
	connect func(context.Context, *hostURL) (*Backend, error)
}

var schemes = []scheme{
	{"redis://", "[user:password@]host:port/db[?record=redisson]", "6379", redisRules, connectRedis},
	{"rediss://", "… (with TLS)", "6379", redisRules, connectRedis},
	{"zk://", "[user:password@]host:port,host:port/chroot", "2181", zkRules, connectZooKeeper},
	{"postgres://", "[user:password@]host:port/db", "5432", postgresRules, connectPostgres},
	{"postgresql://", "…", "5432", postgresRules, connectPostgres},
	{"mysql://", "[user:password@]host:port/db", "3306", mysqlRules, connectMySQL},
	{"sqlite:", "path", "", rules{file: true}, connectSQLite},
	{"etcd://", "[user:password@]host:port,host:port/prefix", "2379", etcdRules, connectEtcd},
	{"nats://", "[user:password@]host:port,host:port/bucket", "4222", natsRules, connectNATS},
	{"kube://", "namespace (in a pod) or kube://host:port/namespace (kubectl proxy)", "80", kubeRules, connectKube},
	{"dynamodb://", "region/table", "443", awsRules, connectDynamoDB},
	{"s3://", "region/bucket/prefix[?endpoint=https://host]", "443", awsRules, connectS3},
}

// Usage describes the values of a -backend flag, for its help text.
var Usage = forms(schemes)

func forms(all []scheme) string {
	var texts []string
	for _, s := range all {
		texts = append(texts, s.prefix+s.form)
	}
	return strings.Join(texts, ", ")
}

// The client of Redis checks the parameters, and a password needs no user.
var (
	redisRules    = rules{oneHost: true}
	zkRules       = rules{user: true, password: true, parameters: []string{zkTimeout}}
	postgresRules = rules{user: true, database: true, parameters: postgresParameters}
	mysqlRules    = rules{oneHost: true, user: true, database: true, parameters: []string{tlsParameter}}
	etcdRules     = rules{user: true, password: true, parameters: []string{tlsParameter}}
	natsRules     = etcdRules
	kubeRules     = rules{oneHost: true, parameters: []string{}}
	awsRules      = rules{oneHost: true, parameters: []string{endpointParameter}}
)

// parse returns the scheme of rawURL, and its parts.
func parse(rawURL string) (scheme, *hostURL, error) {
	for _, s := range schemes {
		rest, ok := strings.CutPrefix(rawURL, s.prefix)
		switch {
		case !ok:
		case s.port == "":
			return s, &hostURL{servers: []string{rest}, path: rest}, nil
		default:
			u, err := parseHosts(rest, s.port)
			if err == nil {
				u.scheme = strings.TrimSuffix(s.prefix, "://")
			}
			return s, u, err
		}
	}
	return scheme{}, nil, errors.New("want one of " + Usage)
}
