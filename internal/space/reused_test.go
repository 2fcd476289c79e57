package space_test

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// TestReference_UsedBySeveral: a participant that uses the id of another's request,
// before or after it, does not receive the private answer, and the asker does.
func TestReference_UsedBySeveral(t *testing.T) {
	const squat = `{"id": "R", "kind": "chat", "payload": {"text": "squat"}}`
	request := `{"id": "R", "kind": "mcp/request", "to": ["host"], "payload": {"jsonrpc": "2.0", "id": 1, "method": "ping"}}`
	question := `{"id": "R", "kind": "chat", "to": ["host"], "payload": {"text": "a private question"}}`
	response := `{"id": "A", "kind": "mcp/response", "to": ["alice"], "correlation_id": ["R"], "payload": {"jsonrpc": "2.0", "id": 1, "result": {}}}`
	reply := `{"id": "A", "kind": "chat", "to": ["alice"], "correlation_id": ["R"], "payload": {"text": "a private answer"}}`
	for _, test := range []struct {
		name, asked, answer string
		before              bool
	}{
		{"request, squatted after", request, response, false},
		{"request, squatted before", request, response, true},
		{"question, squatted after", question, reply, false},
		{"question, squatted before", question, reply, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := open(t, rights{"alice": {"*"}, "host": {"*"}, "eve": {"*"}}, nil)
			join := func(id protocol.ParticipantID) *member {
				m := r.join(space.JoinOptions{ID: id, Dialect: protocol.DialectMEW04})
				t.Cleanup(m.leave)
				return m
			}
			alice, host, eve := join("alice"), join("host"), join("eve")
			send := func(m *member, frame string) protocol.ID {
				t.Helper()
				outcome := m.say(frame)[0]
				if outcome.Err != nil {
					t.Fatal(outcome.Err)
				}
				return outcome.ID
			}
			if test.before {
				send(eve, squat)
			}
			send(alice, test.asked)
			if !test.before {
				send(eve, squat)
			}
			answer := send(host, test.answer)
			if r.visibleTo("eve", answer) {
				t.Error("eve sees the private answer")
			}
			if !r.visibleTo("alice", answer) {
				t.Error("alice does not see the answer")
			}
			asked := map[bool]string{false: "R", true: "again-2-"}[test.before]
			if got := r.correlation("alice", answer); len(got) != 1 || !strings.HasPrefix(string(got[0]), asked) {
				t.Errorf("the answer correlates to %v, not to %s", got, asked)
			}
		})
	}
}

// TestReference_RestartedSender: of the envelopes of one participant with an id, a
// reference means the newest.
func TestReference_RestartedSender(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "host": {"*"}}, nil)
	alice := r.join(space.JoinOptions{ID: "alice", Dialect: protocol.DialectMEW04})
	defer alice.leave()
	host := r.join(space.JoinOptions{ID: "host", Dialect: protocol.DialectMEW04})
	defer host.leave()
	for _, text := range []string{"one", "two", "three"} {
		outcome := alice.say(`{"id": "alice-1", "kind": "chat", "payload": {"text": "` + text + `"}}`)[0]
		if outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
	}
	answer := host.say(`{"kind": "chat", "correlation_id": ["alice-1"], "payload": {"text": "x"}}`)[0]
	if got := r.correlation("alice", answer.ID); len(got) != 1 || !strings.HasPrefix(string(got[0]), "again-3-") {
		t.Errorf("the answer correlates to %v, not to the third", got)
	}
}

// correlation returns the correlation of an envelope in a participant's history.
func (r *room) correlation(who protocol.ParticipantID, id protocol.ID) []protocol.ID {
	r.t.Helper()
	page, refused := r.History(r.t.Context(), ring.Viewer{ID: who}, space.HistoryQuery{})
	if refused != nil {
		r.t.Fatal(refused)
	}
	for e, err := range page.Entries(r.t.Context()) {
		if err != nil {
			r.t.Fatal(err)
		}
		if e.Envelope.ID == id {
			return e.Envelope.Correlation.IDs
		}
	}
	return nil
}
