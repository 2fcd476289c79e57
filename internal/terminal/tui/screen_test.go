package tui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestQuestions(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, "guide", agent.Options{Tools: handbook(t), Planner: calling("There are **two** documents.",
		call("list_directory", `{"path":"."}`, "see what there is"), call("read_text_file", `{"path":"deploy.md"}`, "and what one of them says"))})
	x := open(t, g, "alice", 80, 32, nil)
	x.sees("● connected")
	x.enters("what is in the docs folder?")
	x.golden("asking.screen", "There are", "Reasoning (turn 1)", "→ 2 lines")
	x.enters("and who wrote them?")
	x.sees("thread 1, turn 2", "Reasoning (turn 2)", "→ 2 lines")
	x.enters("/reasoning 1")
	x.golden("reasoning-1.screen", "› /reasoning 1", "outcome:")
	x.enters("/reasoning 7")
	x.sees("✗ No reasoning data for turn 7 in this thread.")
	x.enters("/reasoning all")
	x.wait("the reasoning of both turns", regexp.MustCompile(`Reasoning — thread \S+, turn 2\n(?s:.*)outcome: `).MatchString)
	x.enters("/new")
	x.enters("something else")
	x.sees("thread 2, turn 1", "Reasoning (turn 1)")
	x.enters("/quit")
	if err := x.end(); err != nil {
		t.Error(err)
	}
	threads := threadsOf(t, g)
	if len(threads) != 2 || threads[0].LastTurn != 1 || threads[1].LastTurn != 2 {
		t.Errorf("the gateway has %+v", threads)
	}
}

func threadsOf(t *testing.T, g *meuptest.Gateway) []api.Thread {
	t.Helper()
	list, err := options(t, g, "alice").API.(*api.Client).Threads(testkit.Deadline(t), "lab", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return list.Threads
}

func TestReasoning_InProgress(t *testing.T) {
	g := meuptest.Start(t, config)
	first, second := make(chan struct{}), make(chan struct{})
	docs := handbook(t)
	employ(t, g, "guide", agent.Options{Tools: docs, Answer: intake.Any, Planner: held(first, "One.")})
	employ(t, g, "scout", agent.Options{Tools: docs, Answer: intake.Any, Planner: held(second, "Two."), NoProposals: true})
	x := open(t, g, "alice", 80, 30, nil)
	x.sees("with guide, scout")
	x.enters("what is there?")
	x.wait("both think and have looked", func(screen string) bool {
		return strings.Count(screen, "Reasoning · ") == 2 && strings.Contains(screen, "list_directory → ")
	})
	close(first)
	x.sees("▸ Thought for", "One.", "Reasoning ·")
	close(second)
	x.wait("both have thought", func(screen string) bool { return strings.Count(screen, "▸ Thought for") == 2 })
	x.types(ctrlO)
	x.wait("one block is open", func(screen string) bool {
		return strings.Count(screen, "▾ Thought for") == 1 && strings.Count(screen, "▸ Thought for") == 1
	})
	x.types(ctrlR)
	x.wait("all are open", func(screen string) bool {
		return strings.Count(screen, "▾ Thought for") == 2 && strings.Count(screen, "• Let me look at the folder.") == 2 && strings.Count(screen, "approach: rules") == 2
	})
	x.types(ctrlR)
	x.wait("all are closed", func(screen string) bool { return strings.Count(screen, "▸ Thought for") == 2 })
}

func TestCancelling(t *testing.T) {
	// bob may not withdraw messages and closes the context instead, so the
	// agent still sends an answer. Either way the turn has ended.
	for who, last := range map[string]string{"alice": "Withdrawn by alice.", "bob": "I have stopped"} {
		t.Run(who, func(t *testing.T) {
			g := meuptest.Start(t, config) // its own: the other one may still leave a shared one
			employ(t, g, "guide", agent.Options{Tools: handbook(t), Planner: held(nil, "")})
			now := time.Now() // stands still: the agent has all the time to stop by itself
			x := open(t, g, who, 80, 24, func(o *tui.Options) { o.Recall, o.Now = -1, func() time.Time { return now } })
			x.sees("● connected")
			x.enters("/cancel")
			x.sees("No question to cancel.")
			x.enters("think for ever")
			x.sees("list_directory → ")
			x.enters("/cancel")
			x.golden("cancel-"+who+".screen", "▸ Canceled after", last, "→ 2 lines")
		})
	}
}

func TestReasoning_AgentLeaves(t *testing.T) {
	g := meuptest.Start(t, config)
	c := dial(t, g, "guide")
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("with guide")
	x.enters("think for ever")
	chat := question(t, c)
	if _, err := c.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(chat), Payload: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	x.sees("Reasoning ·")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	x.sees("▸ Stopped after", "guide left")
}

// question waits for a chat.
func question(t *testing.T, c interface {
	Receive(ctx context.Context) (protocol.Envelope, error)
}) protocol.ID {
	t.Helper()
	for {
		env, err := c.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if env.Kind == protocol.KindChat {
			return env.ID
		}
	}
}

func TestProposals(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, "scout", agent.Options{Tools: handbook(t), Planner: calling("I have looked.",
		call("list_directory", `{"path":"."}`, "see what there is"), call("read_text_file", `{"path":"deploy.md"}`, "how one deploys"))})
	x := open(t, g, "alice", 80, 40, nil)
	x.sees("with scout")
	x.enters("how do we deploy?")
	x.sees("1. scout proposes", "2. scout proposes", "/approve 2 approves", "2 awaiting approval")
	y := open(t, g, "alice", 80, 40, func(o *tui.Options) { o.Recall = 1 })
	y.sees("1. scout proposes", "2 awaiting approval") // the first is from before what is recalled
	x.enters("/approve")
	x.sees("2 proposals are pending: name one.")
	x.enters("/proposals")
	x.sees("Awaiting approval:")
	x.enters("/approve 1")
	x.sees("→ approved by you")
	x.enters("/reject 2")
	x.sees("A reason is required")
	x.enters("/reject unsafe to do now")
	x.sees("I have looked.", "→ rejected by alice: unsafe to do now", "→ fulfilled by alice")
	x.enters("/approve 1")
	x.sees("Proposal 1 is not pending: approved by you.")
	x.enters("/approve")
	x.sees("No proposals awaiting approval.")
}

func TestRefusalsAndRights(t *testing.T) {
	g := meuptest.Start(t, config)
	x := open(t, g, "mute", 80, 24, nil)
	x.sees("● connected")
	x.enters("may I speak?")
	x.golden("refused.screen", "✗ Not sent: ", "› may I speak?")
	y := open(t, g, "alice", 80, 24, nil)
	y.sees("with mute")
	y.enters("/grant mute chat 10m")
	y.sees("alice granted mute: chat for 10 minutes")
	x.sees("alice granted mute: chat")
	if to := addressees(t, g, protocol.KindCapabilityGrant); !slices.Equal(to, []protocol.ParticipantID{"mute"}) {
		t.Errorf("the grant is addressed to %v", to) // clients of MEW treat a grant without addressees as a grant to themselves
	}
	x.types(enter)
	x.sees("you · turn 1")
	y.sees("may I speak?")
	y.enters("/who")
	y.golden("who.screen", "Participants:", "mute:")
	y.enters("/revoke mute")
	y.sees("alice revoked capabilities of mute.")
	y.enters("/revoke mute")
	y.sees("No active grant matches mute")
	x.enters("and now?")
	x.sees("✗ Not sent: ")
}

// addressees returns the addressees of the only envelope of a kind.
func addressees(t *testing.T, g *meuptest.Gateway, kind protocol.Kind) []protocol.ParticipantID {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.HTTP()+"/api/spaces/lab/envelopes?kinds="+string(kind), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice-token")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var page struct {
		Envelopes []struct {
			To []protocol.ParticipantID `json:"to"`
		} `json:"envelopes"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || len(page.Envelopes) != 1 {
		t.Fatalf("%d envelopes of %s, %v", len(page.Envelopes), kind, err)
	}
	return page.Envelopes[0].To
}

func TestUnknownCommandsAndCompletion(t *testing.T) {
	g := meuptest.Start(t, config)
	dial(t, g, "guide")
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("with guide")
	x.enters("/reasonning 2")
	x.sees("Unknown command: /reasonning. Did you mean /reasoning?", "› /reasonning 2")
	x.types(ctrlC)
	x.sees("› Message")
	x.types("/re" + tab)
	x.sees("/reasoning  /reject  /restart  /resume  /revoke")
	x.types("a" + tab)
	x.types("7")
	x.sees("› /reasoning 7")
	x.types(ctrlC + "ask @gu" + tab)
	x.sees("› ask @guide")
	x.types(ctrlC + "/help" + enter)
	x.golden("help.screen", "Ctrl-D")
	x.types(ctrlC + ctrlC)
	if err := x.end(); err != nil {
		t.Error(err)
	}
}

func TestTypingSeveralLines(t *testing.T) {
	g := meuptest.Start(t, config)
	x := open(t, g, "alice", 40, 16, nil)
	x.sees("● connected")
	x.types("first" + altEnter + "日本語のとても長い行はここで折り返されます" + shiftEnter + "third")
	x.golden("lines.screen", "third")
	x.types(enter)
	x.sees("│ third", "› Message")
	x.enters("another")
	x.sees("│ another")
	x.types("\x1b[200~pasted\x1b[31m\nlines\x1b[201~")
	x.sees("› pasted", "  lines")
	x.types(ctrlC + up + up + up + up)
	x.sees("› first")
	x.types(down)
	x.sees("› another")
	x.types(down)
	x.sees("› pasted")
	x.types(down)
	x.sees("› Message")
}

// TestPaste_Long checks that a pasted text is sent whole, or refused whole.
func TestPaste_Long(t *testing.T) {
	g := meuptest.Start(t, config)
	c := dial(t, g, "bob")
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("with bob")
	x.types("\x1b[200~" + strings.Repeat("too long\r", 7000) + "\x1b[201~")
	x.types(enter)
	x.sees("Message too long", "too long")
	x.types(ctrlC)
	x.sees("› Message")
	long := strings.Repeat("a line of a log\n", 149) + "the last one"
	x.types("\x1b[200~" + strings.ReplaceAll(long, "\n", "\r") + "\x1b[201~")
	x.sees("the last one")
	x.types(enter)
	for {
		env, err := c.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if env.Kind != protocol.KindChat {
			continue
		}
		var p struct{ Message string }
		if err := json.Unmarshal(env.Payload, &p); err != nil || p.Message != long {
			t.Errorf("%d bytes of %d arrived, %v", len(p.Message), len(long), err)
		}
		return
	}
}

func TestScrolling(t *testing.T) {
	g := meuptest.Start(t, config)
	c := dial(t, g, "bob")
	x := open(t, g, "alice", 60, 12, nil)
	x.sees("with bob")
	var last protocol.ID
	for i := range 30 {
		if last != "" {
			last = say(t, c, fmt.Sprintf("number %d", i), last)
		} else {
			last = say(t, c, fmt.Sprintf("number %d", i))
		}
	}
	x.sees("number 29")
	x.types(pageUp)
	x.sees("↓", "number 26")
	below := regexp.MustCompile(`↓ \d+ more`).FindString(x.sees("number 25", " more"))
	say(t, c, "and one more")
	x.wait("it is counted and the view has not moved", func(screen string) bool {
		return strings.Contains(screen, "↓ ") && !strings.Contains(screen, below) && strings.Contains(screen, "number 25") && !strings.Contains(screen, "and one more")
	})
	x.types(pageDown + pageDown)
	x.sees("and one more")
	x.resize(30, 8)
	x.wait("it is narrow", func(screen string) bool {
		return strings.Contains(screen, "and one more") && strings.Count(screen, "\n") == 8
	})
	x.golden("narrow.screen", "and one more", "● connected")
}

func TestScreen_NoColor(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, "guide", agent.Options{Tools: handbook(t), Planner: calling("# Yes\n\n`it` *is*", call("list_directory", `{"path":"."}`, "see"))})
	for name, adapt := range map[string]func(*tui.Options){
		"NO_COLOR":  func(o *tui.Options) { o.Environ = append(o.Environ, "NO_COLOR=1") },
		"an option": func(o *tui.Options) { o.NoColor = true },
	} {
		t.Run(name, func(t *testing.T) {
			x := open(t, g, "alice", 80, 24, adapt)
			x.sees("● connected")
			x.enters("is it?")
			x.sees("→ 2 lines")
			if at := strings.Index(x.written(), "\x1b[3"); at >= 0 && strings.Contains(x.written()[at:at+6], "m") {
				t.Errorf("a color was written: %q", x.written()[at:at+10])
			}
		})
	}
}

func (x *terminal) written() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.raw)
}

func TestRecall(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, "guide", agent.Options{Tools: handbook(t), Planner: calling("Two documents.", call("list_directory", `{"path":"."}`, "see"))})
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("● connected")
	x.enters("what is there?")
	x.sees("Reasoning (turn 1)")
	x.enters("/quit")
	_ = x.end()
	y := open(t, g, "alice", 80, 24, nil)
	y.sees("what is there?", "▸ Thought for", "Two documents.")
	y.enters("and since when?")
	y.sees("turn 2", "Reasoning (turn 2)")
	if list := threadsOf(t, g); len(list) != 1 || list[0].LastTurn != 2 {
		t.Errorf("the gateway has %+v", list)
	}
}

// A private thread that is continued is named, with the way out of it.
func TestRecall_Private(t *testing.T) {
	g := meuptest.Start(t, config)
	dial(t, g, "bob")
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("with bob")
	x.enters("hello all")
	x.enters("/to bob hello bob")
	x.sees("thread 2, turn 1, to bob only")
	x.enters("/quit")
	_ = x.end()
	y := open(t, g, "alice", 80, 24, nil)
	y.sees("You continue thread 2: only bob will get your messages. /new begins a thread", "to bob only")
	y.enters("/new")
	y.enters("hello again")
	y.sees("thread 3, turn 1 ·")
	y.enters("/quit")
	_ = y.end()
	z := open(t, g, "alice", 80, 24, nil)
	if screen := z.sees("hello again", "● connected · lab · thread 3"); strings.Contains(screen, "You continue") {
		t.Errorf("a thread with all is called private:\n%s", screen)
	}
}

// TestTurns_OtherParticipants checks that the reasoning is shown below every new answer,
// and below no replayed one.
func TestTurns_OtherParticipants(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, "guide", agent.Options{Tools: handbook(t), Planner: calling("Two documents.", call("list_directory", `{"path":"."}`, "see"))})
	x := open(t, g, "alice", 80, 50, nil)
	x.sees("with guide")
	say(t, dial(t, g, "bob"), "what is there?")
	x.sees("Two documents.", "Reasoning (turn 1)", `list_directory  "see"`, "→ 2 lines")
	y := open(t, g, "mute", 80, 50, nil)
	if screen := y.sees("what is there?", "Two documents."); strings.Contains(screen, "Reasoning (turn") {
		t.Errorf("what was said before is explained:\n%s", screen)
	}
}

func TestExporting(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, "guide", agent.Options{Planner: answering(func(q string) string { return "You asked: " + q + "\x1b[31m" })})
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("with guide")
	x.enters("/export")
	x.sees("Nothing to export")
	x.enters("is it red?")
	x.sees("You asked")
	file := filepath.Join(t.TempDir(), "thread.md")
	x.enters("/export " + file)
	x.sees("Exported to")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "is it red?") || strings.Contains(string(text), "\x1b") {
		t.Errorf("%q, %v", text, err)
	}
	x.enters("/export " + file)
	x.sees("Not exported: ")
}

func TestTo(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, "guide", agent.Options{Tools: handbook(t), Planner: calling("Between us.", call("list_directory", `{"path":"."}`, "see"))})
	x := open(t, g, "alice", 80, 24, nil)
	y := open(t, g, "bob", 80, 24, nil)
	x.sees("with bob, guide")
	y.sees("with alice, guide")
	x.enters("/to guide tell me alone")
	x.sees("you, to guide only", "guide answers you, to you only", "Reasoning (turn 1)")
	x.enters("and on")
	x.sees("turn 2, to guide only", "Reasoning (turn 2)")
	x.enters("/new")
	x.enters("@guide tell all")
	x.sees("thread 2, turn 1 ·")
	y.wait("bob hears only the other one", func(screen string) bool {
		return strings.Contains(screen, "tell all") && !strings.Contains(screen, "only")
	})
}

// TestTerminalIsSafe checks that only escape sequences of the program itself
// reach the terminal.
func TestTerminalIsSafe(t *testing.T) {
	g := meuptest.Start(t, config)
	c := dial(t, g, "bob")
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("with bob")
	evil := "\x1b]0;owned\x07\x1b[8mhidden\x1b[?1049l\u202etxet\u200b\u009b2J"
	say(t, c, evil)
	for _, payload := range []map[string]any{
		{"message": evil + "&#27;[8m [a](http://x/" + evil + ")", "format": "markdown"},
	} {
		raw, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindChat, Payload: raw}); err != nil {
			t.Fatal(err)
		}
	}
	say(t, c, "the end of it")
	x.sees("the end of it", "hidden")
	written := x.written()
	for _, bad := range []string{"owned\x07", "\x1b[8m", "\u202e", "\u200b", "\u009b", "\x1b]8", "\x1b[?1049l"} {
		if strings.Contains(written, bad) {
			t.Errorf("%q was written", bad)
		}
	}
}

func TestThoughts_Streamed(t *testing.T) {
	g := meuptest.Start(t, config)
	sign := make(chan struct{})
	employ(t, g, "guide", agent.Options{Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
		s.Watch(llm.Delta{Kind: llm.TextDelta, Text: "First I weigh what speaks for it, "})
		s.Watch(llm.Delta{Kind: llm.TextDelta, Text: "and then what speaks against."})
		select {
		case <-sign:
		case <-ctx.Done():
		}
		return planner.Decision{Action: contextwindow.Finish, Answer: "First I weigh what speaks for it, and then what speaks against.", Conclusion: "done"}, ctx.Err()
	})})
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("with guide")
	x.enters("is it good?")
	x.sees("• First I weigh what speaks for it, and then what speaks")
	close(sign)
	x.sees("▸ Thought for", "│ First I weigh")
	x.types(ctrlO)
	x.sees("▾ Thought for")
	if screen, _ := x.look(); strings.Contains(screen, "• First") {
		t.Errorf("the answer is a step too:\n%s", screen)
	}
}

func TestSearch_HitsOpen(t *testing.T) {
	g := meuptest.Start(t, config)
	x := open(t, g, "alice", 80, 24, nil)
	x.sees("● connected")
	x.enters("the invoice of March is missing")
	x.sees("turn 1")
	x.enters("/search unicorns")
	x.sees("No results for “unicorns”.")
	x.enters("/search inv* -unicorns")
	x.sees("#1  ", "alice  chat  the invoice of March is missing")
	x.enters("/show 1")
	x.sees("· Envelope ", `"kind": "chat",`, `"message": "the invoice of March is missing"`)
	x.enters("/show no-such-id")
	x.sees("✗ No envelope no-such-id, or it is not visible to you.")
}
