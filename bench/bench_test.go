//go:build linux

package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/bench/wire"
)

// TestMain lets the test binary be the bare broadcaster that it starts.
func TestMain(m *testing.M) {
	if server := otherServer(); server != nil {
		fail(server())
		return
	}
	os.Exit(m.Run())
}

// TestScenarios runs the loads, small and short, against the bare broadcaster and
// NATS. It checks the same property as every run: each connection receives
// everything once.
func TestScenarios(t *testing.T) {
	o := &options{seconds: 50 * time.Millisecond, warmUp: 10 * time.Millisecond}
	loads := map[string]func(*process, *options) (figures, error){
		"fanout": fanOut(20), "agents": agents(10, 160), "fewinflight": agents(10, 64), "spaces": manySpaces(5),
		"latency": latency, "configured": idleSpaces(5), "idle": idleConnections(20), "stopped": stoppedReader, "stopped10m": stoppedLong, "replay": replay(1000),
	}
	for _, sc := range scenarios(o) {
		run := loads[sc.name]
		if run == nil {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			runScenario(t, o, sc, run, func() (*process, error) { return startBare(1 << 16) })
			if slices.Contains(withPeers, sc.name) {
				runScenario(t, o, sc, run, startNATS)
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

func TestFrameSizes(t *testing.T) {
	if n := len(chat(256, "")) - len(`{"kind":"chat","payload":}`); n != 256 {
		t.Errorf("a payload of %d bytes", n)
	}
	if n := len(thought()); n != 400 {
		t.Errorf("a thought of %d bytes", n)
	}
	f := wire.ClientFrames(make([]byte, 70_000), 1)
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
	sc := scenario{name: "x", title: "X", what: "w", columns: []column{{"rate", "per s", 0}, {"cost", "µs", 2}}}
	r := &report{Date: "2026-11-21", Machine: "2 × Z", Go: "go1", Rounds: 3, Seconds: 4}
	r.add(sc, map[string][]figures{
		gatewayName: {{"rate": 3e6, "cost": 0.5}, {"rate": 1234, "cost": 0.3}, {"rate": 1_234_567, "cost": 0.4}},
		bareName:    {{"rate": 2_469_134}}, natsName: {{"cost": 0.2}}, centrifugeName: {{"cost": 0.3}},
	})
	want := "| **X**: w | per s | 1,234,567 | 2,469,134 | 0.5 | – | – |\n|  | µs | 0.40 | – | – | 0.20 | 0.30 |\n"
	if got := r.markdown(); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("# A\n"+tableBegin+"old\n"+tableEnd+"B\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.writeMarkdown(file); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(file)
	if !strings.HasPrefix(string(got), "# A\n"+tableBegin) || !strings.HasSuffix(string(got), want+"\n"+tableEnd+"B\n") || strings.Contains(string(got), "old") {
		t.Errorf("got\n%s", got)
	}
	if err := r.writeMarkdown(os.DevNull); err == nil {
		t.Error("a file without a table was written to")
	}
}

// TestReadme_Marks checks that -write finds the marks of the table.
func TestReadme_Marks(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), tableBegin) || !strings.Contains(string(data), tableEnd) {
		t.Error("README.md has no place for the table")
	}
}
