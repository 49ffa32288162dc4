package torture

import (
	"errors"
	"io"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// zkStore is a ZooKeeper server.
type zkStore struct {
	zooKeeper *zktest.Server
	admin     *zk.Conn
}

func startZooKeeper(tb testing.TB, _ int) store {
	tb.Helper()
	server := zktest.Start(tb, zktest.Config{})
	c, _, err := zk.Connect([]string{server.Addr()}, 10*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return &zkStore{server, c}
}

func (s *zkStore) addrs() []string { return []string{s.zooKeeper.Addr()} }

func (s *zkStore) server(int) *child.Server { return &s.zooKeeper.Server }

// left returns the nodes of owners. Whoever asks for the key next deletes the nodes that were
// kept because of MinHold.
func (s *zkStore) left(keys int) ([]string, error) {
	var left []string
	for key := range keys {
		path := zklock.DefaultRoot + "/" + zklock.EscapeKey(keyName(key))
		names, _, err := s.admin.Children(path)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, err
		}
		for _, name := range names {
			if !strings.Contains(name, "-go-kept-") {
				left = append(left, path+"/"+name)
			}
		}
	}
	return left, nil
}
