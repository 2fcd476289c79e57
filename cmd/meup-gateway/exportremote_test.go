package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/archive"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// TestExport_RemoteTurns checks that the turns of a thread of several pages are
// returned once each and in order, with the gateway's numbers and without
// invisible turns.
func TestExport_RemoteTurns(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	const n = 3*50 + 7
	for first := 1; first <= n; first += 50 {
		var list []string
		for i := first; i < first+50 && i <= n; i++ {
			more := ""
			if i > 1 {
				more = `,"correlationId":"q1"`
			}
			if i%7 == 0 {
				more += `,"to":["alice"]`
			}
			list = append(list, fmt.Sprintf(`{"id":"q%d","kind":"chat"%s,"payload":{"message":"number %d"}}`, i, more, i))
		}
		post(t, g.HTTP()+"/api/spaces/lab/envelopes", "["+strings.Join(list, ",")+"]")
	}
	number := regexp.MustCompile(`"key":"meup.turn.number","value":\{"intValue":"(\d+)"\}`)
	t.Setenv("ALICE", "alice-token")
	t.Setenv("BOB", "bob-token")
	for who, hidden := range map[string]int{"ALICE": n + 1, "BOB": 7} {
		f := exportFlags{space: "lab", gateway: g.HTTP(), tokenEnv: who, format: archive.Traces, thread: "q1"}
		lines := strings.Split(strings.TrimSpace(mustExport(t, f)), "\n")
		want := 0
		for _, line := range lines {
			want++
			if want%hidden == 0 {
				want++
			}
			if m := number.FindStringSubmatch(line); m == nil || m[1] != fmt.Sprint(want) {
				t.Fatalf("%s: turn %v, want %d", who, m, want)
			}
		}
		if want < n-1 {
			t.Errorf("%s: %d of %d turns", who, want, n)
		}
	}
}
