package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// mcpClientOf connects a client that speaks one revision of MCP.
func mcpClientOf(t *testing.T, g *meuptest.Gateway, token, revision string) *mcp.ClientSession {
	t.Helper()
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: g.HTTP() + "/mcp?space=lab", HTTPClient: &http.Client{Transport: withToken(token)}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Fatalf("speaks %s", got)
	}
	return session
}

var mcpRevisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// call calls a tool that must succeed, and decodes its result.
func call[Out any](t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (out Out) {
	t.Helper()
	text, isError := callTool(t, s, name, args)
	if isError {
		t.Fatalf("%s: %s", name, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err, text)
	}
	return out
}

type toldMessage struct {
	ID, From, Trust, Kind, Context, Text string
	To                                   []string
	InReplyTo                            []string `json:"in_reply_to"`
	Omitted                              int
}

type told struct {
	Note     string
	Messages []toldMessage
	Cursor   string
	HasMore  bool `json:"has_more"`
}

type toldSent struct{ ID, Cursor string }

func texts(list []toldMessage) string {
	var all []string
	for _, m := range list {
		all = append(all, m.From+": "+m.Text)
	}
	return strings.Join(all, "; ")
}

func TestMCP_Conversation(t *testing.T) {
	for _, revision := range mcpRevisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel() // it waits
			g := meuptest.Start(t, mcpConfig)
			alice, bob, eve := mcpClientOf(t, g, "alice-token", revision), mcpClientOf(t, g, "bob-token", revision), mcpClientOf(t, g, "eve-token", revision)
			first := call[toldSent](t, alice, "say", map[string]any{"message": "where is the zebra?", "key": "1"})
			if again := call[toldSent](t, alice, "say", map[string]any{"message": "where is the zebra?", "key": "1"}); again != first {
				t.Errorf("the retry is %v, not %v", again, first)
			}
			if other := call[toldSent](t, alice, "say", map[string]any{"message": "and the lion?", "key": "1"}); other.ID == first.ID {
				t.Error("another message has the same id")
			}
			answer := call[toldSent](t, bob, "say", map[string]any{"message": "here", "to": []string{"alice"}, "reply_to": first.ID})
			got := call[told](t, alice, "wait", map[string]any{"after": first.Cursor})
			if texts(got.Messages) != "bob: here" || got.Messages[0].Trust != "participant" || got.Messages[0].ID != answer.ID ||
				fmt.Sprint(got.Messages[0].To, got.Messages[0].InReplyTo) != fmt.Sprintf("[alice] [%s]", first.ID) || !strings.Contains(got.Note, "not instructions") {
				t.Errorf("waited for %+v", got)
			}
			all := call[told](t, alice, "read", nil)
			if want := "alice: where is the zebra?; alice: and the lion?; bob: here"; texts(all.Messages) != want || all.Messages[0].Trust != "you" {
				t.Errorf("read %+v", all)
			}
			if page := call[told](t, alice, "read", map[string]any{"after": "start", "limit": 2}); len(page.Messages) != 2 || !page.HasMore {
				t.Errorf("a page is %+v", page)
			} else if rest := call[told](t, alice, "read", map[string]any{"after": page.Cursor, "limit": 2}); texts(rest.Messages) != "bob: here" || rest.HasMore {
				t.Errorf("the rest is %+v", rest)
			}
			if hidden := call[told](t, eve, "read", map[string]any{"after": "start"}); strings.Contains(texts(hidden.Messages), "bob") {
				t.Errorf("eve reads %v", hidden)
			}
			if none := call[told](t, alice, "wait", map[string]any{"after": got.Cursor, "seconds": 1}); len(none.Messages) != 0 || none.Cursor == "" {
				t.Errorf("waited for %+v", none)
			}
		})
	}
}

func TestMCP_ToolArguments(t *testing.T) {
	g := meuptest.Start(t, mcpConfig)
	bob := mcpClient(t, g, "bob-token", "")
	for _, test := range []struct {
		name, tool string
		args       map[string]any
		want       string
	}{
		{"no cursor", "read", map[string]any{"after": "x"}, "expected the cursor of an earlier result"},
		{"a number", "wait", map[string]any{"after": "5"}, "expected the cursor of an earlier result"},
		{"a cursor of another log", "read", map[string]any{"after": "1.other"}, "another log"},
		{"a long wait", "wait", map[string]any{"seconds": 51}, "seconds: expected 1 to 50"},
		{"a negative wait", "wait", map[string]any{"seconds": -1}, "seconds: expected 1 to 50"},
		{"too many messages", "read", map[string]any{"limit": 101}, "limit: expected 1 to 100"},
		{"a kind that is none", "read", map[string]any{"kinds": []string{"!"}}, "kind"},
		{"a path that is none", "wait", map[string]any{"context": "a//b"}, "context"},
		{"a participant that is none", "say", map[string]any{"message": "x", "to": []string{"a b"}}, `"a b" is not the id of a participant`},
		{"an unknown participant", "say", map[string]any{"message": "x", "to": []string{"nobody"}}, "nobody"},
		{"a long key", "say", map[string]any{"message": "x", "key": strings.Repeat("k", 257)}, "key: expected at most 256 bytes"},
		{"an integer with a fraction", "wait", map[string]any{"seconds": json.RawMessage("5.0")}, "seconds: expected an integer of at most 64 bits, without a fraction or an exponent, not 5.0"},
		{"an integer that is too large", "read", map[string]any{"limit": json.RawMessage("1e30")}, "limit: expected an integer of at most 64 bits"},
		{"another sender", "say", map[string]any{"message": "x", "from": "alice"}, `"from"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if text, isError := callTool(t, bob, test.tool, test.args); !isError || !strings.Contains(text, test.want) || strings.Contains(text, "Go ") {
				t.Errorf("%v %s, want %q", isError, text, test.want)
			}
		})
	}
}

// The client of the SDK does not send such a number.
func TestMCP_ToolArgumentThatIsTooLarge(t *testing.T) {
	g := meuptest.Start(t, mcpConfig)
	status, body := postAs(t, g, "bob-token", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"seconds":1e400}}}`)
	if want := `"text":"expected a number of at most 1.8e308, not 1e400"`; status != http.StatusOK || !strings.Contains(body, want) {
		t.Errorf("%d %s, want %s", status, body, want)
	}
}

func TestMCP_LongMessages(t *testing.T) {
	g := meuptest.Start(t, mcpConfig)
	alice, bob := mcpClient(t, g, "alice-token", "?space=lab"), mcpClient(t, g, "bob-token", "")
	for i := range 8 {
		call[toldSent](t, alice, "say", map[string]any{"message": fmt.Sprint(i, strings.Repeat("x", 10_000))})
	}
	var got string
	after, pages := "start", 0
	for more := true; more; pages++ {
		page := call[told](t, bob, "read", map[string]any{"after": after})
		size := 0
		for _, m := range page.Messages {
			got, size = got+m.Text[:1], size+len(m.Text)
			if len(m.Text)+m.Omitted != 10_001 || m.Omitted == 0 {
				t.Errorf("%d bytes, %d omitted", len(m.Text), m.Omitted)
			}
		}
		if size > 48<<10 {
			t.Errorf("a result has %d bytes", size)
		}
		after, more = page.Cursor, page.HasMore
	}
	if got != "01234567" || pages != 2 {
		t.Errorf("read %s in %d pages", got, pages)
	}
	if newest := call[told](t, bob, "read", nil); len(newest.Messages) != 6 || newest.Messages[5].Text[:1] != "7" || !newest.HasMore {
		t.Errorf("the newest are %d messages", len(newest.Messages))
	}
}

func TestMCP_Who(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(mcpConfig, "eve-token,", "eve-token, description: Keeps the books.,", 1))
	bob := mcpClient(t, g, "bob-token", "")
	asked := call[toldSent](t, bob, "say", map[string]any{"message": "who knows?"})
	joined := watch(t, g, "eve-token")
	defer joined()
	got := call[struct {
		You     string
		Present []struct {
			ID           string
			Capabilities []any
			Description  string
		}
		OpenQuestions []struct{ ID, From, Trust, State string } `json:"open_questions"`
	}](t, bob, "who", nil)
	if got.You != "bob" || len(got.Present) != 1 || got.Present[0].ID != "eve" || fmt.Sprint(got.Present[0].Capabilities) != "[chat]" ||
		got.Present[0].Description != "Keeps the books." {
		t.Errorf("present: %+v", got)
	}
	if len(got.OpenQuestions) != 1 || got.OpenQuestions[0].ID != asked.ID || got.OpenQuestions[0].State != api.TurnPending || got.OpenQuestions[0].Trust != "you" {
		t.Errorf("questions: %+v", got.OpenQuestions)
	}
}

// watch opens an event stream, which makes a participant present, until the
// returned function is called.
func watch(t *testing.T, g *meuptest.Gateway, token string) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.HTTP()+"/api/spaces/lab/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return func() { cancel(); _ = resp.Body.Close() }
}

// awaitPresent waits until a participant is present.
func awaitPresent(t *testing.T, g *meuptest.Gateway, id string) {
	t.Helper()
	c, err := api.New(api.Options{URL: g.HTTP(), Token: "alice-token"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	testkit.Eventually(t, id+" is present", func() bool {
		list, err := c.Participants(t.Context(), "lab")
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list, func(p protocol.Participant) bool { return string(p.ID) == id })
	})
}

func TestMCP_WaitWakes(t *testing.T) {
	for _, revision := range mcpRevisions {
		t.Run(revision, func(t *testing.T) {
			g := meuptest.Start(t, mcpConfig)
			alice, bob := mcpClientOf(t, g, "alice-token", revision), mcpClientOf(t, g, "bob-token", revision)
			got := make(chan told, 1)
			go func() { got <- call[told](t, bob, "wait", map[string]any{"seconds": 50}) }()
			awaitPresent(t, g, "bob")
			call[toldSent](t, bob, "say", map[string]any{"message": "my own"})
			if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", `{"kind":"x.note","payload":{"message":"another kind"}}`); status != http.StatusOK {
				t.Fatal(body)
			}
			call[toldSent](t, alice, "say", map[string]any{"message": "for eve", "to": []string{"eve"}})
			call[toldSent](t, alice, "say", map[string]any{"message": "wake up"})
			if w := <-got; texts(w.Messages) != "alice: wake up" {
				t.Errorf("woken by %+v", w)
			}
		})
	}
}

// TestMCP_WaitingLeavesSlots checks that waiting calls do not keep others from
// running, and that they end when their client disconnects.
func TestMCP_WaitingLeavesSlots(t *testing.T) {
	for _, revision := range mcpRevisions {
		t.Run(revision, func(t *testing.T) {
			g := meuptest.Start(t, mcpConfig)
			bob, eve := mcpClientOf(t, g, "bob-token", revision), mcpClientOf(t, g, "eve-token", revision)
			ctx, cancel := context.WithCancel(t.Context())
			var waiting sync.WaitGroup
			var ended atomic.Int64
			for range 12 {
				waiting.Go(func() {
					_, _ = bob.CallTool(ctx, &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"seconds": 50}})
					ended.Add(1)
				})
			}
			awaitPresent(t, g, "bob")
			for range 20 {
				call[told](t, eve, "read", nil)
			}
			if n := ended.Load(); n > 0 {
				t.Errorf("%d waits ended before the reads", n)
			}
			cancel()
			waiting.Wait()
			testkit.Eventually(t, "no connection is left", func() bool {
				_, text := ask(t, g, http.MethodGet, "/metrics", "", "")
				return strings.Contains(text, "\nmeup_connections{state=\"open\"} 0\n")
			})
		})
	}
}

func TestMCP_WaitEndsWithTheGateway(t *testing.T) {
	g := meuptest.Start(t, mcpConfig)
	bob := mcpClient(t, g, "bob-token", "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = bob.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"seconds": 50}})
	}()
	awaitPresent(t, g, "bob")
	g.Stop()
	<-ended
}

// A wait goes on when the participant has no right to read for a moment.
func TestMCP_WaitWhileLimited(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(mcpConfig, "bob-token,", "bob-token, limits: {rate: 4, burst: 4},", 1))
	alice, bob := mcpClient(t, g, "alice-token", "?space=lab"), mcpClient(t, g, "bob-token", "")
	first := call[toldSent](t, bob, "say", map[string]any{"message": "hello"})
	got := make(chan told, 1)
	go func() {
		defer close(got) // also if the call fails
		got <- call[told](t, bob, "wait", map[string]any{"after": first.Cursor, "seconds": 50})
	}()
	awaitPresent(t, g, "bob")
	for limited := false; !limited; { // a batch counts as 50 reads, of which there are as many a second
		status, _ := servedMCP(t, g, "bob-token", batch(50))
		limited = status == http.StatusTooManyRequests
	}
	call[toldSent](t, alice, "say", map[string]any{"message": "wake up"})
	if w := <-got; texts(w.Messages) != "alice: wake up" {
		t.Errorf("woken by %+v", w)
	}
}
