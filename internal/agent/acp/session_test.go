package acp

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/acp"
	"github.com/meup-protocol/meup/internal/kit/recent"
)

// A program that starts its MCP servers with a session has the time of a start for it: a new
// session, and one that it continues. The mode has a minute.
func TestOpen_HasTheTimeOfAStart(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		can    string // the program's capabilities
		after  time.Duration
		want   string // a part of the error
	}{
		"new":           {"session/new", `{}`, 119 * time.Second, ""},
		"new, too slow": {"session/new", `{}`, 121 * time.Second, "did not answer in time"},
		"loaded":        {"session/load", `{"loadSession":true}`, 119 * time.Second, ""},
		"resumed":       {"session/resume", `{"sessionCapabilities":{"resume":{}}}`, 119 * time.Second, ""},
		"mode":          {"session/set_mode", `{}`, 59 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				var peer sync.WaitGroup
				defer peer.Wait()
				defer there.Close()
				o := Options{Dir: "/", Mode: "careful"}.withDefaults()
				p := &program{o: &o, conn: acp.NewConn(here, here, slog.New(slog.DiscardHandler), nil)}
				if err := json.Unmarshal([]byte(test.can), &p.can); err != nil {
					t.Fatal(err)
				}
				p.conn.Start()
				defer p.conn.Close()
				defer here.Close()
				peer.Go(func() { answerLate(there, test.method, test.after) })
				a := &Agent{o: o, known: recent.New[string, sessionID](maxKnown)}
				a.known.Put("a thread", "earlier")
				s := &session{thread: "a thread", program: p}
				begun := time.Now()
				err := a.open(t.Context(), s)
				if test.want == "" && (err != nil || s.id == "" || time.Since(begun) != test.after) {
					t.Errorf("%s that is answered after %v: session %q, %v after %v; want a session then", test.method, test.after, s.id, err, time.Since(begun))
				}
				if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("%s that is answered after %v: %v, want an error with %q", test.method, test.after, err, test.want)
				}
			})
		})
	}
}

// answerLate answers requests at once, and those of one method after a time.
func answerLate(conn net.Conn, method string, after time.Duration) {
	for in := bufio.NewScanner(conn); in.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if m.Method == method {
			<-time.After(after)
		}
		if _, err := conn.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"sessionId":"new"}}` + "\n")); err != nil {
			return
		}
	}
}
