package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/driver"
)

// ensemble is the servers that the URL names, of which a majority decides: of ZooKeeper or etcd.
type ensemble struct {
	servers []string
	down    []string // take no connections
}

var memberChecks = []check[ensemble]{
	{"members", server,
		"Locks are available while a majority of the servers is. Three servers survive the loss of one, and a fourth adds nothing (P5).", countMembers},
}

// examineMembers connects to each server, and looks whether one answers. What a majority must
// do, ping tries.
func examineMembers(ctx context.Context, store *backendurl.Backend) ([]Finding, error) {
	e := ensemble{servers: store.Servers}
	var refused error
	for _, addr := range e.servers {
		conn, err := (&net.Dialer{Timeout: backendurl.ReachTimeout}).DialContext(ctx, "tcp", addr)
		if err != nil {
			e.down, refused = append(e.down, addr), err
			continue
		}
		_ = conn.Close() // nothing was sent
	}
	if len(e.down) == len(e.servers) {
		return nil, refused
	}
	if i, ok := store.Backend.(driver.Inspector); ok {
		if _, err := i.Inspect(ctx, "", 1); err != nil && strings.Contains(err.Error(), "no answer") {
			return nil, err // any other error is for ping to tell
		}
	}
	return run(ctx, e, memberChecks), nil
}

func countMembers(_ context.Context, e ensemble) (verdict, error) {
	const do = "run three servers or five, and name them in the URL"
	n := len(e.servers)
	seen := "the URL names " + count(n, "server")
	switch {
	case len(e.down) > 0:
		return warning(fmt.Sprintf("%d of %d do not answer: %s", len(e.down), n, strings.Join(e.down, " ")), "start them, or let this machine reach them"), nil
	case n < 3:
		return warning(seen+": none of them may fail", do), nil
	case n%2 == 0:
		return note(fmt.Sprintf("%s: no more of them may fail than of %d", seen, n-1), do), nil
	default:
		return ok("%s: %d may fail", seen, (n-1)/2), nil
	}
}

var kubeChecks = []check[backendurl.Kube]{
	{"version", server, versionWhy, kubeVersion},
}

// examineKube lets ping say which rights are missing.
func examineKube(ctx context.Context, k backendurl.Kube) ([]Finding, error) {
	first, cancel := context.WithTimeout(ctx, backendurl.ReachTimeout)
	defer cancel()
	if _, err := kubeVersion(first, k); err != nil {
		return nil, err
	}
	return run(ctx, k, kubeChecks), nil
}

func kubeVersion(ctx context.Context, k backendurl.Kube) (verdict, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.Server+"/version", http.NoBody)
	if err != nil {
		return verdict{}, err
	}
	resp, err := k.Do(r)
	if err != nil {
		return verdict{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	var v struct{ GitVersion string }
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return verdict{}, err
	}
	return atLeast("Kubernetes", 1, 17)(v.GitVersion), nil
}
