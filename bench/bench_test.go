//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be the servers that it starts.
func TestMain(m *testing.M) {
	if server := otherServer(); server != nil {
		fail(server())
		return
	}
	os.Exit(m.Run())
}

// TestScenarios runs the loads, small and short, against the bare broadcaster and, if they
// are rows of the table, JetStream. It checks the same property as every run: each
// connection receives everything once.
func TestScenarios(t *testing.T) {
	o := &options{data: t.TempDir(), quick: true, seconds: 50 * time.Millisecond, warmUp: 10 * time.Millisecond}
	loads := map[string]func(*process, *options) (figures, error){
		"fanout10": fanOut(10, 64), "fanout100": fanOut(20, 64), "fanout1000": fanOut(30, 64), "fanout100x1": fanOut(20, 1),
		"agents10": agents(10), "agents50": agents(20), "spaces": manySpaces(5), "latency": latency, "idle": idleConnections(20),
		"configured": idleSpaces(5), "stopped": stoppedReader, "stopped10m": stoppedLong, "replay": replay(1000),
	}
	for _, sc := range scenarios(o) {
		run := loads[sc.name]
		if run == nil {
			if sc.row {
				t.Error("there is no small load of", sc.name)
			}
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			runScenario(t, o, sc, run, func() (*process, error) { return startBare(t.Context(), 1<<16) })
			if sc.row {
				runScenario(t, o, sc, run, func() (*process, error) { return startJetStream(t.Context(), jetStreamName, o.data) })
				runScenario(t, o, sc, run, func() (*process, error) { return startJetStream(t.Context(), jetStreamCoreName, o.data) })
			}
		})
	}
}

func runScenario(t *testing.T, o *options, sc scenario, run func(*process, *options) (figures, error), start func() (*process, error)) {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	f, err := run(s, o)
	if stopErr := s.stop(); err != nil || stopErr != nil {
		t.Fatal(s.name, err, stopErr, s.log)
	}
	for _, c := range sc.columns {
		if _, ok := f[c.key]; !ok && c.key != "caughtUp" {
			t.Errorf("%s: there is no figure %s", s.name, c.key)
		}
	}
}

// TestInterrupted checks that the end of the program kills a server, and that a run over it
// fails and leaves no folder.
func TestInterrupted(t *testing.T) {
	o := &options{data: t.TempDir(), quick: true, seconds: 50 * time.Millisecond}
	ctx, interrupt := context.WithCancel(t.Context())
	_, err := o.once(scenario{run: func(s *process, o *options) (figures, error) {
		interrupt()
		<-s.exited
		return fanOut(2, 1)(s, o)
	}}, func() (*process, error) { return startJetStream(ctx, jetStreamName, o.data) })
	if err == nil {
		t.Error("it has figures")
	}
	if left, err := os.ReadDir(o.data); err != nil || len(left) > 0 {
		t.Error("it leaves", left, err)
	}
}

// TestCrowd_TooManyFrames checks that a receiver that gets more than was sent is an
// error.
func TestCrowd_TooManyFrames(t *testing.T) {
	cr := &crowd{conns: make([]*conn, 2), sent: 1}
	if err := cr.visit(&conn{frames: 1}, nil); err != nil {
		t.Error(err)
	}
	if err := cr.visit(&conn{frames: 2}, nil); err == nil {
		t.Error("a frame came twice and nobody noticed")
	}
	if cr.slowest != 0 {
		t.Error("the slowest has a frame that only one of two has")
	}
}

// TestCrowd_Acknowledgments checks that frames are in flight until JetStream has
// acknowledged them.
func TestCrowd_Acknowledgments(t *testing.T) {
	sender := &conn{acknowledges: true, frames: 3, acks: 2}
	cr := &crowd{conns: []*conn{sender}, senders: []*conn{sender}, sent: 3, slowest: 3}
	if n := cr.acknowledged(); n != 2 {
		t.Error(n, "acknowledged")
	}
	if err := sender.acknowledged([]byte(`{"stream":"bench","seq":3}`)); err != nil {
		t.Error(err)
	}
	if err := cr.drain(cr.visit); err != nil {
		t.Error(err)
	}
	if err := sender.acknowledged([]byte(`{"error":{"code":503},"stream":"bench","seq":0}`)); err == nil {
		t.Error("a message was not stored and nobody noticed")
	}
	if err := cr.drain(cr.visit); err == nil {
		t.Error("an acknowledgment came twice and nobody noticed")
	}
}

// TestRooms_Next checks that a space has one envelope in flight, until it has come back and
// is acknowledged, and that what is lost or comes twice is found.
func TestRooms_Next(t *testing.T) {
	sockets, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = syscall.Close(sockets[0]), syscall.Close(sockets[1]) }()
	sender := &conn{fd: sockets[0], frame: []byte("x"), acknowledges: true, sent: 1}
	r := &rooms{crowd: &crowd{conns: []*conn{sender, {id: 1}, {id: 2}, {id: 3}}}, talking: true}
	for _, step := range []struct {
		name               string
		frames, acks, sent int
	}{{"nothing has come", 0, 0, 1}, {"it has come back", 1, 0, 1}, {"it is acknowledged, too", 1, 1, 2}, {"again", 1, 1, 2}} {
		sender.frames, sender.acks = step.frames, step.acks
		if err := r.next(sender, nil); err != nil || sender.sent != step.sent {
			t.Errorf("%s: %d are sent, %v", step.name, sender.sent, err)
		}
	}
	sender.acks = 2
	for _, frames := range [][]int{{2, 2, 2, 1}, {2, 2, 1, 3}, {2, 2, 2, 2}} {
		for i, n := range frames {
			r.conns[i].frames = n
		}
		if err := r.complete(); (err == nil) != (frames[3] == 2) {
			t.Errorf("%v: %v", frames, err)
		}
	}
}

func TestFrameSizes(t *testing.T) {
	if n := len(chat(256, "")) - len(`{"kind":"chat","payload":}`); n != 256 {
		t.Errorf("a payload of %d bytes", n)
	}
	if n := len(thought()); n != 400 {
		t.Errorf("a thought of %d bytes", n)
	}
	f := clientFrames(make([]byte, 70_000), 1)
	if n := binary.BigEndian.Uint64(f[2:]); n != 70_000 || f[1] != 0xFF {
		t.Errorf("length %d", n)
	}
}

func TestSeqOf(t *testing.T) {
	if seq, ok := seqOf([]byte(`{"payload":{"a":1,"seq":5},"seq":12}`)); !ok || seq != 12 {
		t.Errorf("%d, %v", seq, ok)
	}
	for _, body := range []string{`{"kind":"system.presence","payload":{"seq":5}}`, ``, `{"a":1,"seq":"x"}`} {
		if seq, ok := seqOf([]byte(body)); ok {
			t.Errorf("%s has seq %d", body, seq)
		}
	}
}

func TestTable(t *testing.T) {
	r := &report{date: "2026-11-21", machine: "2 × Z", load: "0.10", rounds: 3, seconds: 4}
	r.add(scenario{title: "x", row: true, columns: []column{{"rate", "per s", 0}, {"cost", "µs", 2}}}, map[string][]figures{
		gatewayName: {{"rate": 3e6, "cost": 0.5}, {"rate": 1234, "cost": 0.3}, {"rate": 1_234_567, "cost": 0.4}},
		bareName:    {{"rate": 2_469_134, "cost": 0.1}}, jetStreamName: {{"rate": 617_284, "cost": 0.2}}, jetStreamCoreName: {{"rate": 1234, "cost": 12}},
	})
	r.add(scenario{title: "late", row: true, less: true, columns: []column{{"p50", "ms", 2}}}, map[string][]figures{
		gatewayName: {{"p50": 1.5, "sync": 0.3}}, bareName: {{"p50": 0.6, "sync": 0.4}}, jetStreamName: {{"p50": 3, "sync": 0.5}},
	})
	r.add(scenario{title: "X", what: "w", columns: []column{{"rate", "per s", 0}}}, map[string][]figures{gatewayName: {{"rate": 1234}}})
	want := []string{
		"2026-11-21, 2 × Z, ", "; the load average was 0.10 before.\n",
		"| x | 2.47 M · 0.10 | 617 k · 0.20 | 1.23 k · 12.00 | 1.23 M · 0.40 | 2.00 |\n",
		"| late | 0.60 | 3.00 | – | 1.50 | 2.00 |\n",
		"takes 0.40 ms (p50). With the 0.60 ms of the bare broadcaster, 1.00 ms is", "The gateway's p50 is 1.50 times that, JetStream's 3.00 times.\n",
		"were 0 % apart in the median, and 243 % at most.\n",
		"| **X**: w | per s | 1,234 | – |\n",
	}
	file := filepath.Join(t.TempDir(), "table.md")
	if err := os.WriteFile(file, []byte("# A\n"+tableBegin+"old\n"+tableEnd+"B\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.writeMarkdown(file); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(file)
	if !strings.HasPrefix(string(got), "# A\n"+tableBegin) || !strings.HasSuffix(string(got), "\n"+tableEnd+"B\n") || strings.Contains(string(got), "old") {
		t.Errorf("got\n%s", got)
	}
	for _, part := range want {
		if strings.Count(string(got), part) != 1 {
			t.Errorf("%q is not there once in\n%s", part, got)
		}
	}
	if err := r.writeMarkdown(os.DevNull); err == nil {
		t.Error("a file without a table was written to")
	}
}

// TestDocument_Marks checks that -write finds the marks of the table.
func TestDocument_Marks(t *testing.T) {
	data, err := os.ReadFile("../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), tableBegin) || !strings.Contains(string(data), tableEnd) {
		t.Error("docs/benchmarks.md has no place for the table")
	}
}

// TestCheckDisk checks that a measurement with logs in memory is refused.
func TestCheckDisk(t *testing.T) {
	if err := (&options{data: "/dev/shm"}).checkDisk(); err == nil || !strings.Contains(err.Error(), "-data") {
		t.Error(err)
	}
	if err := (&options{data: "/proc"}).checkDisk(); err != nil {
		t.Error(err)
	}
}
