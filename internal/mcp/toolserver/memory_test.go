package toolserver

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// recorded is a Memory that records its queries and returns prepared results.
type recorded struct {
	Memory
	queries []api.SearchQuery
	results []*api.SearchResult
	err     error
}

func (m *recorded) Search(_ context.Context, _ string, q api.SearchQuery) (*api.SearchResult, error) {
	m.queries = append(m.queries, q)
	if m.err != nil {
		return nil, m.err
	}
	if len(m.results) == 0 {
		return nil, errBusy
	}
	r := m.results[0]
	m.results = m.results[1:]
	return r, nil
}

var errBusy = protocol.Errorf(protocol.CodeRateLimited, "Too many searches.")

func hits(ids ...protocol.ID) (list []api.SearchHit) {
	for _, id := range ids {
		list = append(list, api.SearchHit{ID: id, Kind: protocol.KindChat, From: "ann"})
	}
	return list
}

func search(t *testing.T, o MemoryOptions, args map[string]any) (text string, isError bool) {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	server, err := NewMemory(o).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Wait()
	})
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: searchTool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

func TestSearch_Before(t *testing.T) {
	m := &recorded{results: []*api.SearchResult{
		{Match: api.MatchAll, Hits: hits("m1"), HasMore: true, Next: "abc"}, {Match: api.MatchAll, Hits: hits("m2")},
	}}
	o := MemoryOptions{Memory: m, Space: "lab", Before: func() protocol.Seq { return 7 }}
	text, _ := search(t, o, map[string]any{"query": "zebra"})
	if !strings.Contains(text, "id m1") || !strings.Contains(text, "More with cursor abc") {
		t.Error(text)
	}
	if q := m.queries[0]; q.Before != 7 || q.Match != api.MatchAuto || q.Limit != defaultHits || len(m.queries) != 1 {
		t.Errorf("%+v", m.queries)
	}
	text, _ = search(t, o, map[string]any{"query": "zebra", "cursor": "abc"})
	if q := m.queries[1]; q.Before != 0 || q.Cursor != "abc" || len(m.queries) != 2 || !strings.Contains(text, "id m2") {
		t.Errorf("%s %+v", text, m.queries)
	}
}

// A page of hits with all words is filled with hits of some words, each once.
func TestSearch_Fills(t *testing.T) {
	m := &recorded{results: []*api.SearchResult{
		{Match: api.MatchAll, Hits: hits("m1", "m2")}, {Match: api.MatchAny, Hits: hits("m2", "m3", "m1", "m4"), HasMore: true, Next: "abc", Partial: true},
	}}
	text, _ := search(t, MemoryOptions{Memory: m, Space: "lab"}, map[string]any{"query": "zebra attic", "limit": 3})
	_, some, found := strings.Cut(text, "These have some of the words:")
	if !found || !strings.Contains(some, "id m3") || strings.Contains(some, "id m2") || strings.Contains(some, "id m4") || strings.Contains(some, "cursor") || !strings.Contains(some, "Incomplete") {
		t.Error(text)
	}
	if q := m.queries[1]; q.Match != api.MatchAny || q.Text != "zebra attic" || q.Limit != 3 {
		t.Errorf("%+v", q)
	}
}

// Hits with all words are returned also if the search for others is refused.
func TestSearch_FillRefused(t *testing.T) {
	m := &recorded{results: []*api.SearchResult{{Match: api.MatchAll, Hits: hits("m1")}}}
	text, isError := search(t, MemoryOptions{Memory: m, Space: "lab"}, map[string]any{"query": "zebra attic"})
	if isError || !strings.Contains(text, "id m1") || !strings.Contains(text, "Not searched for envelopes with some of the words: ") || !strings.Contains(text, "Too many searches.") {
		t.Error(isError, text)
	}
}

// While the index is being built, the result is an error that asks to try again.
func TestSearch_Unavailable(t *testing.T) {
	m := &recorded{err: protocol.Errorf(protocol.CodeUnavailable, "The search index of this space is being built, 40 %% of the log is read; try again in a moment.")}
	if text, isError := search(t, MemoryOptions{Memory: m, Space: "lab"}, map[string]any{"query": "zebra"}); !isError || !strings.Contains(text, "being built, 40 %") {
		t.Error(isError, text)
	}
}

// Arguments that would not fit in an address are refused before a request.
func TestSearch_LongArguments(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, value := range map[string]any{"query": long, "cursor": long, "context": long, "since": long, "from": slices.Repeat([]string{"ann"}, 65), "kinds": slices.Repeat([]string{"chat"}, 65)} {
		t.Run(name, func(t *testing.T) {
			m := new(recorded)
			text, isError := search(t, MemoryOptions{Memory: m, Space: "lab"}, map[string]any{"query": "zebra", name: value})
			if !isError || !strings.Contains(text, name) || !strings.Contains(text, "expected") || len(text) > 200 || len(m.queries) > 0 {
				t.Errorf("%v %.300s", isError, text)
			}
		})
	}
}
