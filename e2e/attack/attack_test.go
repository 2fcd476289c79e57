package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// maxMemory bounds the resident set of a gateway under attack.
const maxMemory = 400 << 20

const manyFiles = 8192

// zeros is an endless text of JSON array elements.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p)&^1, z.left)
	for i := 0; i+1 < n; i += 2 {
		p[i], p[i+1] = '0', ','
	}
	z.left -= n
	return n, nil
}

// hugeArrays posts arrays of 32 MiB.
func (g *target) hugeArrays(ctx context.Context) {
	forever(ctx, func(int) {
		g.do(ctx, http.MethodPost, token("mallory"), "/api/spaces/lab/envelopes", io.MultiReader(strings.NewReader("["), &zeros{32 << 20}, strings.NewReader("0]")))
	})
}

// unreadHistory asks for pages of history and does not read them.
func (g *target) unreadHistory(ctx context.Context) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", g.addr)
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = fmt.Fprintf(c, "GET /api/spaces/lab/envelopes?limit=1000 HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", g.addr, token("trudy"))
	<-ctx.Done()
}

// TestMemory runs the attacks on memory together.
func TestMemory(t *testing.T) {
	g := startTarget(t, manyFiles)
	body := fmt.Sprintf(`{"kind":"chat","payload":{"message":%q}}`, strings.Repeat("lorem ipsum ", 20_000))
	for range full(60, 2) { // about 15 MB
		testkit.Eventually(t, "a chat is admitted", func() bool { return g.send(t.Context(), "owner", body).status == http.StatusOK })
	}
	g.under(parallel(full(8, 1), g.hugeArrays), parallel(60, g.unreadHistory), g.manySpaces, g.manyChats)
	if peak := g.peakMemory(); peak > maxMemory && *duration > 0 {
		t.Errorf("the gateway used %d MB", peak>>20)
	}
}

// manySpaces opens new spaces of a glob and writes 1 MB into each.
func (g *target) manySpaces(ctx context.Context) {
	message := strings.Repeat("x", 900_000)
	forever(ctx, func(n int) {
		g.do(ctx, http.MethodPost, token("mallory"), fmt.Sprintf("/api/spaces/team-%d/envelopes", n),
			strings.NewReader(`{"kind":"chat","payload":{"message":"`+message+`"}}`))
	})
}

// manyChats sends large chats as fast as the limits allow.
func (g *target) manyChats(ctx context.Context) {
	body := `{"kind":"chat","payload":{"message":"` + strings.Repeat("password: ", 25_000) + `"}}`
	forever(ctx, func(int) { g.send(ctx, "trudy", body) })
}

func TestSpaces(t *testing.T) {
	g := startTarget(t, manyFiles)
	var opened atomic.Int64
	g.under(parallel(4, func(ctx context.Context) {
		forever(ctx, func(n int) {
			if g.get(ctx, token("mallory"), fmt.Sprintf("/api/spaces/team-%d-%d/participants", time.Now().UnixNano(), n)).status == http.StatusOK {
				opened.Add(1)
			}
		})
	}))
	t.Logf("%d spaces opened", opened.Load())
	if opened.Load() > 2000 {
		t.Errorf("one token opened %d spaces", opened.Load())
	}
}

// TestUnreadBodies holds more connections than a gateway may open files, with requests
// whose body never comes.
func TestUnreadBodies(t *testing.T) {
	limit := full(1024, 256)
	g := startTarget(t, limit)
	var held atomic.Int64
	g.under(parallel(2*limit, func(ctx context.Context) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", g.addr)
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = fmt.Fprintf(c, "POST /healthz HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n\r\n", g.addr)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_, _ = io.Copy(io.Discard, c)
		}()
		select {
		case <-closed:
		case <-ctx.Done():
			held.Add(1)
		}
	}))
	t.Logf("%d of %d connections were held", held.Load(), 2*limit)
	if files := g.files(); files > limit-24 {
		t.Errorf("%d files are open", files)
	}
	if r := g.send(t.Context(), "honest", `{"kind":"chat","payload":{"message":"hello"}}`); r.status != http.StatusOK {
		t.Errorf("a chat after the attack: %d %s", r.status, r.body)
	}
}

// wordy is a thought that is expensive to redact: it is full of the keywords of
// secrets.
func wordy(id string) string {
	text := strings.Repeat("api_key token secret password AKIA ghp_ eyJ -----BEGIN ", 18_000)
	return fmt.Sprintf(`{"id":%q,"kind":"reasoning.thought","payload":{"message":%q}}`, id, text[:990_000])
}

func TestRedaction(t *testing.T) {
	t.Run("new thoughts", func(t *testing.T) {
		g := startTarget(t, manyFiles)
		g.under(func(ctx context.Context) {
			forever(ctx, func(n int) { g.send(ctx, "mallory", wordy(fmt.Sprintf("w-%d", n))) })
		})
	})
	t.Run("retries of one thought", func(t *testing.T) {
		g := startTarget(t, manyFiles)
		g.under(parallel(4, func(ctx context.Context) {
			forever(ctx, func(int) { g.send(ctx, "mallory", wordy("w-0")) })
		}))
	})
}

// TestTurns writes chats that are expensive to mask, while other clients read
// threads.
func TestTurns(t *testing.T) {
	g := startTarget(t, manyFiles)
	message := strings.Repeat("api_key token secret password AKIA ghp_ eyJ ", 6000)
	for n := range full(8, 2) {
		testkit.Eventually(t, "a chat is admitted", func() bool {
			return g.send(t.Context(), "trudy", fmt.Sprintf(`{"id":"t-%d","kind":"chat","payload":{"message":%q}}`, n, message[:250_000])).status == http.StatusOK
		})
	}
	cpu := g.cpu()
	for _, path := range []string{"/api/spaces/lab/threads", "/api/chat/history?space=lab&thread_id=t-0"} {
		if r := g.get(t.Context(), token("honest"), path); r.status != http.StatusOK {
			t.Errorf("%s: %d %.200s", path, r.status, r.body)
		}
	}
	used := g.cpu() - cpu
	t.Logf("threads and history used %v CPU", used)
	if used > 10*time.Second && *duration > 0 {
		t.Errorf("threads and history used %v CPU", used)
	}
	g.under(func(ctx context.Context) {
		forever(ctx, func(int) { g.get(ctx, token("trudy"), "/api/spaces/lab/threads") })
	})
}

// TestGrants sends grants of long patterns.
func TestGrants(t *testing.T) {
	g := startTarget(t, manyFiles)
	g.under(func(ctx context.Context) {
		forever(ctx, func(n int) {
			var list []string
			for i := range 64 {
				list = append(list, fmt.Sprintf(`{"kind":"x.%d","payload":{"a":%q}}`, i, strings.Repeat("*a", 60)+fmt.Sprint(n, i)))
			}
			recipient := []string{"trudy", "agent", "host"}[n%3]
			g.send(ctx, "owner", fmt.Sprintf(`{"kind":"capability.grant","payload":{"recipient":%q,"capabilities":[%s]}}`, recipient, strings.Join(list, ",")))
			g.send(ctx, "trudy", fmt.Sprintf(`{"kind":"x.%d","payload":{"a":%q}}`, n%64, strings.Repeat("a", 5000)))
		})
	})
}

// TestFilters reads with expensive filters.
func TestFilters(t *testing.T) {
	g := startTarget(t, manyFiles)
	var kinds []string
	for i := range 16 {
		kinds = append(kinds, fmt.Sprintf("/(a|b|c|d|e.*f.*g.*h.*%d)+x$/", i))
	}
	query := strings.NewReplacer("+", "%2B", "|", "%7C").Replace(strings.Join(kinds, ","))
	g.under(
		parallel(4, func(ctx context.Context) {
			forever(ctx, func(int) {
				g.get(ctx, token("trudy"), "/api/spaces/lab/envelopes?limit=1000&kinds="+query)
			})
		}),
		parallel(12, func(ctx context.Context) {
			c, err := g.dial(ctx, "mallory", "lab", "observe=true&kinds="+query)
			if err != nil {
				return
			}
			defer c.CloseNow()
			drain(ctx, c)
		}),
	)
}

// TestPresence joins and leaves as fast as possible, in three ways.
func TestPresence(t *testing.T) {
	g := startTarget(t, manyFiles)
	watcher, err := g.dial(t.Context(), "owner", "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.CloseNow()
	var frames atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			_, data, err := watcher.Read(ctx)
			if err != nil {
				return
			}
			if strings.Contains(string(data), "system.presence") {
				frames.Add(1)
			}
		}
	}()
	lasted := g.under(
		func(ctx context.Context) {
			forever(ctx, func(int) { g.do(ctx, http.MethodHead, token("mallory"), "/api/spaces/lab/events", nil) })
		},
		parallel(4, func(ctx context.Context) {
			forever(ctx, func(int) {
				if c, err := g.dial(ctx, "mallory", "lab", ""); err == nil {
					_ = c.CloseNow()
				}
			})
		}),
	)
	stop()
	<-done
	t.Logf("%d frames of presence reached another member", frames.Load())
	if most := 100 * int64(lasted.Seconds()+2); frames.Load() > most {
		t.Errorf("%d frames of presence in %v", frames.Load(), lasted)
	}
}

// TestInvitations invites new participants continuously.
func TestInvitations(t *testing.T) {
	g := startTarget(t, manyFiles)
	g.under(func(ctx context.Context) {
		forever(ctx, func(n int) {
			g.send(ctx, "mallory", fmt.Sprintf(`{"kind":"space.invite","payload":{"participant_id":"guest-%d","initial_capabilities":["chat"]}}`, n))
		})
	})
}

// TestRefusals sends envelopes that are refused.
func TestRefusals(t *testing.T) {
	t.Run("envelopes", func(t *testing.T) {
		g := startTarget(t, manyFiles)
		deep := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
		body := `{"kind":"x.forbidden","payload":{"list":[` + strings.Repeat(deep+",", 2800) + `0]}}`
		g.under(parallel(3, func(ctx context.Context) {
			forever(ctx, func(int) {
				c, err := g.dial(ctx, "trudy", "lab", "")
				if err != nil {
					return
				}
				defer c.CloseNow()
				go drain(ctx, c)
				forever(ctx, func(int) {
					if c.Write(ctx, websocket.MessageText, []byte(body)) != nil {
						_ = c.CloseNow()
					}
				})
			})
		}))
	})
	t.Run("control frames", func(t *testing.T) {
		g := startTarget(t, manyFiles)
		g.under(parallel(2, g.pings))
	})
}

// pings sends pings over a WebSocket without reading.
func (g *target) pings(ctx context.Context) {
	forever(ctx, func(int) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", g.addr)
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = fmt.Fprintf(c, "GET /ws?space=lab HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", g.addr, token("trudy"))
		go func() { _, _ = io.Copy(io.Discard, c) }()
		batch := []byte(strings.Repeat("\x89\x80\x00\x00\x00\x00", 4096))
		for ctx.Err() == nil {
			if _, err := c.Write(batch); err != nil {
				return
			}
		}
	})
}

// TestRebinding sends requests like a page whose name was bound to the loopback
// address.
func TestRebinding(t *testing.T) {
	g := startTarget(t, manyFiles)
	for _, path := range []string{"/metrics", "/version"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "evil.example"
		resp, err := httpClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Errorf("%s answers for the host evil.example", path)
		}
	}
}

// TestSilentUpgrades opens connections of the MEW dialect that never join.
func TestSilentUpgrades(t *testing.T) {
	g := startTarget(t, manyFiles)
	var open atomic.Int64
	g.under(parallel(full(400, 100), func(ctx context.Context) {
		c, _, err := websocket.Dial(ctx, "ws://"+g.addr+"/", nil)
		if err != nil {
			return
		}
		open.Add(1)
		defer c.CloseNow()
		drain(ctx, c)
	}))
	t.Logf("%d silent connections", open.Load())
}

// TestForgedFulfillment checks that only the participant that a request was
// addressed to responds for a proposal, and that only the proposed call
// fulfills it.
func TestForgedFulfillment(t *testing.T) {
	g := startTarget(t, manyFiles)
	propose := `{"id":"p-1","kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"write_file","arguments":{"path":"a"}}}}`
	if r := g.send(t.Context(), "agent", propose); r.status != http.StatusOK {
		t.Fatalf("propose: %d %s", r.status, r.body)
	}
	call := `"payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"a"}}}}`
	tests := []struct{ name, who, body, code string }{
		{"a ping to itself", "mallory", `{"kind":"mcp.request","to":["mallory"],"correlationId":"p-1","payload":{"jsonrpc":"2.0","id":1,"method":"ping"}}`, "proposal_mismatch"},
		{"another call", "owner", `{"kind":"mcp.request","to":["host"],"correlationId":"p-1","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"b"}}}}`, "proposal_mismatch"},
		{"to the proposer", "owner", `{"kind":"mcp.request","to":["agent"],"correlationId":"p-1",` + call, "proposal_mismatch"},
		{"to itself", "owner", `{"kind":"mcp.request","to":["owner"],"correlationId":"p-1",` + call, "proposal_mismatch"},
		{"the proposed call", "owner", `{"kind":"mcp.request","to":["host"],"correlationId":"p-1",` + call, ""},
		{"a second decision", "honest", `{"kind":"mcp.request","to":["host"],"correlationId":"p-1",` + call, "proposal_settled"},
		{"a late rejection", "honest", `{"kind":"mcp.reject","correlationId":"p-1","payload":{"reason":"policy"}}`, "proposal_settled"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if r := g.send(t.Context(), test.who, test.body); r.code() != test.code {
				t.Errorf("%d %s, want %q", r.status, r.body, test.code)
			}
		})
	}
}

// TestMailboxTakeover checks that a second invitation of a participant does not
// open its earlier mail.
func TestMailboxTakeover(t *testing.T) {
	g := startTarget(t, manyFiles)
	invite := `{"kind":"space.invite","payload":{"participant_id":"guest","initial_capabilities":["chat"]}}`
	if r := g.send(t.Context(), "owner", invite); r.status != http.StatusOK {
		t.Fatalf("invite: %d %s", r.status, r.body)
	}
	if r := g.send(t.Context(), "owner", `{"kind":"chat","to":["guest"],"payload":{"message":"for your eyes only"}}`); r.status != http.StatusOK {
		t.Fatalf("private mail: %d %s", r.status, r.body)
	}
	r := g.send(t.Context(), "mallory", invite)
	if r.status != http.StatusOK {
		return // refused
	}
	var answer struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(r.body, &answer); err != nil || answer.Token == "" {
		t.Fatalf("%s: %v", r.body, err)
	}
	if mail := g.get(t.Context(), answer.Token, "/api/spaces/lab/envelopes?since=0"); strings.Contains(string(mail.body), "for your eyes only") {
		t.Error("who was not the inviter reads the mail of the invited")
	}
}
