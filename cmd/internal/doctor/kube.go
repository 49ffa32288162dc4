package doctor

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

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
