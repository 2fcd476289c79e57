package api_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/meuptest"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

func strict(t *testing.T, text []byte, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%T: %v in %s", into, err, text)
	}
}

// fill sets every field to a distinct value, so that a lost field is detected.
func fill(v reflect.Value, n *int64) {
	if !v.CanSet() {
		return // not exported: not in JSON
	}
	*n++
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(*n, 123456000).UTC()
		return
	case *json.RawMessage:
		*x = json.RawMessage(`{"a":` + protocol.Seq(*n).String() + `}`)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString("s" + protocol.Seq(*n).String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	default:
		v.SetInt(*n)
	}
}

// TestTurns_RoundTrip: the gateway's types for turns survive a round trip
// through the types of this package.
func TestTurns_RoundTrip(t *testing.T) {
	for name, c := range map[string]struct{ theirs, ours, back any }{
		"history": {&turns.History{}, &api.History{}, &turns.History{}},
		"thread":  {&turns.ThreadInfo{}, &api.Thread{}, &turns.ThreadInfo{}},
	} {
		t.Run(name, func(t *testing.T) {
			var n int64
			fill(reflect.ValueOf(c.theirs).Elem(), &n)
			sent, err := json.Marshal(c.theirs)
			if err != nil {
				t.Fatal(err)
			}
			strict(t, sent, c.ours)
			again, err := json.Marshal(c.ours)
			if err != nil {
				t.Fatal(err)
			}
			strict(t, again, c.back)
			if !reflect.DeepEqual(c.theirs, c.back) {
				t.Errorf("sent %s\nback %s", sent, again)
			}
		})
	}
}

// TestTurns_EmptyRoundTrip: null and absent values survive a round trip.
func TestTurns_EmptyRoundTrip(t *testing.T) {
	theirs := turns.TurnInfo{
		StartedAt: turns.Time{Time: time.Unix(1, 5000).UTC()}, ToolCalls: []turns.ToolCallInfo{},
		Reasoning: &turns.TurnReasoningInfo{ToolDecisions: []turns.ToolDecisionInfo{{Parameters: json.RawMessage("null")}}},
	}
	var ours api.Turn
	sent, err := json.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	strict(t, sent, &ours)
	again, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	if json.Unmarshal(sent, &a) != nil || json.Unmarshal(again, &b) != nil {
		t.Fatal("no JSON")
	}
	if len(a) != len(b) || ours.Response != nil || ours.CompletedAt != nil || string(ours.Reasoning.ToolDecisions[0].Parameters) != "null" {
		t.Errorf("sent %s\nback %s", sent, again)
	}
}

func TestTurns(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	conversation(t, g)
	c := newClient(t, g, "alice")
	h, err := c.History(deadline(t), "lab", "q1", api.Page{Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	if h.ThreadID != "q1" || len(h.Turns) != 1 || h.HasMore {
		t.Fatalf("%+v", h)
	}
	turn := h.Turns[0]
	if turn.State != api.TurnCompleted || turn.Response == nil || *turn.Response != "It is 10:35." || turn.Reasoning == nil {
		t.Fatalf("%+v", turn)
	}
	d := turn.Reasoning.ToolDecisions[0]
	if d.ToolName != "time" || d.Rationale != "the clock knows" || d.Outcome != api.OutcomeSuccess || string(d.Parameters) != `{"zone":"UTC"}` || d.ResultBytes == nil {
		t.Errorf("%+v", d)
	}
	list, err := c.Threads(deadline(t), "lab", 1, 0)
	if err != nil || len(list.Threads) != 1 || list.Threads[0].ThreadID != "q1" || list.Threads[0].LastTurn != 1 || list.HasMore {
		t.Errorf("%+v, %v", list, err)
	}
	for _, id := range []protocol.ID{"q1", "t0", "r1", "a1", "w1"} {
		of, err := c.TurnOf(deadline(t), "lab", id)
		if err != nil || of.ThreadID != "q1" || of.Turn.TurnNumber != 1 || of.SessionID != h.SessionID {
			t.Errorf("turn of %s: %+v, %v", id, of, err)
		}
	}
	text, err := c.Transcript(deadline(t), "lab", "q1")
	if err != nil || !strings.Contains(string(text), "what time is it?") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestTranscript_NameCollision: the turns of a thread whose id ends in .md are
// not mistaken for a transcript.
func TestTranscript_NameCollision(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	c := newClient(t, g, "alice")
	for _, id := range []protocol.ID{"q1", "q1.md"} {
		if _, err := c.Send(deadline(t), "lab", protocol.Envelope{ID: id, Kind: protocol.KindChat, Payload: []byte(`{"message":"x"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := c.Transcript(deadline(t), "lab", "q1"); err == nil || !strings.Contains(err.Error(), "is there a thread q1.md?") {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := c.Transcript(deadline(t), "lab", "q1.md"); err != nil || !strings.HasPrefix(string(text), "# Thread `q1.md`\n") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestHistory_UnknownThread(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	c := newClient(t, g, "alice")
	_, err := c.History(deadline(t), "lab", "..", api.Page{})
	var status *api.StatusError
	if !errors.As(err, &status) || status.Status != 404 || !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) || status.Temporary() {
		t.Errorf("%v", err)
	}
	if _, err := c.TurnOf(deadline(t), "lab", "none"); !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		t.Errorf("%v", err)
	}
}
