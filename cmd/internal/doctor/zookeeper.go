package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// ensemble has what each server that the URL names answers to the command srvr.
type ensemble struct {
	asked int
	up    []map[string]string
	down  []string // the addresses of servers that take no connections
	err   error    // of a server that is up and does not tell
}

var zookeeperChecks = []check[*ensemble]{
	{"version", server, "The locks need containers, which older servers do not have, and the tests run on these versions only.", zkVersion},
	{"role", server, "Only servers with a majority grant, renew and release locks (P1).", zkRole},
	{"members", server, membersWhy, zkMembers},
}

const membersWhy = "Locks are available while a majority of the servers is. Three servers survive the loss of one, and a fourth adds nothing (P5)."

func examineZooKeeper(ctx context.Context, servers []string) ([]Finding, error) {
	e := &ensemble{asked: len(servers)}
	var refused error
	for _, addr := range servers {
		status, connected, err := srvr(ctx, addr)
		switch {
		case !connected:
			e.down, refused = append(e.down, addr), err
		case err != nil:
			e.err = err
		default:
			e.up = append(e.up, status)
		}
	}
	if len(e.down) == len(servers) {
		return nil, refused
	}
	return run(ctx, e, zookeeperChecks), nil
}

// srvr returns the fields of a server's answer, and whether it takes connections.
func srvr(ctx context.Context, addr string) (fields map[string]string, connected bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, false, err
	}
	defer c.Close() //nolint:errcheck // nothing is lost
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	if _, err := io.WriteString(c, "srvr"); err != nil {
		return nil, false, err
	}
	text, err := io.ReadAll(c)
	switch fields = parseFields(string(text)); {
	case fields["Mode"] != "":
		return fields, true, nil // the server may reset the connection after its answer
	case len(text) == 0:
		return nil, false, errors.Join(ctx.Err(), err, fmt.Errorf("%s does not answer", addr))
	default:
		return nil, true, fmt.Errorf("%s", strings.TrimSpace(string(text)))
	}
}

func zkVersion(_ context.Context, e *ensemble) (verdict, error) {
	if len(e.up) == 0 {
		return verdict{}, e.err
	}
	version, _, _ := strings.Cut(e.up[0]["Zookeeper version"], "-")
	if before(version, 3, 5) {
		return warning("ZooKeeper "+version+": it has no containers, so the nodes of keys stay", "use ZooKeeper 3.5 or later"), nil
	}
	return ok("ZooKeeper %s", version), nil
}

func zkRole(_ context.Context, e *ensemble) (verdict, error) {
	if len(e.up) == 0 {
		return verdict{}, e.err
	}
	switch mode := e.up[0]["Mode"]; mode {
	case "read-only":
		return fault("read-only: the server has lost the majority", "start the other servers"), nil
	case "observer":
		return note("an observer: it does not vote", "name the voting servers in the URL, too"), nil
	default:
		return ok("%s", mode), nil
	}
}

// zkMembers judges the servers that the URL names: a client knows no others.
func zkMembers(_ context.Context, e *ensemble) (verdict, error) {
	standalone := len(e.up) > 0 && e.up[0]["Mode"] == "standalone"
	return judgeMembers(e.asked, e.down, standalone), nil
}

// judgeMembers judges how many servers there are, or the URL names, and which do not answer.
func judgeMembers(all int, down []string, standalone bool) verdict {
	const do = "run three servers or five, and name them in the URL"
	seen := count(all, "server")
	switch {
	case len(down) > 0:
		return warning(fmt.Sprintf("%d of %d do not answer: %s", len(down), all, strings.Join(down, " ")), "start them, or let this machine reach them")
	case standalone || all < 3:
		return warning(seen+": none of them may fail", do)
	case all%2 == 0:
		return note(fmt.Sprintf("%s: no more of them may fail than of %d", seen, all-1), do)
	default:
		return ok("%s: %d may fail", seen, (all-1)/2)
	}
}
