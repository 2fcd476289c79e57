package ws_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// goroutines returns how many goroutines have a text in their trace.
func goroutines(text string) (n int) {
	block := make([]byte, 8<<20)
	for _, g := range strings.Split(string(block[:runtime.Stack(block, true)]), "\n\n") {
		if strings.Contains(g, text) {
			n++
		}
	}
	return n
}

// An idle connection has a reader and no writer.
func TestWriters_NoneWhileIdle(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	const count = 40
	for i := range count {
		who := []string{"alice", "bob"}[i%2]
		read(t, dial(t, g.URL("lab"), &websocket.DialOptions{HTTPHeader: bearer(who)}))
	}
	testkit.Eventually(t, "only the readers are left", func() bool {
		return goroutines("ws.(*session)") == count && goroutines("ws.(*session).run") == count && goroutines("ws.(*writers)") == 0
	})
}

// patient has no pings: a busy machine takes longer than their interval, and these clients do not answer them.
const patient = "idle_timeout: 0s\nping_interval: 0s\n" + meuptest.Config

// A connection that takes nothing gets a goroutine of its own, and the others receive what it does not. It receives
// the same later, in order, although its frames were cut where its socket was full.
func TestWriters_BlockedSocketHoldsUpNobody(t *testing.T) {
	g := meuptest.Start(t, patient)
	slow := dialRaw(t, g, "echo=true")
	bob := dial(t, g.URL("lab"), &websocket.DialOptions{HTTPHeader: bearer("bob")})
	read(t, bob)
	const count = 400 // 24 MB: more than the sockets take
	text := strings.Repeat("x", 60_000)
	for i := range count {
		send(t, bob, fmt.Sprintf(`{"id": "m%d", "kind": "chat", "payload": {"message": %q}}`, i, text))
		if id, _ := read(t, bob); id != fmt.Sprint("m", i) {
			t.Fatalf("got %s, want m%d", id, i)
		}
	}
	if n := goroutines("ws.(*session).writeAlone"); n != 1 {
		t.Errorf("%d writers of their own", n)
	}
	for i := 0; i < count; {
		opcode, payload, err := slow.read()
		if err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
		var e struct{ ID, Kind string }
		if err := json.Unmarshal(payload, &e); err != nil || opcode != 1 {
			t.Fatalf("after %d, a frame %d of %d bytes: %v", i, opcode, len(payload), err)
		}
		if e.Kind != "chat" {
			continue
		}
		if e.ID != fmt.Sprint("m", i) {
			t.Fatalf("got %s, want m%d", e.ID, i)
		}
		i++
	}
	testkit.Eventually(t, "its writer has ended", func() bool { return goroutines("ws.(*session).writeAlone") == 0 })
}

// A connection whose writer is blocked can be closed, and its peer can hang up.
func TestWriters_CloseWhileBlocked(t *testing.T) {
	for _, hangUp := range []bool{false, true} {
		t.Run(fmt.Sprint("the peer hangs up: ", hangUp), func(t *testing.T) {
			g := meuptest.Start(t, patient)
			slow := dialRaw(t, g, "")
			bob := dial(t, g.URL("lab"), &websocket.DialOptions{HTTPHeader: bearer("bob")})
			read(t, bob)
			text := strings.Repeat("x", 900_000)
			for i := 0; i < 100 && goroutines("ws.(*session).writeAlone") == 0; i++ {
				send(t, bob, fmt.Sprintf(`{"id": "m%d", "kind": "chat", "payload": {"message": %q}}`, i, text))
				read(t, bob)
			}
			if hangUp {
				_ = slow.Close()
			} else {
				send(t, bob, `{"id": "k", "kind": "space.kick", "payload": {"participant_id": "alice"}}`)
			}
			testkit.Eventually(t, "the session has ended", func() bool { return goroutines("ws.(*session).run") == 1 })
		})
	}
}

// Control frames in every place leave the messages around them whole; one with nothing behind it makes a new reader.
func TestReader_ContinuesAfterControlFrames(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	message := func(id string) []byte { return fmt.Appendf(nil, `{"id":%q,"kind":"x.y"}`, id) }
	part := message("part")
	next := frame(textFrame, message("next"))
	for _, c := range []struct {
		name     string
		writes   [][]byte
		replaced bool
	}{
		{"ping alone", [][]byte{frame(ping, []byte("?")), frame(textFrame, part)}, true},
		{"ping, and pong alone", [][]byte{frame(ping, []byte("?")), frame(pong, []byte("!")), frame(textFrame, part)}, true},
		{"ping and a message", [][]byte{append(frame(ping, []byte("?")), frame(textFrame, part)...)}, false},
		{"ping and a byte of a message", [][]byte{append(frame(ping, []byte("?")), next[0]), append(next[1:len(next):len(next)], frame(textFrame, part)...)}, false},
		{"ping in a message", [][]byte{append(frame(fragment, part[:5]), frame(ping, []byte("?"))...), frame(0x80, part[5:])}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := dialRaw(t, g, "ack=true&echo=false")
			if _, payload, err := r.read(); err != nil || !bytes.Contains(payload, []byte("system.welcome")) {
				t.Fatalf("%s, %v", payload, err)
			}
			acked := false // perhaps before the pong
			read := func() (opcode byte) {
				opcode, payload, err := r.read()
				if err != nil {
					t.Fatal(err)
				}
				acked = acked || bytes.Contains(payload, []byte(`"system.ack"`)) && bytes.Contains(payload, []byte(`"part"`))
				return opcode
			}
			for _, w := range c.writes {
				if _, err := r.Write(w); err != nil {
					t.Fatal(err)
				}
				for answered := w[0] != ping; !answered; {
					answered = read() == 0xa
				}
			}
			for !acked {
				read()
			}
			if n := goroutines("ws.(*session).run in goroutine"); (n == 1) != c.replaced {
				t.Errorf("%d readers were replaced", n)
			}
			_ = r.Close()
			testkit.Eventually(t, "the reader has ended", func() bool { return goroutines("ws.(*session)") == 0 })
		})
	}
}
