package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// quiz is a thread of n questions; each is addressed to whom, if to anybody,
// and followed by as many thoughts of some size, whose payloads say nothing.
func quiz(n int, to func(turn int) []protocol.ParticipantID, thoughts, size int) log {
	var l log
	add := func(e protocol.Envelope) {
		e.Seq, e.TS = protocol.Seq(len(l)+1), nine.Add(time.Duration(len(l))*time.Second)
		if e.ID == "" {
			e.ID = protocol.ID(fmt.Sprintf("x%d", e.Seq))
		}
		l = append(l, e)
	}
	thought := json.RawMessage(strings.Repeat("x", size))
	for turn := 1; turn <= n; turn++ {
		q := protocol.Envelope{
			ID: protocol.ID(fmt.Sprintf("q%d", turn)), From: "alice", Kind: protocol.KindChat,
			Payload: json.RawMessage(fmt.Sprintf(`{"message":"%d"}`, turn)),
		}
		if turn > 1 {
			q.Correlation = protocol.CorrelateTo("q1")
		}
		if to != nil {
			q.To = to(turn)
		}
		add(q)
		if thoughts > 0 {
			c := protocol.ID(fmt.Sprintf("c%d", turn))
			add(protocol.Envelope{ID: c, From: "planner", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(q.ID), Payload: json.RawMessage("{}")})
			for range thoughts {
				add(protocol.Envelope{From: "planner", Kind: protocol.KindReasoningThought, Context: protocol.ContextPath(c), Payload: thought})
			}
		}
	}
	return l
}

func numbers(t *testing.T, p *turns.Projection, v turns.Viewer) (list []int) {
	t.Helper()
	for info, err := range Turns(t.Context(), p, "q1", v) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint(info.TurnNumber); info.UserInput != want {
			t.Errorf("turn %s asks %s", want, info.UserInput)
		}
		list = append(list, info.TurnNumber)
	}
	return list
}

func upTo(n int) (list []int) {
	for i := 1; i <= n; i++ {
		list = append(list, i)
	}
	return list
}

// TestTurnsComeOnceAndInOrder: over pages, over turns that are hidden, and over
// turns too large for one page.
func TestTurnsComeOnceAndInOrder(t *testing.T) {
	if got := numbers(t, quiz(3*page+5, nil, 1, 10).projection(), turns.Viewer{}); !slices.Equal(got, upTo(3*page+5)) {
		t.Errorf("turns %v", got)
	}
	hidden := quiz(3*page, func(turn int) []protocol.ParticipantID {
		if turn%7 != 0 && turn > 1 {
			return []protocol.ParticipantID{"bob"}
		}
		return nil
	}, 0, 0)
	everybody := turns.Viewer{Sees: func(e *turns.Entry) bool { return len(e.Envelope.To) == 0 }}
	want := []int{1}
	for turn := 7; turn <= 3*page; turn += 7 {
		want = append(want, turn)
	}
	if got := numbers(t, hidden.projection(), everybody); !slices.Equal(got, want) {
		t.Errorf("turns %v\n want %v", got, want)
	}
	if got := numbers(t, quiz(7, nil, 32, 250_000).projection(), turns.Viewer{}); !slices.Equal(got, upTo(7)) {
		t.Errorf("large turns %v", got)
	}
}

func TestTurnsCanBeLeft(t *testing.T) {
	for info, err := range Turns(t.Context(), quiz(page+2, nil, 0, 0).projection(), "q1", turns.Viewer{}) {
		if err != nil || info.TurnNumber != 1 {
			t.Fatal(info, err)
		}
		break
	}
}

func TestUnknownThread(t *testing.T) {
	var b strings.Builder
	err := Markdown(&b, Head{}, Turns(t.Context(), quiz(1, nil, 0, 0).projection(), "nobody", turns.Viewer{}))
	if !errors.Is(err, turns.ErrUnknown) || b.Len() > 0 {
		t.Errorf("%v, %q", err, &b)
	}
}

// failing is a writer that is full.
type failing struct{}

var errFull = errors.New("full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestWriterThatFails(t *testing.T) {
	for name, write := range map[string]writer{"markdown": Markdown, "traces": Traces} {
		if err := write(failing{}, Head{}, all(&turns.TurnInfo{})); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoTurns(t *testing.T) {
	if got := document(t); !strings.Contains(got, "# Thread `q1`\n") || !strings.HasSuffix(got, "\n\nThere are no turns.\n\n") {
		t.Errorf("document %q", got)
	}
}
