package tui

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write what the conversations look like anew")

// stage is a model with its own clock.
type stage struct {
	t     *testing.T
	model *conversation.Model
	clock time.Time
	plain strings.Builder
	lines *plain
	done  strings.Builder // effects
	ids   int

	proposals map[protocol.ID]*api.Proposal
}

func style(color bool) block.Style {
	if color {
		return block.Colors()
	}
	return block.Style{}
}

func newStage(t *testing.T, color bool) *stage {
	s := &stage{t: t, clock: time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC), proposals: make(map[protocol.ID]*api.Proposal)}
	w := protocol.Welcome{
		You:   protocol.You{ID: "alice", Capabilities: []json.RawMessage{[]byte(`"*"`)}},
		Space: protocol.SpaceInfo{Name: "lab", Seq: 10},
		Participants: []protocol.Participant{
			{ID: "guide", Capabilities: []json.RawMessage{[]byte(`"chat"`), []byte(`"reasoning/*"`)}}, {ID: "bob"},
		},
	}
	s.model = conversation.New(w, conversation.Options{
		Style: style(color), Now: func() time.Time { return s.clock },
		NewID: func() protocol.ID { s.ids++; return protocol.ID(fmt.Sprintf("own-%d", s.ids)) },
	})
	s.lines = newPlain(s.model, &s.plain, false)
	return s
}

// play executes the lines of a script:
//
//	> TEXT                 the person enters it; \n is a line break
//	{…}                    an envelope arrives
//	ack ID                 an envelope of this participant is acknowledged
//	refuse ID CODE TEXT    … or refused
//	turn ID {…}            the result of reading a turn
//	turns {…}              … or the history of a thread
//	decides ID {…}         a proposal that follows, as the gateway describes it; may_decide is true otherwise
//	envelope ID {…}        an envelope that was read; "envelope ID" alone: there is none
//	hits {…}               the result of a search for anything
//	link waiting           the connection is lost; connected: it is restored
//	after 3s               time passes
//	open                   all reasoning blocks are opened
func (s *stage) play(script string) {
	s.t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		s.step(line)
		for _, e := range s.model.TakeEffects() {
			fmt.Fprintln(&s.done, describeEffect(e))
			if read, ok := e.(conversation.ReadProposal); ok {
				s.lines.Print()
				s.model.Apply(conversation.ProposalRead{Request: read, Proposal: cmp.Or(s.proposals[read.ID], &api.Proposal{MayDecide: true})})
			}
		}
		s.lines.Print()
	}
}

func (s *stage) step(line string) {
	s.t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "", strings.HasPrefix(line, "#"):
	case word == ">":
		s.model.Apply(conversation.Typed{Text: strings.ReplaceAll(rest, `\n`, "\n")})
	case strings.HasPrefix(line, "{"):
		env, err := protocol.DecodeDelivered([]byte(line))
		if err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		if env.TS.IsZero() {
			env.TS = s.clock
		}
		s.model.Apply(conversation.Received{Envelope: env})
	case word == "ack":
		s.model.Apply(conversation.Sent{ID: protocol.ID(rest)})
	case word == "refuse":
		f := strings.SplitN(rest, " ", 3)
		s.model.Apply(conversation.Sent{ID: protocol.ID(f[0]), Err: &protocol.Error{Code: protocol.Code(f[1]), Message: f[2]}})
	case word == "turn":
		id, text, _ := strings.Cut(rest, " ")
		var turn api.TurnOf
		s.parse(text, &turn)
		s.model.Apply(conversation.TurnRead{Request: conversation.ReadTurn{Envelope: protocol.ID(id), Agent: "guide", Show: true}, Turn: &turn})
	case word == "turns":
		var e conversation.HistoryRead
		var turns []api.Turn
		which, text, _ := strings.Cut(rest, " ")
		e.Request.Thread = "own-1"
		switch which {
		case "latest":
		case "all":
			e.Request.Which = conversation.All
		default:
			e.Request.Which = conversation.One
			if _, err := fmt.Sscan(which, &e.Request.Number); err != nil {
				s.t.Fatal(err)
			}
		}
		s.parse(text, &turns)
		e.Turns = turns
		s.model.Apply(e)
	case word == "decides":
		id, text, _ := strings.Cut(rest, " ")
		p := new(api.Proposal)
		s.parse(text, p)
		s.proposals[protocol.ID(id)] = p
	case word == "envelope":
		id, text, found := strings.Cut(rest, " ")
		e := conversation.EnvelopeRead{Request: conversation.ReadEnvelope{ID: protocol.ID(id)}, Raw: []byte(text)}
		if !found {
			e.Err = &api.StatusError{Status: http.StatusNotFound}
		}
		s.model.Apply(e)
	case word == "hits":
		e := conversation.Searched{Request: conversation.Search{Text: "anything"}, Result: &api.SearchResult{}}
		s.parse(rest, e.Result)
		s.model.Apply(e)
	case word == "link":
		s.model.Apply(conversation.Linked{State: client.State{Phase: client.Phase(rest), Err: errors.New("cut")}})
	case word == "after":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		s.clock = s.clock.Add(d)
		s.model.Apply(conversation.Ticked{})
	case word == "open":
		s.model.ToggleAll()
	default:
		s.t.Fatalf("what is %q?", line)
	}
}

func (s *stage) parse(text string, into any) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
}

func describeEffect(e conversation.Effect) string {
	switch e := e.(type) {
	case conversation.Send:
		text, _ := e.Envelope.MarshalJSON()
		return "send " + string(text)
	case conversation.ReadTurn:
		return fmt.Sprintf("read the turn of %s, show %t", e.Envelope, e.Show)
	case conversation.ReadHistory:
		return fmt.Sprintf("read turns of %s: %d, number %d", e.Thread, e.Which, e.Number)
	}
	return fmt.Sprintf("%T%+v", e, e)
}

func (s *stage) draw(v *view, cells int) {
	for _, block := range s.model.Shown() {
		v.block(block, cells)
	}
	v.Status(cells)
}

// screenOf returns the whole conversation at a width, with its status.
func (s *stage) screenOf(cells int, color bool) string {
	v := newView(s.model, color)
	var b strings.Builder
	for _, block := range s.model.Shown() {
		for _, line := range v.block(block, cells) {
			if cellWidth(line) > cells {
				s.t.Errorf("%d cells of %d: %q", cellWidth(line), cells, line)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	b.WriteString(v.Status(cells) + "\n")
	return strings.ReplaceAll(b.String(), "\x1b", "␛")
}

// TestConversations plays every file of testdata/conversations and compares the
// result with the file: screens of 80 and 40 columns, in color, plain lines,
// and the effects.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script := string(a.Files[0].Data)
			s, c := newStage(t, false), newStage(t, true)
			s.play(script)
			c.play(script)
			for cells := range 12 { // no width causes a panic
				s.draw(newView(s.model, false), cells)
			}
			got := map[string]string{
				"80": s.screenOf(80, false), "40": s.screenOf(40, false), "color": c.screenOf(80, true),
				"plain": s.plain.String(), "done": s.done.String(),
			}
			if *rewrite {
				a.Files = a.Files[:1]
				for _, name := range []string{"80", "40", "color", "plain", "done"} {
					a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got[name])})
				}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, f := range a.Files[1:] {
				if got[f.Name] != string(f.Data) {
					t.Errorf("%s is otherwise:\n%s\nwanted:\n%s", f.Name, got[f.Name], f.Data)
				}
			}
			if len(a.Files) != 6 {
				t.Errorf("%d sections", len(a.Files))
			}
		})
	}
}
