package natsembed

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func mustStart(t *testing.T, o Options) *Server {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func connect(t *testing.T, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Acknowledged data exists after a restart, for clients over the network and in
// the process.
func TestStart_KeepsStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "queue")
	s := mustStart(t, Options{Dir: dir})
	if !s.Loopback() {
		t.Error("it listens to strangers")
	}
	nc := connect(t, s.URL())
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	nc.Close()
	s.Close()

	s = mustStart(t, Options{Dir: dir})
	nc = connect(t, "", s.ClientOptions()...)
	js, err = jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(t.Context(), 1)
	if err != nil || string(msg.Data) != "kept" {
		t.Errorf("got %v, %v", msg, err)
	}
}

// The embedded server syncs every write; that is its purpose.
func TestSyncsAlways(t *testing.T) {
	s := mustStart(t, Options{Dir: t.TempDir()})
	if c := s.nats.JetStreamConfig(); c == nil || !c.SyncAlways {
		t.Errorf("store: %+v", c)
	}
}

func TestCredentials(t *testing.T) {
	var log testkit.Log
	s := mustStart(t, Options{Dir: t.TempDir(), Token: "a-token", Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if nc, err := nats.Connect(s.URL()); err == nil {
		nc.Close()
		t.Error("a client without the token was admitted")
	}
	connect(t, s.URL(), s.ClientOptions()...)
	if strings.Contains(s.URL(), "a-token") {
		t.Errorf("the address has the token in it: %s", s.URL())
	}
	s.Close()
	if strings.Contains(log.String(), "a-token") {
		t.Errorf("the log has the token in it:\n%s", log.String())
	}
}

func TestRefusals(t *testing.T) {
	used := mustStart(t, Options{Dir: t.TempDir()})
	taken := strings.TrimPrefix(used.URL(), "nats://")
	for _, test := range []struct {
		name string
		o    Options
		want string
	}{
		{"no folder", Options{}, "no folder is named"},
		{"folder in use", Options{Dir: used.opts.Dir, Listen: "127.0.0.1:0"}, "is in use by another process"},
		{"address taken", Options{Dir: t.TempDir(), Listen: taken}, "address already in use"},
		{"no port", Options{Dir: t.TempDir(), Listen: "localhost"}, "missing port"},
		{"port of letters", Options{Dir: t.TempDir(), Listen: "localhost:nats"}, "the port is no number"},
		{"folder is a file", Options{Dir: "server_test.go", Listen: "127.0.0.1:0"}, "not a directory"},
	} {
		s, err := Start(t.Context(), test.o)
		if err == nil {
			s.Close()
			t.Errorf("%s: it started", test.name)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	// A failed start releases the folder.
	dir := t.TempDir()
	_, _ = Start(t.Context(), Options{Dir: dir, Listen: taken})
	mustStart(t, Options{Dir: dir})
}

// Messages about the server itself have level Debug; failures have a level for
// operators.
func TestLogLevels(t *testing.T) {
	var log testkit.Log
	mustStart(t, Options{Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if log.String() != "" {
		t.Errorf("a start is no news to operators:\n%s", log.String())
	}
	l := &logger{log: slog.New(slog.NewTextHandler(&log, nil))}
	l.Warnf("%d", 1)
	l.Errorf("%d", 2)
	l.Fatalf("%d", 3)
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "level=ERROR") || l.fatal() != "3" {
		t.Errorf("fatal %q, log:\n%s", l.fatal(), log.String())
	}
}
