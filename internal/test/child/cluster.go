package child

// Cluster is servers that replicate one another.
type Cluster[S process] struct {
	Servers []S
}

// Addrs returns the addresses of the servers.
func (c *Cluster[S]) Addrs() (addrs []string) {
	for _, s := range bases(c.Servers) {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Leader waits until leads is true of a server, and returns that.
func (c *Cluster[S]) Leader(tb TB, leads func(S) bool) (leader S) {
	tb.Helper()
	Await(tb, "a server leads", func() bool {
		for _, s := range c.Servers {
			if leads(s) {
				leader = s
				return true
			}
		}
		return false
	})
	return leader
}

// Kill kills all servers.
func (c *Cluster[S]) Kill() {
	for _, s := range bases(c.Servers) {
		s.Kill()
	}
}

// Restart restarts all servers with their data, after [Cluster.Kill].
func (c *Cluster[S]) Restart(tb TB) {
	tb.Helper()
	restart(tb, bases(c.Servers))
}
