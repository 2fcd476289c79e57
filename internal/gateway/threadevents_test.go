package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const threadSpace = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*", observe]}
      bob: {token: bob-token, capabilities: ["*"]}
      planner: {token: planner-token, capabilities: ["*"]}
      files: {token: files-token, capabilities: ["*"]}
`

// said sends envelopes, "FROM {…}" each.
func said(t *testing.T, g *meuptest.Gateway, lines ...string) {
	t.Helper()
	for _, line := range lines {
		from, text, _ := strings.Cut(line, " ")
		resp := (&visit{t: t, g: g}).do(http.MethodPost, "/api/spaces/lab/envelopes", from, strings.NewReader(text))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", line, resp.Status)
		}
	}
}

// threadEvents returns the events of a thread after a position up to the first one for which
// last returns true, as lines, and their ids.
func threadEvents(t *testing.T, c *api.Client, thread protocol.ID, after string, last func(*api.ThreadEvent) bool) (lines, ids []string) {
	t.Helper()
	for e, err := range c.ThreadEvents(testkit.Deadline(t), "lab", thread, after) {
		if err != nil {
			t.Fatalf("%v after %q", err, lines)
		}
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprint(e.Question, e.Turn, " ", e.Type, " ", e.From, " ", e.Ref, " ", e.State, " ", e.Text)), " "))
		ids = append(ids, e.ID)
		if last(e) {
			break
		}
	}
	return lines, ids
}

func isEnd(turn int) func(*api.ThreadEvent) bool {
	return func(e *api.ThreadEvent) bool { return e.Type == api.EventEnded && e.Turn == turn }
}

var aThread = []string{
	`alice {"id":"q","kind":"chat","payload":{"message":"why?"}}`,
	`planner {"id":"s","kind":"reasoning.start","correlationId":"q","payload":{"message":"I look"}}`,
	`planner {"id":"t","kind":"reasoning.thought","context":"s","payload":{"message":"the files know"}}`,
	`planner {"id":"hidden","kind":"reasoning.thought","context":"s","to":["files"],"payload":{"message":"for files alone"}}`,
	`planner {"id":"c","kind":"mcp.request","to":["files"],"context":"s","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}}`,
	`files {"id":"r","kind":"mcp.response","to":["planner"],"correlationId":"c","payload":{"jsonrpc":"2.0","id":1,"result":{"content":[]}}}`,
	`planner {"id":"p","kind":"mcp.proposal","context":"s","payload":{"method":"tools/call","params":{"name":"write","arguments":{}},"participant_id":"files"}}`,
	`bob {"id":"no","kind":"mcp.reject","correlationId":"p","payload":{"reason":"unsafe"}}`,
	`bob {"id":"other","kind":"chat","payload":{"message":"another thread"}}`,
	// In one request: without its answer, the turn ends a moment after its conclusion.
	`planner [{"id":"e","kind":"reasoning.conclusion","context":"s","payload":{"message":"because"}},
		{"id":"a","kind":"chat","correlationId":"q","payload":{"message":"because of that"}}]`,
	`bob {"id":"q2","kind":"chat","correlationId":"a","payload":{"message":"really?"}}`,
	`planner {"id":"a2","kind":"chat","correlationId":"q2","payload":{"message":"yes"}}`,
}

var itsEvents = []string{
	"q1 asked alice why?", "q1 opened planner I look", "q1 thought planner the files know", "q1 thought planner for files alone", "q1 called planner c", "q1 returned files c", "q1 proposed planner p",
	"q1 settled bob p rejected unsafe", "q1 closed planner because", "q1 answered planner because of that", "q1 ended completed because of that",
	"q22 asked bob really?", "q22 answered planner yes", "q22 ended completed yes",
}

// A reader gets the past of a thread; after any of its events it goes on without loss or
// repetition.
func TestThreadEvents_Past(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, threadSpace)
	said(t, g, aThread...)
	alice := g.API(t, "alice")
	all, ids := threadEvents(t, alice, "q", "", isEnd(2))
	if !slices.Equal(all, itsEvents) {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(itsEvents, "\n"))
	}
	for i, id := range ids[:len(ids)-1] {
		if rest, _ := threadEvents(t, alice, "q", id, isEnd(2)); !slices.Equal(rest, itsEvents[i+1:]) {
			t.Errorf("after %q (%s):\n%s", id, all[i], strings.Join(rest, "\n"))
		}
	}
	g.Restart()
	if again, sameIDs := threadEvents(t, g.API(t, "alice"), "q", "", isEnd(2)); !slices.Equal(again, all) || !slices.Equal(sameIDs, ids) {
		t.Errorf("after a restart:\n%s", strings.Join(again, "\n"))
	}
}

// What happens while a reader is connected arrives as it happens, also text that grows and the
// next question. A turn whose only context has a conclusion ends without an answer.
func TestThreadEvents_Live(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, threadSpace)
	said(t, g, `alice {"id":"q","kind":"chat","payload":{"message":"why?"}}`)
	next := map[string][]string{
		api.EventAsked:        {`planner {"id":"s","kind":"reasoning.start","correlationId":"q","payload":{}}`, `planner {"id":"o","kind":"stream.open","context":"s","payload":{"stream_id":"one"}}`},
		api.EventStreamOpened: {`planner {"id":"d","kind":"stream.data","context":"s","payload":{"stream_id":"one","data":"hm"}}`},
		api.EventDelta: {
			`planner {"id":"e","kind":"stream.close","context":"s","payload":{"stream_id":"one"}}`, `planner {"id":"c","kind":"reasoning.conclusion","context":"s","payload":{"message":"done"}}`,
		},
		api.EventEnded: {`alice {"id":"q2","kind":"chat","correlationId":"q","payload":{"message":"sure?"}}`, `alice {"id":"w","kind":"chat.cancel","correlationId":"q2","payload":{"reason":"never mind"}}`},
	}
	lines, _ := threadEvents(t, g.API(t, "bob"), "q", "", func(e *api.ThreadEvent) bool {
		if e.Turn == 1 {
			said(t, g, next[e.Type]...)
		}
		return isEnd(2)(e)
	})
	want := []string{
		"q1 asked alice why?", "q1 opened planner", "q1 stream-opened planner one", "q1 delta planner one hm", "q1 stream-closed planner one", "q1 closed planner done",
		"q1 ended completed done", "q22 asked alice sure?", "q22 ended withdrawn never mind",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// A reader gets the events of what it may see. A proposal tells it whether it may decide, and
// has the exact call.
func TestThreadEvents_Audience(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, threadSpace+"      carol: {token: carol-token, capabilities: [chat]}\n")
	said(t, g, aThread...)
	for who, sees := range map[string]bool{"alice": true, "carol": false} {
		lines, _ := threadEvents(t, g.API(t, who), "q", "", func(e *api.ThreadEvent) bool {
			if e.Type == api.EventProposed {
				if p, err := protocol.DecodeDelivered(e.Envelope); err != nil || p.ID != "p" || e.MayDecide != sees {
					t.Errorf("%s: %v %s %v", who, e.MayDecide, e.Envelope, err)
				}
			}
			return e.Type == api.EventEnded
		})
		if text := strings.Join(lines, "\n"); strings.Contains(text, "for files alone") != sees || !strings.Contains(text, "proposed planner p") {
			t.Errorf("%s:\n%s", who, text)
		}
	}
}

// A thread that the reader may not see does not exist for it.
func TestThreadEvents_Refused(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, threadSpace)
	said(t, g, `alice {"id":"private","kind":"chat","to":["planner"],"payload":{"message":"psst"}}`)
	for _, test := range []struct {
		who, thread, after string
		status             int
	}{{"bob", "private", "", 404}, {"planner", "none", "", 404}, {"planner", "private", "x", 400}, {"planner", "private", "1.-1", 400}, {"planner", "private", "1.x", 400}} {
		for _, err := range g.API(t, test.who).ThreadEvents(testkit.Deadline(t), "lab", protocol.ID(test.thread), test.after) {
			var refused *api.StatusError
			if !errors.As(err, &refused) || refused.Status != test.status {
				t.Errorf("%+v: %v", test, err)
			}
			break
		}
	}
}

// A reader is connected until it hangs up.
func TestThreadEvents_HangsUp(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, threadSpace)
	said(t, g, `alice {"id":"q","kind":"chat","payload":{"message":"why?"}}`)
	watch := g.API(t, "alice")
	ctx, cancel := context.WithCancel(testkit.Deadline(t))
	defer cancel()
	left := make(chan error, 1)
	joined := make(chan struct{})
	go func() { // ends with ctx
		left <- watch.Events(ctx, "lab", api.EnvelopeQuery{}, func(e *api.Event) bool {
			if e.Name == "system" {
				close(joined)
			}
			return e.Name != "presence" || !strings.Contains(string(e.Data), `"leave"`) || !strings.Contains(string(e.Data), `"bob"`)
		})
	}()
	<-joined
	threadEvents(t, g.API(t, "bob"), "q", "", func(*api.ThreadEvent) bool { return true })
	if err := <-left; err != nil {
		t.Error(err)
	}
	resp := (&visit{t: t, g: g}).do(http.MethodHead, "/api/spaces/lab/threads/q/events", "bob", nil)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Error(resp.Status)
	}
}

// The events of a thread have the answers and the calls of its turns, in the conversations of
// the turns tests. They also have calls that are no decision of an agent.
func TestThreadEvents_AgreeWithHistory(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../turns/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			lines := append(logOf(t, file), logLine{From: "marker"})
			v := &visit{t: t, g: meuptest.Start(t, spaceOf(lines))}
			for _, line := range lines[:len(lines)-1] {
				v.post(line)
			}
			auditor := v.g.API(t, "auditor")
			threads, err := auditor.Threads(t.Context(), "lab", 100, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, thread := range threads.Threads {
				history, err := auditor.History(t.Context(), "lab", thread.ThreadID, api.Page{})
				if err != nil {
					t.Fatal(err)
				}
				mark := "mark-" + string(thread.ThreadID)
				said(t, v.g, fmt.Sprintf(`marker {"id":%q,"kind":"chat","correlationId":%q,"payload":{"message":"the end"}}`, mark, thread.ThreadID))
				compareTurns(t, auditor, history, protocol.ID(mark))
			}
		})
	}
}

// compareTurns compares the events of a thread up to a question with its history before it.
func compareTurns(t *testing.T, c *api.Client, history *api.History, until protocol.ID) {
	t.Helper()
	answers, calls, asked := make(map[int][]string), make(map[int][]string), make(map[int]protocol.ID)
	var chats []string // that answer and ask
	threadEvents(t, c, history.ThreadID, "", func(e *api.ThreadEvent) bool {
		var env protocol.Envelope
		if e.Envelope != nil {
			var err error
			env, err = protocol.DecodeDelivered(e.Envelope)
			if err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case e.Type == api.EventAsked:
			asked[e.Turn] = env.ID
			chats = append(chats, string(e.From)+": "+e.Text)
		case e.Type == api.EventAnswered && e.From != "marker":
			answers[e.Turn] = append(answers[e.Turn], string(e.From)+": "+e.Text)
		case e.Type == api.EventCalled && env.ParsePayload().Get("method").EqualText("tools/call"), e.Type == api.EventProposed && env.ParsePayload().Get("method").EqualText("tools/call"):
			calls[e.Turn] = append(calls[e.Turn], string(env.ID))
		}
		return e.Question == until
	})
	for i := range history.Turns {
		turn := &history.Turns[i]
		var wantAnswers, wantCalls []string
		for _, r := range turn.Responses {
			wantAnswers = append(wantAnswers, string(r.From)+": "+r.Text)
		}
		if len(turn.Responses) == 0 && turn.Response != nil {
			wantAnswers = append(wantAnswers, string(turn.ResponseFrom)+": "+*turn.Response)
		}
		for _, r := range turn.AllReasonings() {
			for j := range r.ToolDecisions {
				wantCalls = append(wantCalls, string(r.ToolDecisions[j].CallID))
			}
		}
		got := slices.DeleteFunc(answers[turn.TurnNumber], func(text string) bool { return slices.Contains(chats, text) })
		wantCalls = slices.DeleteFunc(wantCalls, func(id string) bool { return slices.Contains(calls[turn.TurnNumber], id) })
		if asked[turn.TurnNumber] != turn.MessageID || !slices.Equal(got, wantAnswers) || len(wantCalls) > 0 {
			t.Errorf("turn %d of %s: events %s %q, history %s %q; no events of %q", turn.TurnNumber, history.ThreadID, asked[turn.TurnNumber], got, turn.MessageID, wantAnswers, wantCalls)
		}
	}
}
