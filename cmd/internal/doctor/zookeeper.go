package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

// zkLimit is the default operation timeout of zklock.
const zkLimit = 2 * time.Second

func examineZooKeeper(ctx context.Context, z *backendurl.ZooKeeper) ([]Finding, error) {
	conn, agreed, err := zkConnect(ctx, z)
	if err != nil {
		return nil, err
	}
	defer conn.Close()

	status, statusErr := zkStatus(ctx, conn.Server())
	var findings []Finding
	if statusErr == nil {
		findings = append(findings, zkVersion(status["Zookeeper version"]), zkRole(status["Mode"]))
	} else {
		findings = append(findings, unseen("version", "srvr, the command that tells version and role", statusErr))
	}
	findings = append(findings, sessionTimeout(z.SessionTimeout, agreed))
	findings = append(findings, zkMembers(ctx, conn, z, status["Mode"])...)
	findings = append(findings, authentication(z.User != "", allLoopback(z.Servers)))
	if acl, _, err := conn.GetACL(z.Root); err == nil { // otherwise write-access says why
		findings = append(findings, rootACL(acl))
	}
	writable, commits := zkWrite(ctx, conn, z)
	findings = append(findings, writable)
	t, err := measure(ctx, 100, func(context.Context) error { _, _, err := conn.Exists("/zookeeper"); return err })
	if err != nil && !errors.Is(err, zk.ErrNoAuth) {
		return nil, err
	}
	findings = append(findings, roundTrip(t, zkLimit))
	if commits != (times{}) {
		findings = append(findings, commit(commits))
	}
	return findings, nil
}

// zkConnect returns a connection and the session timeout that the server has agreed to,
// which the client writes only to its log.
func zkConnect(ctx context.Context, z *backendurl.ZooKeeper) (*zk.Conn, time.Duration, error) {
	l := &zkLog{agreed: make(chan time.Duration, 1)}
	conn, events, err := zk.Connect(z.Servers, z.SessionTimeout, zk.WithLogger(l), zk.WithLogInfo(true))
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	for {
		select {
		case e := <-events:
			if e.State != zk.StateHasSession {
				continue
			}
			if z.User != "" {
				if err := conn.AddAuth("digest", []byte(z.User+":"+z.Password)); err != nil {
					conn.Close()
					return nil, 0, err
				}
			}
			select {
			case agreed := <-l.agreed: // it is logged after the event
				return conn, agreed, nil
			case <-ctx.Done():
				return conn, 0, nil
			}
		case <-ctx.Done():
			conn.Close()
			return nil, 0, fmt.Errorf("no answer of %s: %s", strings.Join(z.Servers, ","), l.last())
		}
	}
}

// zkLog keeps the last error that the client logs, and the session timeout.
type zkLog struct {
	agreed chan time.Duration // has room for one

	mu      sync.Mutex
	failure string
}

var agreedTimeout = regexp.MustCompile(`^authenticated: .*timeout=(\d+)`)

// Printf implements [zk.Logger].
func (l *zkLog) Printf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if m := agreedTimeout.FindStringSubmatch(line); m != nil {
		ms, _ := strconv.Atoi(m[1])
		select {
		case l.agreed <- time.Duration(ms) * time.Millisecond:
		default: // it is known
		}
	}
	if strings.Contains(line, "failed to connect") {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failure = line
	}
}

// last returns why there is no session.
func (l *zkLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.failure, "no majority, or a network that drops packets")
}

// zkStatus returns the fields in the answer to srvr.
func zkStatus(ctx context.Context, addr string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, zkLimit)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // nothing is lost
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if _, err := io.WriteString(c, "srvr"); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(c)
	fields := parseInfo(string(text))
	switch {
	case fields["Mode"] != "":
		return fields, nil // the server may reset the connection after its answer
	case err != nil:
		return nil, err
	default:
		return nil, fmt.Errorf("%s", strings.TrimSpace(string(text)))
	}
}

var zkNumber = regexp.MustCompile(`^\s*(\d+)\.(\d+)[0-9.]*`)

func zkVersion(text string) Finding {
	m := zkNumber.FindStringSubmatch(text)
	if m == nil {
		return unseen("version", "the version in srvr", nil)
	}
	seen := "ZooKeeper " + strings.TrimSpace(m[0])
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < 3 || major == 3 && minor < 5 {
		return warning("version", seen+": it has no containers, so the nodes of keys stay", "use ZooKeeper 3.5 or later")
	}
	return ok("version", "%s", seen)
}

func zkRole(mode string) Finding {
	mode = strings.TrimSpace(mode)
	switch mode {
	case "read-only":
		return fault("role", "read-only: the server has lost the majority", "start the other servers")
	case "observer":
		return note("role", "an observer: it does not vote", "name the voting servers in the URL, too")
	default:
		return ok("role", "%s", mode)
	}
}

// sessionTimeout decides on what the client asked for and what the server agreed to.
func sessionTimeout(asked, agreed time.Duration) Finding {
	seen := fmt.Sprintf("asked for %v, the server gives %v: a lease is at most %v", asked, agreed, agreed/2)
	switch {
	case agreed == 0:
		return unseen("session-timeout", "the timeout that the server has agreed to", nil)
	case agreed < 2*time.Second:
		return fault("session-timeout", seen, "maxSessionTimeout=40000 in zoo.cfg")
	case agreed < asked:
		return warning("session-timeout", seen, fmt.Sprintf("maxSessionTimeout=%d in zoo.cfg, or ask for less", asked.Milliseconds()))
	case agreed > asked:
		return note("session-timeout", seen+fmt.Sprintf(", and the locks of a dead process last %v", agreed), fmt.Sprintf("minSessionTimeout=%d in zoo.cfg", asked.Milliseconds()))
	case agreed < 2*lease:
		return note("session-timeout", seen+fmt.Sprintf(", less than the default of %v", lease), "session_timeout=20s in the URL, if leases are to be longer")
	default:
		return ok("session-timeout", "%s", seen)
	}
}

// zkMembers examines the ensemble. Since version 3.5 a node lists its servers.
func zkMembers(ctx context.Context, conn *zk.Conn, z *backendurl.ZooKeeper, mode string) []Finding {
	if strings.TrimSpace(mode) == "standalone" {
		return []Finding{members(1, 1)}
	}
	config, _, err := conn.Get("/zookeeper/config")
	if err != nil || len(config) == 0 {
		return []Finding{unseen("members", "/zookeeper/config", err)}
	}
	servers, voters := parseEnsemble(string(config))
	findings := []Finding{members(len(servers), voters), urlServers(len(z.Servers), len(servers))}
	var down []string
	asked := 0
	for _, addr := range servers {
		if addr == "" {
			continue // it is not in the configuration
		}
		asked++
		if _, err := zkStatus(ctx, addr); err != nil {
			down = append(down, addr)
		}
	}
	if asked == 0 { // the addresses of clients are optional there
		asked = len(z.Servers)
		for _, addr := range z.Servers {
			if _, err := zkStatus(ctx, addr); err != nil {
				down = append(down, addr)
			}
		}
	}
	return append(findings, memberHealth(asked, down))
}

// parseEnsemble returns the addresses for clients of the servers in /zookeeper/config, ""
// for unknown ones, and how many of the servers vote:
//
//	server.1=host:2888:3888:participant;0.0.0.0:2181
func parseEnsemble(config string) (servers []string, voters int) {
	for line := range strings.Lines(config) {
		name, value, isPair := strings.Cut(strings.TrimSpace(line), "=")
		if !isPair || !strings.HasPrefix(name, "server.") {
			continue
		}
		if !strings.Contains(value, ":observer") {
			voters++
		}
		peer, client, _ := strings.Cut(value, ";")
		addr := ""
		if client != "" {
			host, port, err := net.SplitHostPort(client)
			if err != nil {
				host, port = "", client
			}
			if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
				host, _, _ = strings.Cut(peer, ":")
			}
			addr = net.JoinHostPort(host, port)
		}
		servers = append(servers, addr)
	}
	return servers, voters
}

// members decides on the number of servers.
func members(all, voters int) Finding {
	seen := count(voters, "voting server")
	if all > voters {
		seen += fmt.Sprintf(" of %d", all)
	}
	const do = "run three servers, or five"
	switch {
	case voters < 3:
		return warning("members", seen+": none of them may fail", do)
	case voters%2 == 0:
		return note("members", fmt.Sprintf("%s: no more of them may fail than of %d", seen, voters-1), do)
	default:
		return ok("members", "%s: %d may fail", seen, (voters-1)/2)
	}
}

// urlServers decides on how many of the servers the URL names.
func urlServers(named, all int) Finding {
	seen := fmt.Sprintf("the URL names %d of %s", named, count(all, "server"))
	if named < all && named < 3 {
		return warning("url-servers", seen, "name at least three of them: host:port,host:port,host:port")
	}
	return ok("url-servers", "%s", seen)
}

// memberHealth decides on the servers that do not answer.
func memberHealth(asked int, down []string) Finding {
	if len(down) == 0 {
		return ok("member-health", "all of %d answer", asked)
	}
	return warning("member-health", fmt.Sprintf("%d of %d do not answer: %s", len(down), asked, strings.Join(down, " ")), "start them, or let this machine reach them")
}

// zkWrite creates and deletes nodes like those of a lock, below the root or, if there is
// none, below the nearest node that there is. The server deletes them with the session.
func zkWrite(ctx context.Context, conn *zk.Conn, z *backendurl.ZooKeeper) (Finding, times) {
	root := z.Root
	for root != "" {
		there, _, err := conn.Exists(root)
		if there || err != nil {
			break
		}
		root = root[:strings.LastIndexByte(root, '/')]
	}
	acl := zk.WorldACL(zk.PermAll)
	if z.User != "" {
		acl = zk.AuthACL(zk.PermAll)
	}
	path := root + "/distlock-doctor-" + uuid.NewString()
	t, err := measure(ctx, 10, func(context.Context) error {
		if _, err := conn.Create(path, nil, zk.FlagEphemeral, acl); err != nil {
			return err
		}
		return conn.Delete(path, -1)
	})
	t.median, t.p99 = t.median/2, t.p99/2 // two changes each
	switch {
	case err != nil:
		return zkWritable(z.Root, root, err), times{}
	default:
		return zkWritable(z.Root, root, nil), t
	}
}

// zkWritable decides on the creation of a node below at, which is the root or, without a
// root, a node above it.
func zkWritable(root, at string, err error) Finding {
	if at == "" {
		at = "/"
	}
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		return fault("write-access", "this user may not create and delete nodes below "+at, "setAcl "+at+" with the rights cdrwa for this user, or a URL with user:password@")
	case err != nil:
		return fault("write-access", "no node can be created below "+at+": "+oneLine(err), "look at the log of the server")
	case at != root:
		return ok("write-access", "%s does not exist; the first lock creates it", root)
	default:
		return ok("write-access", "nodes can be created and deleted below %s", root)
	}
}

// rootACL decides on the rights at the node above the locks.
func rootACL(acl []zk.ACL) Finding {
	for _, a := range acl {
		if a.Scheme == "world" && a.Perms&(zk.PermCreate|zk.PermDelete|zk.PermAdmin) != 0 {
			return note("root-acl", "every client may create and delete nodes", "user:password@ in the URL before the first lock, or setAcl for this user")
		}
	}
	return ok("root-acl", "not every client may create and delete nodes")
}

// allLoopback reports whether all servers are on this machine.
func allLoopback(servers []string) bool {
	return !slices.ContainsFunc(servers, func(addr string) bool { return !onLoopback(addr) })
}
