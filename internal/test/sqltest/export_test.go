package sqltest

import "os/exec"

// Client returns the command-line client, which has run once before, with SQL to run.
func (s *Server) Client(database, sql string) *exec.Cmd {
	cmd, _ := s.client(database, sql)
	return cmd
}
