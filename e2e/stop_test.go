package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// stoppedInTime measures, with make slow, that a gateway has ended within the bound
// of its shutdown, regardless of hanging operations.
func stoppedInTime(t *testing.T, begun time.Time) {
	t.Helper()
	took := time.Since(begun)
	t.Logf("ended after %v", took)
	if testkit.IsSlow() && took > 10*time.Second {
		t.Errorf("the shutdown took %v", took)
	}
}

// A NATS that stops answering blocks appends and closes; the gateway still
// ends.
func TestStop_NATSHangs(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	nats := startNATS(t, port, t.TempDir())
	g := startGateway(t, labConfig, "--nats", "nats://127.0.0.1:"+port)
	g.dial(t, "bob", client.Position{})
	if code := postWhenServed(t, g.addr, "alice", `{"kind":"chat","payload":{"message":"before"}}`); code != "" {
		t.Fatalf("refused: %s", code)
	}
	nats.signal(syscall.SIGSTOP)
	defer nats.signal(syscall.SIGCONT)
	posted := make(chan string, 1)
	go func() { // ends when the gateway does
		posted <- post(t, g.addr, "alice", `{"kind":"chat","payload":{"message":"into the void"}}`)
	}()
	begun := time.Now()
	g.signal(syscallTerm)
	if code := g.wait(); code != 0 && code != 1 {
		t.Errorf("exit code %d", code)
	}
	stoppedInTime(t, begun)
	<-posted
}

// A gateway whose NATS does not answer from the start can be stopped
// immediately.
func TestStop_NATSDown(t *testing.T) {
	t.Parallel()
	g := &gatewayProc{t: t, addr: "127.0.0.1:" + freePort(t), config: t.TempDir() + "/meup.yaml"}
	g.configure(labConfig)
	g.args = []string{"serve", "--config", g.config, "--listen", g.addr, "--data", t.TempDir(), "--nats", "nats://127.0.0.1:" + freePort(t)}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		g.process = start(t, nil, bin+"/meup-gateway", g.args...)
		eventually(t, "the gateway listens", func() bool { return get(g.addr, "/healthz", "") == 200 })
		g.signal(syscallHup)
		if get(g.addr, "/readyz", "") != 503 {
			t.Error("it is ready")
		}
		begun := time.Now()
		g.signal(s)
		if code := g.wait(); code != 0 {
			t.Errorf("%v: exit code %d", s, code)
		}
		stoppedInTime(t, begun)
	}
}
