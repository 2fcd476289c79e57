package ask_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const config = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*", observe]}
      bob: {token: bob-token, capabilities: ["*"]}
      planner: {token: planner-token, capabilities: ["*"]}
      files: {token: files-token, capabilities: ["*"]}
`

// room is a space with participants over HTTP.
type room struct {
	t       *testing.T
	g       *meuptest.Gateway
	clients map[string]*api.Client
	asked   ask.Question
}

func newRoom(t *testing.T) *room {
	t.Helper()
	r := &room{t: t, g: meuptest.Start(t, config), clients: make(map[string]*api.Client)}
	for _, name := range []string{"alice", "bob", "planner", "files"} {
		c, err := api.New(api.Options{URL: r.g.HTTP(), Token: name + "-token"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		r.clients[name] = c
	}
	return r
}

// send publishes an envelope; to and correlation may be empty.
func (r *room) send(from, id, kind, to, correlation, within, payload string) protocol.Seq {
	r.t.Helper()
	e := protocol.Envelope{ID: protocol.ID(id), Kind: protocol.Kind(kind), Context: protocol.ContextPath(within), Payload: json.RawMessage(payload)}
	if to != "" {
		e.To = []protocol.ParticipantID{protocol.ParticipantID(to)}
	}
	if correlation != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(correlation))
	}
	receipt, err := r.clients[from].Send(context.Background(), "lab", e)
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt.Seq
}

// ask publishes the question q of alice.
func (r *room) ask(to string) {
	r.t.Helper()
	r.asked = ask.Question{Space: "lab", ID: "q", From: "alice", Seq: r.send("alice", "q", "chat", to, "", "", `{"message":"why?"}`)}
	if to != "" {
		r.asked.To = []protocol.ParticipantID{protocol.ParticipantID(to)}
	}
}

// follow returns the events of the question as lines; each may act on one.
func (r *room) follow(each func(*ask.Event)) []string {
	r.t.Helper()
	var list []string
	err := ask.Follow(r.t.Context(), r.clients["alice"], r.asked, func(e *ask.Event) bool {
		list = append(list, strings.TrimSpace(strings.Join([]string{string(e.Type), string(e.Ref), e.State, e.Text}, " ")))
		if each != nil {
			each(e)
		}
		return true
	})
	if err != nil {
		r.t.Fatalf("%v after %q", err, list)
	}
	return list
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A whole turn, with work of others around it that belongs to no event.
func TestFollow_Turn(t *testing.T) {
	r := newRoom(t)
	r.ask("")
	r.send("bob", "x", "chat", "files", "", "", `{"message":"unrelated"}`)
	r.send("bob", "ctx", "reasoning.start", "", "x", "", `{"message":"another"}`)
	r.send("bob", "x1", "reasoning.thought", "", "", "ctx", `{"message":"of another"}`)
	r.send("planner", "s", "reasoning.start", "", "q", "", `{"message":"thinking about it"}`)
	r.send("planner", "t", "reasoning.thought", "", "", "s", `{"message":"hm"}`)
	r.send("planner", "call", "mcp.request", "files", "", "s", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}`)
	r.send("bob", "forged", "mcp.response", "planner", "call", "", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	r.send("files", "r", "mcp.response", "planner", "call", "", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	r.send("planner", "p", "mcp.proposal", "", "", "s", `{"method":"tools/call","params":{"name":"write","arguments":{}}}`)
	r.send("bob", "f", "mcp.request", "files", "p", "", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write","arguments":{}}}`)
	r.send("files", "r2", "mcp.response", "bob", "f", "", `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	r.send("planner", "c", "reasoning.conclusion", "", "", "s", `{"message":"because"}`)
	r.send("planner", "a", "chat", "alice", "q", "", `{"message":"because of that"}`)
	want := []string{
		"opened  thinking about it", "thought  hm", "called call", "returned call", "proposed p", "settled p fulfilled", "returned p",
		"closed  because", "answered  because of that", "ended  completed because of that",
	}
	for i := range want {
		want[i] = strings.Join(strings.Fields(want[i]), " ")
	}
	var seqs []protocol.Seq
	got := r.follow(func(e *ask.Event) { seqs = append(seqs, e.Seq) })
	for i := range got {
		got[i] = strings.Join(strings.Fields(got[i]), " ")
	}
	check(t, got, want...)
	if !slices.IsSorted(seqs) {
		t.Error(seqs)
	}
}

// A turn without an answer ends with its conclusion, or with the reason of its
// cancellation.
func TestFollow_NoAnswer(t *testing.T) {
	r := newRoom(t)
	r.ask("planner")
	r.send("planner", "s", "reasoning.start", "", "q", "", `{"message":"thinking"}`)
	r.send("planner", "c", "reasoning.cancel", "", "", "s", `{"reason":"no model"}`)
	got := r.follow(nil)
	check(t, got, "opened   thinking", "closed   no model", "ended  failed no model")
}

// The chat of a participant that has canceled its contexts says why there is no answer.
// It is an answer if another context of the participant has a conclusion.
func TestFollow_GaveUp(t *testing.T) {
	r := newRoom(t)
	r.ask("planner")
	r.send("planner", "s", "reasoning.start", "", "q", "", `{"message":"thinking"}`)
	r.send("planner", "c", "reasoning.cancel", "", "", "s", `{"reason":"no model"}`)
	chat := r.send("planner", "a", "chat", "", "q", "", `{"message":"I have stopped: no model."}`)
	check(t, r.follow(nil), "opened   thinking", "closed   no model", "answered   I have stopped: no model.", "ended  failed no model")

	r.asked.ID, r.asked.Seq = "q2", chat
	r.send("alice", "q2", "chat", "planner", "", "", `{"message":"why?"}`)
	r.send("planner", "s2", "reasoning.start", "", "q2", "", `{"message":"first"}`)
	r.send("planner", "c2", "reasoning.cancel", "", "", "s2", `{"reason":"the wrong way"}`)
	r.send("planner", "s3", "reasoning.start", "", "q2", "", `{"message":"second"}`)
	r.send("planner", "c3", "reasoning.conclusion", "", "", "s3", `{"message":"done"}`)
	r.send("planner", "a2", "chat", "", "q2", "", `{"message":"because"}`)
	check(t, r.follow(nil), "opened   first", "closed   the wrong way", "opened   second", "closed   done", "answered   because", "ended  completed because")
}

// The asker withdraws the question.
func TestFollow_Withdrawn(t *testing.T) {
	r := newRoom(t)
	r.ask("planner")
	r.send("alice", "c", "chat.cancel", "", "q", "", `{"reason":"never mind"}`)
	check(t, r.follow(nil), "ended  withdrawn never mind")
}

// An answer of one participant does not end the turn while another one that was
// asked reasons.
func TestFollow_OthersReason(t *testing.T) {
	r := newRoom(t)
	r.ask("")
	r.send("planner", "s", "reasoning.start", "", "q", "", `{"message":"thinking"}`)
	r.send("bob", "b", "chat", "", "q", "", `{"message":"I guess so"}`)
	var once sync.Once
	got := r.follow(func(e *ask.Event) {
		if e.Type != ask.Answered {
			return
		}
		once.Do(func() {
			r.send("planner", "c", "reasoning.conclusion", "", "", "s", `{"message":"no"}`)
			r.send("planner", "a", "chat", "", "q", "", `{"message":"no"}`)
		})
	})
	if last := got[len(got)-1]; !strings.HasPrefix(last, "ended") || !slices.Contains(got, "closed   no") {
		t.Errorf("%q", got)
	}
}

// Text that grows arrives as it is written.
func TestFollow_Stream(t *testing.T) {
	r := newRoom(t)
	r.ask("")
	r.send("planner", "s", "reasoning.start", "", "q", "", `{"message":"thinking"}`)
	r.send("planner", "o", "stream.open", "", "", "s", `{"stream_id":"one","description":"thought"}`)
	got := r.follow(func(e *ask.Event) {
		if e.Type != ask.StreamOpened {
			return
		}
		for i := range 3 {
			r.send("planner", fmt.Sprint("d", i), "stream.data", "", "", "s", fmt.Sprintf(`{"stream_id":"one","data":"part %d "}`, i))
		}
		r.send("planner", "e", "stream.close", "", "", "s", `{"stream_id":"one"}`)
		r.send("planner", "c", "reasoning.conclusion", "", "", "s", `{"message":"done"}`)
		r.send("planner", "a", "chat", "", "q", "", `{"message":"done"}`)
	})
	text := ""
	for _, line := range got {
		if delta, ok := strings.CutPrefix(line, "delta one  "); ok {
			text += delta + " "
		}
	}
	if !strings.Contains(text, "part 0") || !strings.Contains(text, "part 2") {
		t.Errorf("%q", got)
	}
}

// An answer that grows arrives as it is written; it opens no context, and the stream of the
// asker is none.
func TestFollow_AnswerStream(t *testing.T) {
	r := newRoom(t)
	r.ask("")
	r.send("planner", "s", "reasoning.start", "", "q", "", `{"message":"thinking"}`)
	r.send("alice", "n", "stream.open", "", "q", "", `{"stream_id":"none"}`)
	r.send("planner", "o", "stream.open", "", "q", "", `{"stream_id":"one","description":"the answer"}`)
	text := ""
	got := r.follow(func(e *ask.Event) {
		if e.Type == ask.Answering {
			text += e.Text
		}
		if e.Type != ask.Opened {
			return
		}
		r.send("alice", "m", "stream.data", "", "q", "", `{"stream_id":"none","data":"mine "}`)
		r.send("planner", "w", "stream.data", "", "q", "", `{"stream_id":"one","data":"\n "}`)
		for i := range 3 {
			r.send("planner", fmt.Sprint("d", i), "stream.data", "", "q", "", fmt.Sprintf(`{"stream_id":"one","data":"part %d "}`, i))
		}
		r.send("planner", "e", "stream.close", "", "q", "", `{"stream_id":"one"}`)
		r.send("planner", "c", "reasoning.conclusion", "", "", "s", `{"message":"done"}`)
		r.send("planner", "a", "chat", "", "q", "", `{"message":"done","stream_id":"one"}`)
	})
	all := strings.Join(got, "\n")
	if !strings.Contains(all, "answering one") || !strings.Contains(all, "part 2") || strings.Contains(all, "mine") || !strings.Contains(all, "ended") {
		t.Errorf("%q, want the parts of the planner's answer and the end", got)
	}
	if want := "\n part 0 part 1 part 2 "; text != want {
		t.Errorf("the text %q, want %q", text, want)
	}
}

// An answer that begins with reasoning is shown when it is complete, without the reasoning.
func TestFollow_MarkedAnswer(t *testing.T) {
	r := newRoom(t)
	r.ask("")
	r.send("planner", "s", "reasoning.start", "", "q", "", `{"message":"thinking"}`)
	r.send("planner", "o", "stream.open", "", "q", "", `{"stream_id":"one"}`)
	var steps []string
	got := r.follow(func(e *ask.Event) {
		steps = append(steps, e.Steps...)
		if e.Type != ask.Opened {
			return
		}
		r.send("planner", "d0", "stream.data", "", "q", "", `{"stream_id":"one","data":"\n"}`)
		r.send("planner", "d1", "stream.data", "", "q", "", `{"stream_id":"one","data":"<thi"}`)
		r.send("planner", "d2", "stream.data", "", "q", "", `{"stream_id":"one","data":"nk>It is late.</think>No."}`)
		r.send("planner", "e", "stream.close", "", "q", "", `{"stream_id":"one"}`)
		r.send("planner", "c", "reasoning.conclusion", "", "", "s", `{}`)
		r.send("planner", "a", "chat", "", "q", "", `{"message":"\n<think>It is late.</think>No.","stream_id":"one"}`)
	})
	if all := strings.Join(got, "\n"); strings.Contains(all, "<thi") || strings.Contains(all, "late") || !strings.Contains(all, "No.") {
		t.Errorf("%q, want the answer alone", got)
	}
	check(t, steps, "It is late.")
}

// An answer whose first piece could begin reasoning grows as soon as it does not.
func TestFollow_AnswerWithBracket(t *testing.T) {
	r := newRoom(t)
	r.ask("")
	r.send("planner", "s", "reasoning.start", "", "q", "", `{"message":"thinking"}`)
	r.send("planner", "o", "stream.open", "", "q", "", `{"stream_id":"one"}`)
	got := r.follow(func(e *ask.Event) {
		if e.Type != ask.Opened {
			return
		}
		for i, data := range []string{`\n`, "<", "th", "> is a header", " cell."} {
			r.send("planner", fmt.Sprint("d", i), "stream.data", "", "q", "", fmt.Sprintf(`{"stream_id":"one","data":"%s"}`, data))
		}
		r.send("planner", "e", "stream.close", "", "q", "", `{"stream_id":"one"}`)
		r.send("planner", "c", "reasoning.conclusion", "", "", "s", `{}`)
		r.send("planner", "a", "chat", "", "q", "", `{"message":"\n<th> is a header cell.","stream_id":"one"}`)
	})
	check(t, got, "opened   thinking", "answering one  \n<th> is a header", "answering one   cell.", "closed",
		"answered   \n<th> is a header cell.", "ended  completed \n<th> is a header cell.")
}

// A conclusion that stands for the answer is shown without the reasoning in it.
func TestFollow_MarkedConclusion(t *testing.T) {
	for conclusion, end := range map[string]string{"<think>It is late.</think>No.": "ended  completed No.", "<think>It is late.</think>": "ended  failed"} {
		t.Run(conclusion, func(t *testing.T) {
			r := newRoom(t)
			r.ask("planner")
			r.send("planner", "s", "reasoning.start", "", "q", "", `{"message":"thinking"}`)
			r.send("planner", "c", "reasoning.conclusion", "", "", "s", `{"message":"`+conclusion+`"}`)
			check(t, r.follow(nil), "opened   thinking", "closed   "+conclusion, end)
		})
	}
}

// The beginning of an answer that looks like a thought is not shown as one. What turns out
// to be a thought is shown at its end, or when it is long.
func TestFollow_Provisional(t *testing.T) {
	r := newRoom(t)
	r.ask("")
	r.send("planner", "s", "reasoning.start", "", "q", "", `{"message":"thinking"}`)
	long := strings.Repeat("x", 1<<10)
	got := r.follow(func(e *ask.Event) {
		if e.Type != ask.Opened {
			return
		}
		for _, s := range [][3]string{{"one", "It is", `,"reason":"withdrawn"`}, {"two", "I look", ""}, {"three", long, ""}} {
			name, ended := s[0], fmt.Sprintf(`{"stream_id":%q%s}`, s[0], s[2])
			r.send("planner", "o"+name, "stream.open", "", "", "s", fmt.Sprintf(`{"stream_id":%q,"provisional":true}`, name))
			r.send("planner", "d"+name, "stream.data", "", "", "s", fmt.Sprintf(`{"stream_id":%q,"data":%q}`, name, s[1]))
			r.send("planner", "e"+name, "stream.data", "", "", "s", fmt.Sprintf(`{"stream_id":%q,"data":" fine "}`, name))
			r.send("planner", "c"+name, "stream.close", "", "", "s", ended)
		}
		r.send("planner", "p", "stream.open", "", "q", "", `{"stream_id":"four"}`)
		r.send("planner", "f", "stream.data", "", "q", "", `{"stream_id":"four","data":"It is fine"}`)
		r.send("planner", "g", "stream.close", "", "q", "", `{"stream_id":"four","reason":"withdrawn"}`)
		r.send("planner", "c", "reasoning.conclusion", "", "", "s", `{"message":"done"}`)
		r.send("planner", "a", "chat", "", "q", "", `{"message":"done"}`)
	})
	parts := 0
	got = slices.DeleteFunc(got, func(line string) bool {
		if strings.HasPrefix(line, "delta three") {
			parts++
			return true
		}
		return false
	})
	if parts < 2 {
		t.Errorf("the long text came in %d parts, want it before its end", parts)
	}
	check(t, got, "opened   thinking",
		"stream-opened one", "stream-closed one  withdrawn",
		"stream-opened two", "delta two  I look fine", "stream-closed two",
		"stream-opened three", "stream-closed three",
		"answering four  It is fine", "retracted four",
		"closed   done", "answered   done", "ended  completed done")
}

// Another participant that uses the id of a decision first does not prevent it; it is one
// decision, also if it is sent again.
func TestDecide_IDTaken(t *testing.T) {
	r := newRoom(t)
	r.ask("")
	for _, approve := range []bool{true, false} {
		p, id := fmt.Sprint("p-", approve), protocol.ID(fmt.Sprint("decision-", approve))
		r.send("planner", p, "mcp.proposal", "", "", "", `{"method":"tools/call","participant_id":"files","params":{"name":"write"}}`)
		r.send("planner", string(id), "chat", "", "", "", `{"message":"mine"}`)
		for range 2 {
			if _, err := ask.Decide(context.Background(), r.clients["alice"], r.asked, protocol.ID(p), id, approve, "unsafe"); err != nil {
				t.Fatal(err)
			}
		}
	}
	page, err := r.clients["alice"].Envelopes(context.Background(), "lab", api.EnvelopeQuery{From: []protocol.ParticipantID{"alice"}})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []protocol.Kind
	for _, e := range page.Envelopes {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, []protocol.Kind{protocol.KindChat, protocol.KindMCPRequest, protocol.KindMCPReject}) {
		t.Errorf("alice sent %q", kinds)
	}
}
