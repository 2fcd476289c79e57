package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/schemas"
)

// TestTurnAnswers sends the conversations of the turns tests to a real gateway,
// and checks its responses and events against the published schemas.
func TestTurnAnswers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../turns/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations")
	}
	var told atomic.Int64
	t.Cleanup(func() {
		if told.Load() == 0 {
			t.Error("no step was told of")
		}
	})
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			told.Add(int64(answersOf(t, file)))
		})
	}
}

// spaceOf returns a configuration with the senders of a log, and an auditor.
func spaceOf(lines []logLine) string {
	yaml := "spaces:\n  lab:\n    participants:\n      auditor: {token: auditor-token, capabilities: [observe]}\n"
	seen := map[string]bool{"auditor": true}
	for _, line := range lines {
		if !seen[line.From] {
			yaml += fmt.Sprintf("      %s: {token: %s-token, capabilities: [\"*\"]}\n", line.From, line.From)
		}
		seen[line.From] = true
	}
	return yaml
}

// A stream that resumes after a reload, or after a restart, receives the same
// updates of turns and jobs as before.
func TestUpdates_AfterReload(t *testing.T) {
	t.Parallel()
	lines := logOf(t, "../turns/testdata/foreign.txtar")
	yaml := spaceOf(lines)
	v := &visit{t: t, g: meuptest.Start(t, yaml)}
	for _, line := range lines {
		if !v.post(line) {
			t.Fatal("not admitted")
		}
	}
	resume := func(query string) string {
		v.get("/api/spaces/lab/threads", "threads", nil) // so that the log has been applied
		resp := v.do(http.MethodGet, "/api/spaces/lab/events?since=0&observe=true"+query, "auditor", nil)
		defer resp.Body.Close()
		var updates strings.Builder
		body := bufio.NewScanner(resp.Body)
		for name, id := "", ""; body.Scan() && (name != "envelope" || id != fmt.Sprint(len(lines))); {
			switch field, value, _ := strings.Cut(body.Text(), ": "); {
			case field == "event":
				name = value
			case field == "id":
				id = value
			case field == "data" && (name == "reasoning_update" || name == "job_reasoning"):
				fmt.Fprintln(&updates, id, value)
			}
		}
		return updates.String()
	}
	before := resume("")
	if !strings.Contains(before, "reasoning_update") || !strings.Contains(before, "job_reasoning") {
		t.Fatalf("before: %s", before)
	}
	if without := resume("&updates=false"); without != "" {
		t.Errorf("without updates:\n%s", without)
	}
	resp := v.do(http.MethodGet, "/api/spaces/lab/events?updates=maybe", "auditor", nil)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("updates=maybe: %s", resp.Status)
	}
	v.g.Reload(yaml)
	if after := resume(""); after != before {
		t.Errorf("after a reload:\n%s\nwant\n%s", after, before)
	}
	v.g.Restart()
	if after := resume(""); after != before {
		t.Errorf("after a restart:\n%s\nwant\n%s", after, before)
	}
}

// A participant that may not see an envelope receives the same response as for
// one that does not exist.
func TestTurnOfEnvelope_NotVisible(t *testing.T) {
	t.Parallel()
	lines := logOf(t, "../turns/testdata/private.txtar")
	v := &visit{t: t, g: meuptest.Start(t, spaceOf(lines))}
	for _, line := range lines {
		v.post(line)
	}
	for _, test := range []struct {
		who, id string
		status  int
	}{{"alice", "q2", 200}, {"planner", "r1", 200}, {"bob", "w1", 200}, {"bob", "q2", 404}, {"bob", "r1", 404}, {"bob", "none", 404}} {
		t.Run(test.who+" "+test.id, func(t *testing.T) {
			t.Parallel()
			if resp := v.do(http.MethodGet, "/api/spaces/lab/envelopes/"+test.id+"/turn", test.who, nil); resp.StatusCode != test.status {
				t.Errorf("got %s, want %d", resp.Status, test.status)
			}
		})
	}
}

func answersOf(t *testing.T, file string) (told int) {
	lines := logOf(t, file)
	v := &visit{t: t, g: meuptest.Start(t, spaceOf(lines))}
	events := v.listen()
	admitted := 0
	for _, line := range lines {
		if v.post(line) {
			admitted++
		}
	}
	var threads struct {
		Threads []struct {
			ThreadID string `json:"thread_id"`
		}
	}
	v.get("/api/spaces/lab/threads", "threads", &threads)
	for _, th := range threads.Threads {
		v.get("/api/chat/history?thread_id="+url.QueryEscape(th.ThreadID), "history", nil)
		v.get("/api/spaces/lab/threads/"+url.PathEscape(th.ThreadID), "history", nil)
	}
	var jobs struct {
		Jobs []struct {
			JobID string `json:"job_id"`
		}
	}
	v.get("/api/spaces/lab/jobs", "jobs", &jobs)
	for _, j := range jobs.Jobs {
		v.get("/api/chat/history?job_id="+url.QueryEscape(j.JobID), "job", nil)
		v.get("/api/spaces/lab/jobs/"+url.PathEscape(j.JobID), "job", nil)
	}
	for _, id := range sessionsOf(v) {
		v.get("/api/chat/history?session_id="+url.QueryEscape(id), "session", nil)
		v.get("/api/spaces/lab/sessions/"+url.PathEscape(id)+"?limit=2", "session", nil)
	}
	turns := 0
	for _, line := range lines {
		if line.ID != "" && v.get("/api/spaces/lab/envelopes/"+url.PathEscape(line.ID)+"/turn", "turn", nil) {
			turns++
		}
	}
	if len(threads.Threads) > 0 && turns == 0 {
		t.Error("no envelope has a turn")
	}
	return events.readUpTo(admitted)
}

// sessionsOf returns the sessions of all threads and jobs.
func sessionsOf(v *visit) (ids []string) {
	var all struct {
		Threads, Jobs []struct {
			SessionID string `json:"session_id"`
		}
	}
	v.get("/api/spaces/lab/threads", "threads", &all)
	v.get("/api/spaces/lab/jobs", "jobs", &all)
	for _, x := range slices.Concat(all.Threads, all.Jobs) {
		ids = append(ids, x.SessionID)
	}
	return ids
}

// logLine is an envelope of a conversation.
type logLine struct {
	ID      string          `json:"id,omitempty"`
	From    string          `json:"-"`
	To      json.RawMessage `json:"to,omitempty"`
	Kind    string          `json:"kind"`
	Answers json.RawMessage `json:"correlationId,omitempty"`
	Context string          `json:"context,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

var plainName = regexp.MustCompile(`^[a-z]+$`)

func logOf(t *testing.T, file string) []logLine {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []logLine
	for _, f := range archive.Files {
		if f.Name != "log" {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			said := struct {
				logLine
				From string
			}{}
			if err := json.Unmarshal([]byte(line), &said); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if !plainName.MatchString(said.From) {
				continue // a gateway admits no participant of that name
			}
			said.logLine.From = said.From
			list = append(list, said.logLine)
		}
	}
	return list
}

// visit is an auditor's connection to a gateway.
type visit struct {
	t *testing.T
	g *meuptest.Gateway
}

func (v *visit) do(method, path, who string, body io.Reader) *http.Response {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.g.HTTP()+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+who+"-token")
	transport := &http.Transport{}
	v.t.Cleanup(transport.CloseIdleConnections)
	resp, err := transport.RoundTrip(r)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// post sends a line, and reports whether it was admitted.
func (v *visit) post(line logLine) bool {
	v.t.Helper()
	body, err := json.Marshal(line)
	if err != nil {
		v.t.Fatal(err)
	}
	resp := v.do(http.MethodPost, "/api/spaces/lab/envelopes", line.From, bytes.NewReader(body))
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		v.t.Logf("%s is refused: %s", body, text)
	}
	return resp.StatusCode == http.StatusOK
}

// get requests a resource, checks it against its schema, and reports whether it
// exists.
func (v *visit) get(path, schema string, into any) bool {
	v.t.Helper()
	resp := v.do(http.MethodGet, path, "auditor", nil)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	if resp.StatusCode == http.StatusNotFound {
		return false
	}
	if resp.StatusCode != http.StatusOK {
		v.t.Fatalf("%s: %s %s", path, resp.Status, body)
	}
	if err := schemas.Document("turns/"+schema, body); err != nil {
		v.t.Errorf("%s: %v\n%s", path, err, body)
	}
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			v.t.Error(err)
		}
	}
	return true
}

// eventReader reads the events of a space.
type eventReader struct {
	t    *testing.T
	body *bufio.Scanner
	stop func() error
}

func (v *visit) listen() *eventReader {
	v.t.Helper()
	resp := v.do(http.MethodGet, "/api/spaces/lab/events?observe=true", "auditor", nil)
	if resp.StatusCode != http.StatusOK {
		v.t.Fatal(resp.Status)
	}
	r := &eventReader{t: v.t, body: bufio.NewScanner(resp.Body), stop: resp.Body.Close}
	r.body.Buffer(nil, 8<<20)
	return r
}

// readUpTo reads events up to the newest envelope, and checks the turn
// events against their schema. It returns their number.
func (r *eventReader) readUpTo(envelopes int) (told int) {
	r.t.Helper()
	defer r.stop() //nolint:errcheck // it was read
	name := ""
	for heard := 0; heard < envelopes && r.body.Scan(); {
		field, value, _ := strings.Cut(r.body.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			switch name {
			case "envelope":
				heard++
			case "reasoning_update", "job_reasoning":
				told++
				if err := schemas.Document("turns/"+name, []byte(value)); err != nil {
					r.t.Errorf("%v\n%s", err, value)
				}
			}
		}
	}
	if err := r.body.Err(); err != nil {
		r.t.Error(err)
	}
	return told
}

// TestTurns_DocumentedCall: the asker sees the call of the documentation's example
// and its result. Without the correlation of its thought, neither is visible to
// the asker, although the context is about its question; nor is either to others.
func TestTurns_DocumentedCall(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/protocol/write-an-agent.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Call tools\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var example []map[string]any
	for block := range strings.SplitSeq(section, "```json\n") {
		if text, _, ended := strings.Cut(block, "```"); ended {
			var e map[string]any
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				t.Fatal(err)
			}
			example = append(example, e)
		}
	}
	if len(example) != 2 {
		t.Fatalf("the section has %d examples, want a thought and a request", len(example))
	}
	for name, correlated := range map[string]bool{"as documented": true, "without the correlation": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &visit{t: t, g: meuptest.Start(t, `spaces:
  lab:
    participants:
      asker: {token: asker-token, capabilities: [chat]}
      bystander: {token: bystander-token, capabilities: [chat]}
      planner: {token: planner-token, capabilities: [chat, "reasoning/*", mcp.request]}
      files: {token: files-token, capabilities: [mcp.response]}
`)}
			thought := maps.Clone(example[0])
			if !correlated {
				delete(thought, "correlationId")
			}
			for _, sent := range []struct {
				from     string
				envelope any
			}{
				{"asker", json.RawMessage(`{"id": "q", "kind": "chat", "payload": {"message": "what is the total?"}}`)},
				{"planner", json.RawMessage(`{"id": "r-1", "kind": "reasoning.start", "correlationId": "q", "payload": {"message": "I look"}}`)},
				{"planner", thought},
				{"planner", example[1]},
				{"files", json.RawMessage(`{"id": "a-1", "kind": "mcp.response", "to": ["planner"], "correlationId": "c-1", "payload": {"id": 1, "result": {"content": [{"type": "text", "text": "Total: 42"}]}}}`)},
			} {
				body, err := json.Marshal(sent.envelope)
				if err != nil {
					t.Fatal(err)
				}
				if resp := v.do(http.MethodPost, "/api/spaces/lab/envelopes", sent.from, bytes.NewReader(body)); resp.StatusCode != http.StatusOK {
					t.Fatalf("%s: %s", body, resp.Status)
				}
			}
			for _, who := range []string{"asker", "bystander", "planner"} {
				sees := who == "planner" || who == "asker" && correlated
				for path, want := range map[string]string{
					"/api/chat/history?thread_id=q": `"tool_name":"read_file"`, "/api/spaces/lab/envelopes": "Total: 42",
				} {
					body, err := io.ReadAll(v.do(http.MethodGet, path, who, nil).Body)
					if err != nil || strings.Contains(string(body), want) != sees || strings.Contains(string(body), "invoice.txt") != sees {
						t.Errorf("%s: %s sees the call: %t, want %t: %v\n%s", path, who, !sees, sees, err, body)
					}
				}
			}
		})
	}
}
