package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// decision is what a function has decided on values.
type decision struct {
	got  Finding
	want Severity
	seen string // part of what was seen or of what to do
}

// wantDecisions checks decisions. What is not ok says what to do.
func wantDecisions(t *testing.T, all []decision) {
	t.Helper()
	for _, d := range all {
		if d.got.Severity != d.want || !strings.Contains(d.got.Seen+"\n"+d.got.Do, d.seen) {
			t.Errorf("%s is %v: %q, %q; want %v with %q", d.got.ID, d.got.Severity, d.got.Seen, d.got.Do, d.want, d.seen)
		}
		if (d.got.Do == "") != (d.want == OK) {
			t.Errorf("%s is %v, and what to do is %q", d.got.ID, d.got.Severity, d.got.Do)
		}
		if d.got.Why == "" || d.got.Topic == "" {
			t.Errorf("%s is not in the catalogue", d.got.ID)
		}
	}
}

func TestDecideRedis(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	now := time.UnixMicro(1_795_342_347_462_681)
	online := replica{"h:1", true, 0, 100}
	version := func(info map[string]string) Finding { return redisVersion(redisFlavour(info)) }
	wantDecisions(t, []decision{
		{version(map[string]string{"redis_version": "7.2.4"}), OK, "Redis 7.2.4"},
		{version(map[string]string{"redis_version": "5.0.0"}), OK, "Redis 5.0.0"},
		{version(map[string]string{"redis_version": "4.0.14"}), Fault, "Redis 4.0.14"},
		{version(map[string]string{"redis_version": "7.2.4", "valkey_version": "8.0.1"}), OK, "Valkey 8.0.1"},
		{version(map[string]string{"redis_version": "6.3.4", "executable": "/usr/bin/keydb-server"}), Warning, "KeyDB 6.3.4"},
		{version(map[string]string{"redis_version": "7.2.0", "dragonfly_version": "df-v1.21.2"}), Warning, "Dragonfly 1.21.2"},
		{version(nil), Note, "cannot see"},

		{redisRole("standalone", "master", ":"), OK, "master"},
		{redisRole("standalone", "slave", "h:1"), Fault, "a replica of h:1"},
		{redisRole("sentinel", "sentinel", ":"), Fault, "a Sentinel"},
		{redisRole("", "", ":"), Note, "cannot see"},

		{memory(5*mb, 0), OK, "no limit"},
		{memory(50*mb, 100*mb), OK, "50 MB of 100 MB"},
		{memory(90*mb, 100*mb), Warning, "90 MB of 100 MB"},
		{memory(100*mb, 100*mb), Fault, "100 MB of 100 MB"},

		{connections(89, 100, "more"), OK, "89 of 100"},
		{connections(90, 100, "more"), Warning, "more"},
		{connections(100, 100, "more"), Fault, "100 of 100"},
		{redisIdle(0), OK, "none"},
		{redisIdle(time.Minute), Note, "1m0s"},
		{keepalive(300 * time.Second), OK, "5m0s"},
		{keepalive(0), Note, "off"},

		{eviction("noeviction", 0), OK, "noeviction"},
		{eviction("noeviction", mb), OK, "noeviction"},
		{eviction("volatile-ttl", 0), Warning, "as soon as"},
		{eviction("volatile-ttl", 100*mb), Fault, "every lock expires"},
		{eviction("allkeys-lru", 100*mb), Fault, "last token"},

		{persistence(false, "", ""), Warning, "all locks"},
		{persistence(false, "", "3600 1"), Warning, "since the last"},
		{persistence(true, "always", ""), OK, "always"},
		{persistence(true, "everysec", ""), Note, "two seconds"},
		{persistence(true, "no", ""), Warning, "half a minute"},
		{diskWrites("ok", "ok"), OK, ""},
		{diskWrites("err", "ok"), Fault, "append-only"},
		{diskWrites("ok", "err"), Warning, "snapshot"},

		{redisReplicas(nil, 0), Note, "none"},
		{redisReplicas([]replica{online}, 0), Warning, "CONFIG SET min-replicas-to-write 1"},
		{redisReplicas([]replica{online}, 1), Note, "WithWaitReplicas"},
		{redisReplicas([]replica{online}, 2), Fault, "refused"},
		{redisReplicas(nil, 1), Fault, "refused"},
		{redisLag([]replica{online}, 100), OK, "1 replica"},
		{redisLag([]replica{online, {"h:2", false, 0, 100}}, 100), Warning, "h:2 is not online"},
		{redisLag([]replica{{"h:2", true, 11 * time.Second, 100}}, 100), Warning, "h:2 was last heard 11s ago"},
		{redisLag([]replica{{"h:2", true, 0, 100}}, 100+20*mb), Warning, "h:2 is 20 MB behind"},
		{sentinel(3), Note, "3 Sentinels"},

		{tokenClock("1795342347462681", now), OK, ""},
		{tokenClock("1795342347462681", now.Add(-time.Hour)), Warning, "1h0m0s ahead"},
		{tokenClock("hello", now), Fault, `"hello"`},

		{clusterURL(1), OK, "1 master"},
		{clusterURL(3), Warning, "NewClusterClient"},
		{clusterState("ok"), OK, "ok"},
		{clusterState("fail"), Fault, "fail"},
		{clusterSlots(16384, 0, 0, ""), OK, "16384 of 16384"},
		{clusterSlots(16384, 0, 5, ""), Warning, "the master of 5"},
		{clusterSlots(16384, 100, 0, "yes"), Fault, "16284 of 16384 slots have a master, cluster-require-full-coverage yes"},
		{clusterSlots(16383, 0, 0, ""), Fault, "16383"},
		{clusterReplicas(map[string]int{"a": 1, "b": 2}), OK, "2 masters"},
		{clusterReplicas(map[string]int{"a": 1, "b": 0}), Note, "1 of 2 masters"},

		{scripts(allowed, allowed), OK, "Lua"},
		{scripts(noCommand, allowed), Note, "cannot see"},
		{scripts(unknownCommand, allowed), Fault, "EVAL"},
		{scripts(allowed, unknownCommand), Fault, "EVALSHA"},
		{writes(nil), OK, ""},
		{writes(errors.New("MOVED 1 h:1")), OK, ""},
		{writes(errors.New("OOM command not allowed")), Fault, "see memory"},
		{writes(errors.New("MISCONF Redis is configured")), Fault, "see disk-writes"},
		{writes(errors.New("NOPERM User u has no permissions to run the 'set' command")), Note, "cannot see"},
		{aclCommands("u", nil, nil), OK, "u"},
		{aclCommands("u", []refused{{trial{"wait", nil, "x"}, noCommand}}, nil), OK, "u"},
		{aclCommands("u", []refused{{trial{"get", nil, ""}, noCommand}, {trial{"set", nil, ""}, noCommand}}, nil), Fault, "ACL SETUSER u +get +set"},
		{aclOptional("u", []refused{{trial{"get", nil, ""}, noCommand}}), OK, "u"},
		{aclOptional("u", []refused{{trial{"wait", nil, "it fails"}, noCommand}}), Note, "wait (it fails)"},
		{aclOptional("u", []refused{{trial{"subscribe", nil, "waiters poll"}, noCommand}}), Warning, "ACL SETUSER u +subscribe"},
		{aclChannels("u", allowed, allowed), OK, "distlock:inbox:*"},
		{aclChannels("u", noChannel, allowed), Fault, "may not publish on"},
		{aclChannels("u", allowed, noChannel), Warning, "may not subscribe on"},
		{aclChannels("u", noChannel, noChannel), Fault, "&distlock:inbox:*"},
		{aclChannels("u", noCommand, noCommand), Note, "cannot see"},
		{aclKeys("u", "shop:", newProbeKeys("shop:"), nil), OK, `"shop:"`},
		{aclKeys("u", "shop:", newProbeKeys("shop:"), []string{clockKey}), Fault, "'~distlock:clock*'"},
		{aclKeys("u", "", newProbeKeys(""), []string{clockKey}), Fault, "'~distlock:clock*'"},
		{aclKeys("u", "", probeKeys{lock: "k"}, []string{"k"}), Warning, "-prefix"},

		{authentication(true, false), OK, "password"},
		{authentication(false, true), Note, "this machine"},
		{authentication(false, false), Warning, "every machine"},
		{encryption(true, false), OK, "on"},
		{encryption(false, true), OK, "this machine"},
		{encryption(false, false), Note, "off"},
	})
}

func TestRefusalOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]refusal{
		"NOPERM this user has no permissions to run the 'get' command":                        noCommand, // Redis 7.0
		"NOPERM this user has no permissions to run the 'client' command or its subcommand":   noCommand, // Redis 6
		"NOPERM User monkey has no permissions to run the 'get' command":                      noCommand, // Redis 7.2
		"NOPERM this user has no permissions to access one of the keys used as arguments":     noKey,
		"NOPERM No permissions to access a key":                                               noKey,
		"NOPERM this user has no permissions to access one of the channels used as arguments": noChannel,
		"NOPERM No permissions to access a channel":                                           noChannel,
		"ERR unknown command 'EVAL', with args beginning with: 'return 1' '0'":                unknownCommand,
		"ERR unknown command `evalsha`, with args beginning with:":                            unknownCommand,
		"NOSCRIPT No matching script. Please use EVAL.":                                       allowed,
		"ERR syntax error": allowed,
		"READONLY You can't write against a read only replica.": allowed,
		"redis: nil": allowed,
	} {
		if got := refusalOf(errors.New(text)); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	if got := refusalOf(nil); got != allowed {
		t.Errorf("no error is %d", got)
	}
}

func TestParseRedis(t *testing.T) {
	t.Parallel()
	info := parseInfo("# Replication\r\nrole:master\r\nslave0:ip=10.0.0.1,port=6380,state=online,offset=98,lag=1\r\nslave1:ip=::1,port=6381,state=send_bulk,offset=0,lag=0\r\n")
	got := parseReplicas(info, 2)
	if len(got) != 2 || got[0] != (replica{"10.0.0.1:6380", true, time.Second, 98}) || got[1].online {
		t.Errorf("got %+v of %q", got, info)
	}
	nodes := parseNodes(`07c3 127.0.0.1:30004@31004,h slave e7d1 0 1426238317239 4 connected
67ed 127.0.0.1:30002@31002 master - 0 1426238316232 2 connected 5461-10922
292f 127.0.0.1:30003@31003 slave,fail 67ed 0 1426238318243 3 connected
e7d1 127.0.0.1:30001@31001 myself,master - 0 0 1 connected 0-5460
aaaa 127.0.0.1:30009@31009 master - 0 0 1 connected
`)
	if len(nodes) != 2 || nodes["127.0.0.1:30001"] != 1 || nodes["127.0.0.1:30002"] != 0 {
		t.Errorf("got %v", nodes)
	}
}

func TestDecideTime(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	shown := func(d, trip time.Duration) reading { return reading{at, at.Add(trip), at.Add(trip/2 + d)} }
	ms := time.Millisecond
	wantDecisions(t, []decision{
		{roundTrip(times{ms, 99 * ms}, time.Second), OK, "median 1ms, p99 99ms"},
		{roundTrip(times{ms, 100 * ms}, time.Second), Warning, "lease of 10s"},
		{roundTrip(times{ms, time.Second}, time.Second), Fault, "p99 1s"},
		{commit(times{ms, 10 * ms}), OK, "timeout of 2s"},
		{commit(times{ms, 200 * ms}), Warning, "disk"},
		{commit(times{ms, 2 * time.Second}), Fault, "disk"},
		{wakeUp(times{ms, time.Second}), OK, "median 1ms"},
		{wakeUp(times{100 * ms, time.Second}), Warning, "median 100ms"},
		{clock(shown(0, ms)), OK, "± 500µs"},
		{clock(shown(999*ms, 0)), OK, "999ms ahead"},
		{clock(shown(-2*time.Second, ms)), Note, "2s behind"},
		{clock(shown(2*time.Second, 4*time.Second)), OK, "± 2s"}, // it may be right
		{clock(shown(time.Hour, ms)), Warning, "1h0m0s ahead"},
		{clock(shown(-time.Minute, ms)), Warning, "1m0s behind"},
	})
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(100-i)*ms)
	}
	if got := timesOf(all); got != (times{51 * ms, 99 * ms}) {
		t.Errorf("got %v", got)
	}
	if got := timesOf([]time.Duration{3, 1, 2}); got != (times{2, 3}) {
		t.Errorf("got %v", got)
	}
}

func TestDecideZooKeeper(t *testing.T) {
	t.Parallel()
	wantDecisions(t, []decision{
		{zkVersion(" 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25"), OK, "ZooKeeper 3.8.0"},
		{zkVersion(" 3.4.14-4c25"), Warning, "containers"},
		{zkVersion("what"), Note, "cannot see"},
		{zkRole(" follower"), OK, "follower"},
		{zkRole("observer"), Note, "observer"},
		{zkRole("read-only"), Fault, "majority"},
		{sessionTimeout(20*time.Second, 20*time.Second), OK, "at most 10s"},
		{sessionTimeout(5*time.Second, 5*time.Second), Note, "at most 2.5s"},
		{sessionTimeout(20*time.Second, 6*time.Second), Warning, "maxSessionTimeout=20000"},
		{sessionTimeout(20*time.Second, 40*time.Second), Note, "minSessionTimeout=20000"},
		{sessionTimeout(20*time.Second, time.Second), Fault, "500ms"},
		{sessionTimeout(20*time.Second, 0), Note, "cannot see"},
		{members(1, 1), Warning, "1 voting server"},
		{members(2, 2), Warning, "2 voting servers"},
		{members(3, 3), OK, "1 may fail"},
		{members(4, 4), Note, "than of 3"},
		{members(6, 5), OK, "5 voting servers of 6: 2 may fail"},
		{rootACL(zk.WorldACL(zk.PermAll)), Note, "every client"},
		{rootACL(zk.WorldACL(zk.PermRead)), OK, "not every"},
		{rootACL(zk.DigestACL(zk.PermAll, "u", "p")), OK, "not every"},
		{urlServers(1, 3), Warning, "1 of 3"},
		{urlServers(3, 5), OK, "3 of 5"},
		{urlServers(1, 1), OK, "1 of 1"},
		{memberHealth(3, nil), OK, "3"},
		{memberHealth(3, []string{"h:1"}), Warning, "1 of 3 do not answer: h:1"},
		{zkWritable("/distlock", "/distlock", nil), OK, "below /distlock"},
		{zkWritable("/distlock", "", nil), OK, "/distlock does not exist"},
		{zkWritable("/distlock", "/distlock", zk.ErrNoAuth), Fault, "may not"},
		{zkWritable("/distlock", "", zk.ErrConnectionClosed), Fault, "below /"},
	})
	servers, voters := parseEnsemble("server.1=a:2888:3888:participant;0.0.0.0:2181\nserver.2=b:2888:3888:observer;2182\nserver.3=c:2888:3888\nversion=0\n")
	if strings.Join(servers, ",") != "a:2181,b:2182," || voters != 2 {
		t.Errorf("got %q, %d", servers, voters)
	}
}

func TestDecideEtcd(t *testing.T) {
	t.Parallel()
	const gb = 1 << 30
	wantDecisions(t, []decision{
		{etcdVersion("3.4.23"), OK, "etcd 3.4.23"},
		{etcdVersion("3.3.1"), Fault, "3.3.1"},
		{etcdVersion("4.0.0"), OK, "4.0.0"},
		{etcdLeader(7), OK, "leads"},
		{etcdLeader(0), Fault, "no server leads"},
		{etcdAlarms(nil), OK, "none"},
		{etcdAlarms([]string{"NOSPACE", "NOSPACE"}), Fault, "etcdctl alarm disarm"},
		{etcdAlarms([]string{"NOSPACE", "CORRUPT"}), Fault, "CORRUPT, NOSPACE"},
		{databaseSize(gb, gb/2, 2*gb, true), OK, "1024 MB of 2048 MB, 512 MB of it in use"},
		{databaseSize(2*gb, gb, 2*gb, true), Warning, "defrag"},
		{databaseSize(gb, gb, 0, false), OK, "cannot be seen"},
		{databaseSize(2*gb, gb, 0, false), Warning, "cannot be seen"},
		{etcdHistory(50, 0), Note, "50 revisions"},
		{etcdHistory(50_000, 0), Warning, "never compacted"},
		{etcdHistory(50_000, 40_000), OK, "10000 revisions"},
		{etcdHistory(5_000_000, 40_000), Warning, "4960000 revisions"},
		{etcdWrite("p/", "u", nil), OK, "p/"},
		{etcdWrite("p/", "u", rpctypes.ErrNoSpace), Fault, "see alarms"},
		{etcdWrite("p/", "u", rpctypes.ErrPermissionDenied), Fault, "etcdctl role grant-permission ROLE readwrite --prefix p/; etcdctl user grant-role u ROLE"},
		{etcdWrite("p/", "u", errors.New("x")), Fault, "x"},
	})
}

func TestDecideSQL(t *testing.T) {
	t.Parallel()
	wantDecisions(t, []decision{
		{tables([]string{"distlock"}, 0), Fault, "missing: distlock"},
		{tables(nil, 0), Fault, "no version"},
		{tables(nil, 2), Fault, "version 2"},
		{tables(nil, 1), OK, "version 1"},
		{privileges("shop", nil), OK, "shop"},
		{privileges("shop", []string{"INSERT ON distlock"}), Fault, `GRANT INSERT ON distlock TO "shop";`},
		{privileges("shop@%", []string{"INSERT ON distlock", "DELETE ON distlock"}), Fault, `GRANT INSERT ON distlock TO 'shop'@'%'; GRANT DELETE ON distlock TO 'shop'@'%';`},
		{isolation("read committed"), OK, "read committed"},
		{isolation("REPEATABLE-READ"), OK, "repeatable read"},
		{isolation("SERIALIZABLE"), Note, "serializable"},

		{postgresVersion(150018), OK, "PostgreSQL 15.18"},
		{postgresVersion(100022), Fault, "PostgreSQL 10.22"},
		{postgresVersion(90624), Fault, "PostgreSQL 9"},
		{postgresVersion(0), Note, "cannot see"},
		{postgresRole(false, false), OK, "primary"},
		{postgresRole(true, true), Fault, "target_session_attrs=read-write"},
		{postgresRole(false, true), Fault, "default_transaction_read_only"},
		{idleInTransaction("30s"), OK, "30s"},
		{idleInTransaction("0"), Note, "Guard"},
		{pooler(false, true), OK, "none"},
		{pooler(true, true), Warning, "default_query_exec_mode=exec"},
		{pooler(true, false), Note, "poll"},
		{postgresSync(true), OK, "on"},
		{postgresSync(false), Fault, "off"},
		{synchronousCommit("on"), OK, "on"},
		{synchronousCommit("remote_apply"), OK, "remote_apply"},
		{synchronousCommit("off"), Warning, "off"},
		{synchronousCommit(""), Note, "cannot see"},
		{fullPageWrites(true), OK, "on"},
		{fullPageWrites(false), Warning, "off"},
		{unloggedTables(0), OK, "none"},
		{unloggedTables(1), Fault, "SET LOGGED"},
		{postgresReplicas(nil, ""), Note, "none"},
		{postgresReplicas([]string{"async"}, ""), Warning, "1 standby, 0 synchronous"},
		{postgresReplicas([]string{"?"}, ""), Warning, "synchronous_standby_names"},
		{postgresReplicas([]string{"?"}, "ANY 1 (*)"), Note, "cannot see"},
		{postgresReplicas([]string{"quorum", "async"}, "ANY 1 (*)"), OK, "2 standbys, 1 synchronous"},
		{postgresReplicas(nil, "s1"), Fault, "wait without end"},
		{postgresReplicas([]string{"async"}, "s1"), Fault, "s1"},
		{postgresLag(1<<20, time.Second), OK, "1s"},
		{postgresLag(20<<20, 0), Warning, "20 MB"},
		{postgresLag(0, time.Minute), Warning, "1m0s"},

		{mysqlVersion("10.11.19-MariaDB-0+deb12u1"), OK, "MariaDB 10.11.19"},
		{mysqlVersion("10.5.1-MariaDB"), Fault, "MariaDB 10.5.1"},
		{mysqlVersion("11.4.2-MariaDB"), OK, "MariaDB 11.4.2"},
		{mysqlVersion("8.0.36"), OK, "MySQL 8.0.36"},
		{mysqlVersion("5.7.44-log"), Fault, "MySQL 5.7.44"},
		{mysqlVersion(""), Note, "cannot see"},
		{mysqlRole("0", "0"), OK, "written"},
		{mysqlRole("1", "0"), Fault, "read-only"},
		{mysqlRole("0", "1"), Fault, "read-only"},
		{autocommit("1"), OK, "on"},
		{autocommit("0"), Fault, "off"},
		{mysqlIdle(8 * time.Hour), OK, "8h"},
		{mysqlIdle(10 * time.Second), Note, "10s"},
		{tableEngine(nil), OK, "InnoDB"},
		{tableEngine([]string{"distlock (MyISAM)"}), Fault, "ALTER TABLE distlock ENGINE=InnoDB;"},
		{flushLog("1"), OK, "1"},
		{flushLog("2"), Warning, "2"},
		{flushLog("0"), Warning, "0"},
		{flushLog(""), Note, "cannot see"},
		{flushMethod("O_DIRECT"), OK, "O_DIRECT"},
		{flushMethod("nosync"), Fault, "nosync"},
		{flushMethod(""), Note, "cannot see"},
		{doublewrite("1"), OK, "on"},
		{doublewrite("OFF"), Warning, "off"},
		{doublewrite("0"), Warning, "off"},
		{mysqlReplicas(0, false), Note, "off"},
		{mysqlReplicas(0, true), Note, "none is connected"},
		{mysqlReplicas(2, true), Warning, "2 replicas"},

		{sqliteVersion("3.54.1"), OK, "SQLite 3.54.1"},
		{sqliteVersion("3.34.0"), Fault, "3.34.0"},
		{sqliteVersion(""), Note, "cannot see"},
		{journalMode("wal"), OK, "wal"},
		{journalMode("delete"), Warning, "delete"},
		{journalMode("OFF"), Fault, "off"},
		{sqliteWritable(nil), OK, "written"},
		{sqliteWritable(errors.New("attempt to write a readonly database")), Fault, "readonly"},
		{fileSystem("local"), OK, "local"},
		{fileSystem("nfs"), Fault, "nfs"},
		{fileSystem("fuse"), Note, "fuse"},
		{fileSystem(""), Note, "cannot see"},
	})
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := &Report{Store: "redis://h:1/0", Findings: []Finding{ok("version", "Redis 7"), note("tls", "off", "use TLS"), fault("role", strings.Repeat("a replica ", 12), "x")}}
	var b strings.Builder
	if err := r.Write(&b, false); err != nil {
		t.Fatal(err)
	}
	const want = `redis://h:1/0

Server
  fault    role     a replica a replica a replica a replica a replica a replica a replica a replica
                    a replica a replica a replica a replica
                    why: Only the primary grants, renews and releases locks (P1).
                    do:  x
  ok       version  Redis 7

Access
  note     tls      off
                    why: Without TLS the network can read passwords and owners, and an owner is all
                         that is needed to release a lock (P6).
                    do:  use TLS

1 fault, 0 warnings, 1 note, 1 ok
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s", got)
	}
	b.Reset()
	if err := r.Write(&b, true); err != nil || !strings.Contains(b.String(), "\x1b[1;31mfault  \x1b[0m  role") {
		t.Errorf("in colour: %v\n%q", err, b.String())
	}
	if r.Worst() != Fault || (&Report{}).Worst() != OK {
		t.Error("the worst is not the worst")
	}
}
