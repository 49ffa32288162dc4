package etcdtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// gateway sends requests to the JSON gateway of a server. It does not reuse
// connections, so that no goroutine outlives a request.
var gateway = &http.Client{
	Timeout:   2 * time.Second,
	Transport: &http.Transport{DisableKeepAlives: true},
}

// healthy reports whether the server has a leader, and commits.
func (s *Server) healthy() bool {
	answer, err := gateway.Get("http://" + s.Addr() + "/health")
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// status returns the IDs of the server and of the leader that it knows.
func (s *Server) status() (self, leader string, err error) {
	var status struct {
		Header struct {
			MemberID string `json:"member_id"`
		} `json:"header"`
		Leader string `json:"leader"`
	}
	err = s.post("/v3/maintenance/status", `{}`, &status)
	return status.Header.MemberID, status.Leader, err
}

// post sends a request and decodes the answer.
func (s *Server) post(path, request string, answer any) error {
	r, err := gateway.Post("http://"+s.Addr()+path, "application/json", strings.NewReader(request))
	if err != nil {
		return err
	}
	defer r.Body.Close() //nolint:errcheck // nothing is lost
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("etcdtest: %s: %s", path, r.Status)
	}
	return json.NewDecoder(r.Body).Decode(answer)
}
