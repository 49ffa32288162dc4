package natslock_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/casstores/natslock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Three processes take turns while servers die and the network fails. See testkit.Contend.
func TestTurnsBesideFaults(t *testing.T) {
	testmode.Long(t)
	c := startCluster(t, 3)
	var networks []*spoilnet.Network
	open := func() testkit.Queue {
		n := &spoilnet.Network{}
		networks = append(networks, n)
		nc, err := nats.Connect(c.url(), nats.SetCustomDialer(dialer{n}), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond),
			nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		b := natslock.New(nc, natslock.Config{Replicas: 3})
		t.Cleanup(func() { _ = b.(io.Closer).Close() })
		return b.(testkit.Queue)
	}
	leader := func() int {
		js, err := jetstream.New(c.connect(t))
		if err != nil {
			t.Fatal(err)
		}
		for {
			if s, err := js.Stream(t.Context(), "KV_distlock"); err == nil {
				for i, o := range c.options {
					if info := s.CachedInfo(); info.Cluster != nil && info.Cluster.Leader == o.ServerName {
						return i
					}
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	for _, fault := range []struct {
		name    string
		disturb func()
	}{
		{"the leader is killed", func() {
			i := leader()
			c.servers[i].Shutdown()
			c.servers[i].WaitForShutdown()
			time.Sleep(2 * time.Second)
			c.start(t, i)
		}},
		{"connections are killed", func() {
			for range 5 {
				time.Sleep(300 * time.Millisecond)
				for _, n := range networks {
					n.Kill()
				}
			}
		}},
		{"connections hang", func() {
			networks[0].Hang(true)
			time.Sleep(4 * time.Second)
			networks[0].Hang(false)
		}},
		{"answers do not come", func() {
			networks[0].Deafen()
			networks[1].Deafen()
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			networks = nil
			testkit.Contend(t, "turns:"+strings.ReplaceAll(fault.name, " ", "-"), open, fault.disturb)
		})
	}
}

// A connection dies without a word, which a client with the defaults of its library notices
// after minutes. The first lock is taken, and a lease of three seconds is kept.
func TestConnectionLeadsNowhere(t *testing.T) {
	testmode.InRealTime(t)
	n := &spoilnet.Network{}
	nc, err := nats.Connect(startCluster(t, 1).url(), nats.SetCustomDialer(dialer{n}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	l := testkit.NewLocker(t, natslock.New(nc, natslock.Config{}), distlock.Config{})
	held := testkit.MustAcquire(t, l, "held", distlock.Opts{KeyTimeout: 3 * time.Second})
	n.Cut()
	if _, err := l.TryAcquire(t.Context(), "k", distlock.Opts{}); err != nil {
		t.Error(err)
	}
	time.Sleep(4 * time.Second)
	if err := held.Check(); err != nil {
		t.Error(err)
	}
}

// dialer makes the connections of a client fail.
type dialer struct{ *spoilnet.Network }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, 2*time.Second)
}

// A bucket that cannot keep locks is refused at the first use, by the name of what is wrong.
func TestUnfitBucket(t *testing.T) {
	c := startCluster(t, 1)
	js, err := jetstream.New(c.connect(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range []struct {
		stream jetstream.StreamConfig
		cfg    natslock.Config
		want   string
	}{
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, Storage: jetstream.MemoryStorage}, natslock.Config{}, "kept in memory"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, Storage: jetstream.MemoryStorage}, natslock.Config{Memory: true}, ""},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1}, natslock.Config{Replicas: 3}, "1 replicas, and Config.Replicas is 3"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 5}, natslock.Config{}, "history is 5"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, MaxBytes: 1 << 20}, natslock.Config{}, "discard: old"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, MaxAge: time.Hour}, natslock.Config{}, "forgets keys after 1h0m0s, and a lease needs 48h0m0s"},
		{jetstream.StreamConfig{MaxMsgsPerSubject: 1, MaxAge: 48 * time.Hour}, natslock.Config{}, ""},
	} {
		b.cfg.Bucket = "bucket" + string(rune('a'+i))
		b.stream.Name, b.stream.Subjects = "KV_"+b.cfg.Bucket, []string{"$KV." + b.cfg.Bucket + ".>"}
		if _, err := js.CreateStream(t.Context(), b.stream); err != nil {
			t.Fatal(err)
		}
		err := natslock.New(c.connect(t), b.cfg).(driver.Pinger).Ping(t.Context())
		if b.want == "" && err != nil || b.want != "" && (err == nil || !strings.Contains(err.Error(), b.want)) {
			t.Errorf("%+v with %+v: %v, want %q", b.stream, b.cfg, err, b.want)
		}
	}
}
