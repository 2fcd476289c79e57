package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/schemas"
)

const searchConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: ["*"]}
      carol: {token: carol-token, capabilities: [chat]}
      eve: {token: eve-token, capabilities: [observe]}
`

// search searches as a participant. It waits while the index is being built.
func (v *visit) search(who, query string) (r api.SearchResult) {
	v.t.Helper()
	for {
		resp := v.do(http.MethodGet, "/api/spaces/lab/search?"+query, who, nil)
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			v.t.Fatal(err)
		}
		if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" {
			continue // it has waited
		}
		if resp.StatusCode != http.StatusOK {
			v.t.Fatalf("%s: %s %s", query, resp.Status, body)
		}
		if err := schemas.Document("http/search", body); err != nil {
			v.t.Fatalf("%v\n%s", err, body)
		}
		if err := json.Unmarshal(body, &r); err != nil {
			v.t.Fatal(err)
		}
		if r.Indexed >= r.Head {
			return r
		}
	}
}

func ids(r api.SearchResult) string {
	var list []string
	for _, h := range r.Hits {
		list = append(list, string(h.ID))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestSearch_HTTP: chats, reasoning, arguments and results are found by participants that may
// see them, filtered, in pages, before and after a restart.
func TestSearch_HTTP(t *testing.T) {
	v := &visit{t, meuptest.Start(t, searchConfig)}
	for _, line := range []logLine{
		{ID: "m1", From: "alice", Kind: "chat", Payload: json.RawMessage(`{"message":"Where is the Übersicht of invoices?"}`)},
		{ID: "c1", From: "bob", Kind: "reasoning.start", Answers: json.RawMessage(`"m1"`), Payload: json.RawMessage(`{"message":"Finding invoices"}`)},
		{ID: "r1", From: "bob", Kind: "mcp.request", Context: "c1", To: json.RawMessage(`["bob"]`), Payload: json.RawMessage(`{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"invoices/march.csv"}}}`)},
		{ID: "a1", From: "bob", Kind: "mcp.response", Context: "c1", Answers: json.RawMessage(`"r1"`), To: json.RawMessage(`["bob"]`), Payload: json.RawMessage(`{"result":{"content":[{"type":"text","text":"<em>total</em> invoices: 42"}]}}`)},
		{ID: "m2", From: "alice", Kind: "chat", To: json.RawMessage(`["bob"]`), Payload: json.RawMessage(`{"message":"the invoices are secret"}`)},
	} {
		if !v.post(line) {
			t.Fatal(line.ID)
		}
	}
	for round := range 2 {
		for _, c := range []struct{ who, query, want string }{
			{"alice", "q=invoices", "c1 m1 m2"}, {"bob", "q=invoices", "a1 c1 m1 m2 r1"}, {"carol", "q=invoices", "c1 m1"},
			{"eve", "q=invoices", "a1 c1 m1 m2 r1"}, {"carol", "q=secret", ""}, {"carol", "q=invoices&from=bob", "c1"},
			{"bob", "q=invoices&kinds=mcp/*", "a1 r1"}, {"bob", "q=invoices&context=c1", "a1 r1"}, {"bob", "q=invoices&main=true", "c1 m1 m2"},
			{"bob", "q=uber*", "m1"}, {"bob", "q=%22march+csv%22", "r1"}, {"bob", "q=invoices+-total&kinds=mcp.*", "r1"},
			{"bob", "q=where+total&match=any", "a1 m1"}, {"bob", "q=invoices+total&match=auto", "a1"}, {"carol", "q=finding+secret+total&match=auto", "c1"},
			{"bob", "q=" + strings.Repeat("nothing+", 100) + "42&match=auto", "a1"},
			{"bob", "q=read_file", "r1"}, {"bob", "q=42", "a1"}, {"bob", "q=invoices&until=2020-01-01", ""}, {"bob", "q=invoices&since=2020-01-01T00:00:00Z&before=2", "m1"},
		} {
			t.Run(fmt.Sprint(round, " ", c.who, " ", c.query), func(t *testing.T) {
				if got := ids((&visit{t, v.g}).search(c.who, c.query)); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		}
		if first, second := v.search("bob", "q=invoices+total&match=auto").Match, v.search("bob", "q=invoices+nowhere&match=auto").Match; first != api.MatchAll || second != api.MatchAny {
			t.Errorf("match %q and %q", first, second)
		}
		first := v.search("bob", "q=invoices&limit=2")
		second := v.search("bob", "q=invoices&limit=3&cursor="+url.QueryEscape(first.Next))
		if len(first.Hits) != 2 || !first.HasMore || len(second.Hits) != 3 || second.HasMore {
			t.Errorf("pages: %+v, %+v", first, second)
		}
		total := v.search("bob", "q=total").Hits[0]
		if want := []api.SnippetPart{{Text: "<em>"}, {Text: "total", Match: true}, {Text: "</em> invoices: 42"}}; !slices.Equal(total.Snippet.Parts, want) || total.Snippet.Path != "/result/content/0/text" {
			t.Errorf("%+v", total.Snippet)
		}
		v.g.Restart()
	}
	for _, query := range []string{"", "q=", "q=-x", "q=x&since=yesterday", "q=x&limit=0", "q=x&match=some", "q=x&match=", "q=" + strings.Repeat("x", 4097) + "&match=any", "q=" + strings.Repeat("nothing+", 17), "q=x&cursor=AAAA", "q=x&kinds=" + url.QueryEscape("/(/")} {
		if resp := v.do(http.MethodGet, "/api/spaces/lab/search?"+query, "bob", nil); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", query, resp.Status)
		}
	}
}
