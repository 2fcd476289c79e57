package ws_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// mewConfig has clients of MEW with limits that refill at different rates.
const mewConfig = `
violations: {max: 3}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"], limits: {rate: 100000, burst: 100000}}
      fast: {token: fast-token, capabilities: [chat], limits: {rate: 1000, burst: 20, kinds: [{kind: chat, rate: 500, burst: 10}]}}
      slow: {token: slow-token, capabilities: [chat], limits: {rate: 0.15, burst: 1}}
      never: {token: never-token, capabilities: [chat], limits: {rate: 0.001, burst: 1}}
`

// joinMEW connects a client of MEW, which sends its frames at once.
func joinMEW(t *testing.T, g *meuptest.Gateway, who string, frames ...string) *websocket.Conn {
	t.Helper()
	ws := dial(t, strings.Replace(g.HTTP(), "http", "ws", 1), nil)
	send(t, ws, fmt.Sprintf(`{"type":"join","space":"lab","token":"%s-token"}`, who))
	for _, f := range frames {
		send(t, ws, f)
	}
	return ws
}

func mewChats(who string, n int) (frames []string) {
	for i := range n {
		frames = append(frames, fmt.Sprintf(`{"protocol":"mew/v0.4","id":"%s-%d","kind":"chat","payload":{"text":"x"}}`, who, i))
	}
	return frames
}

func dialAlice(t *testing.T, g *meuptest.Gateway) *websocket.Conn {
	t.Helper()
	alice := dial(t, strings.Replace(g.HTTP(), "http", "ws", 1)+"/ws?space=lab", &websocket.DialOptions{HTTPHeader: bearer("alice")})
	if _, kind := read(t, alice); kind != "system.welcome" {
		t.Fatalf("the first frame is %s", kind)
	}
	return alice
}

// A burst of a client of MEW beyond its limits is slowed down: all of it arrives,
// in order, and nothing is refused. Heartbeats between the chats change nothing.
func TestMEW_BurstIsSlowedDown(t *testing.T) {
	t.Parallel()
	const count = 300
	g := meuptest.Start(t, mewConfig)
	alice := dialAlice(t, g)
	var frames []string
	for i, chat := range mewChats("fast", count) {
		frames = append(frames, chat)
		if i%50 == 0 {
			frames = append(frames, `{"protocol":"mew/v0.4","kind":"system/heartbeat","payload":{}}`)
		}
	}
	mew := joinMEW(t, g, "fast", frames...)
	for i := range count {
		if id, _ := read(t, alice); id != fmt.Sprint("fast-", i) {
			t.Fatalf("%s arrived, want fast-%d", id, i)
		}
	}
	for i := 0; i < count; {
		_, raw, err := mew.Read(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ ID, Kind string }
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		switch got.Kind {
		case "chat":
			i++
		case "system/error":
			t.Fatalf("refused: %s", raw)
		}
	}
}

// While a client of MEW waits for its limit, others are served, and the gateway
// closes without delay.
func TestMEW_WaitsAlone(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, mewConfig)
	alice := dialAlice(t, g)
	joinMEW(t, g, "slow", mewChats("slow", 3)...)
	if id, _ := read(t, alice); id != "slow-0" {
		t.Fatalf("%s arrived first", id)
	}
	for i := range 20 {
		id := fmt.Sprint("a-", i)
		send(t, alice, `{"id":"`+id+`","kind":"chat","payload":{"message":"x"}}`)
		got, _ := read(t, alice)
		for strings.HasPrefix(got, "slow-") { // on a slow machine its limit refills meanwhile
			got, _ = read(t, alice)
		}
		if got != id {
			t.Fatalf("%s arrived, want %s", got, id)
		}
	}
}

// An envelope whose limit refills too late is refused.
func TestMEW_WaitIsBounded(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, mewConfig)
	mew := joinMEW(t, g, "never", mewChats("never", 2)...)
	for {
		_, raw, err := mew.Read(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), `"system/error"`) {
			if !strings.Contains(string(raw), `"rate_limited"`) || !strings.Contains(string(raw), "never-1") {
				t.Errorf("refused with %s", raw)
			}
			return
		}
	}
}
