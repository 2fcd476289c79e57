package gateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// A request that waits when its participant is removed, its token is revoked or its
// client sends no more is answered by the reason, or as one to send again: it is no fault
// of the gateway.
func TestMCP_RequestIsEnded(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for name, c := range map[string]struct {
		end    func(t *testing.T, g *meuptest.Gateway, conn *net.TCPConn)
		status int
	}{
		"removed": {func(t *testing.T, g *meuptest.Gateway, _ *net.TCPConn) {
			kick := `{"kind":"space.kick","payload":{"participant_id":"bob"}}`
			if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", kick); status != http.StatusOK {
				t.Fatal(status, body)
			}
		}, http.StatusForbidden},
		"revoked": {func(_ *testing.T, g *meuptest.Gateway, _ *net.TCPConn) {
			g.Reload(strings.ReplaceAll(mcpEndedConfig, "bob-token", "bob-other-token"))
		}, http.StatusUnauthorized},
		"half closed": {func(t *testing.T, _ *meuptest.Gateway, conn *net.TCPConn) {
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := meuptest.Start(t, mcpEndedConfig)
			host, _, err := websocket.Dial(t.Context(), g.URL("lab"), &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer alice-token"}}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = host.CloseNow() }()
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", g.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /mcp?participant=alice HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer bob-token\r\nContent-Type: application/json\r\n"+
				"Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", g.Addr(), len(initialize), initialize)
			for frame := []byte(nil); !strings.Contains(string(frame), `"initialize"`); { // it is not answered
				_, frame, err = host.Read(testkit.Deadline(t))
				if err != nil {
					t.Fatal(err)
				}
			}
			c.end(t, g, conn.(*net.TCPConn))
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), fmt.Sprintf("HTTP/1.1 %d ", c.status)) {
				t.Errorf("answered %s, %v, want status %d", answer, err, c.status)
			}
			if strings.Contains(string(answer), `"internal"`) {
				t.Errorf("an internal error: %s", answer)
			}
		})
	}
}

const mcpEndedConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [chat, mcp.request]}
`
