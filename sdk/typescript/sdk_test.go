package typescript_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const config = `
limits: {rate: 1000000, burst: 1000000, bytes_per_second: 1GiB, connections: 1000, open_contexts: 100000}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*", observe]}
      planner: {token: planner-token, capabilities: ["*"]}
      weather: {token: weather-token, capabilities: [mcp.request, mcp.response]}
`

// readmeConfig returns the configuration that the README shows for the examples, in which
// alice may observe too.
func readmeConfig(t *testing.T) string {
	t.Helper()
	return strings.Replace(meuptest.ReadmeConfig(t), `["*"]`, `["*", observe]`, 1)
}

func ask(t *testing.T, alice *api.Client, id, text string, to ...protocol.ParticipantID) {
	t.Helper()
	e := client.Chat(text)
	e.ID, e.To = protocol.ID(id), to
	if _, err := alice.Send(testkit.Deadline(t), "lab", e); err != nil {
		t.Fatal(err)
	}
}

// log returns all envelopes of the space.
func log(t *testing.T, alice *api.Client) (list []protocol.Envelope) {
	t.Helper()
	for q := (api.EnvelopeQuery{Limit: 1000}); ; {
		page, err := alice.Envelopes(testkit.Deadline(t), "lab", q)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, page.Envelopes...)
		if !page.HasMore {
			return list
		}
		q.Since = page.Next
	}
}

// connected waits until a participant is connected, with the services that it declares.
func connected(t *testing.T, alice *api.Client, id protocol.ParticipantID, serves ...string) {
	t.Helper()
	testkit.Eventually(t, "connected", func() bool {
		list, err := alice.Participants(testkit.Deadline(t), "lab")
		return err == nil && slices.ContainsFunc(list, func(p protocol.Participant) bool { return p.ID == id && slices.Equal(p.Serves, serves) })
	})
}

func text(e *protocol.Envelope) string { return e.ParsePayload().Get("message").Text() }

// The example agent answers a question with the tool of another program, as the package
// that npm would publish runs it.
func TestExample(t *testing.T) {
	examples := "node_modules/@meup-protocol/sdk/examples/"
	for name, env := range map[string]string{"WebSocket of Node": "", "standard WebSocket": "NODE_OPTIONS=--import=./test/standard.mjs"} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, readmeConfig(t))
			alice := g.API(t, "alice")
			host := start(t, g.HTTP(), "weather", examples+"tools.mjs", env)
			agent := start(t, g.HTTP(), "planner", examples+"agent.mjs", env)
			connected(t, alice, "weather", protocol.ServesTools)
			connected(t, alice, "planner")
			ask(t, alice, "q", "@planner How warm is it?")
			testkit.Eventually(t, "an answer", func() bool {
				return slices.ContainsFunc(log(t, alice), func(e protocol.Envelope) bool { return e.From == "planner" && e.Kind == protocol.KindChat })
			})
			var got []string
			for _, e := range log(t, alice) {
				if e.From != "alice" && e.Kind != protocol.KindParticipantStatus && !strings.Contains(string(e.Payload), "tools/list") && !strings.Contains(string(e.Payload), `"tools"`) {
					got = append(got, string(e.From)+" "+string(e.Kind)+" "+text(&e))
				}
			}
			want := []string{
				"planner reasoning.start Looking into: @planner How warm is it?",
				"planner reasoning.thought The weather service has the temperature.",
				"planner mcp.request ", "weather mcp.response ",
				"planner reasoning.conclusion It returned 3.", "planner chat In Oslo it is 3 °C.",
			}
			if !slices.Equal(got, want) {
				t.Errorf("the log has\n%s", strings.Join(got, "\n"))
			}
			agent.terminate()
			host.terminate()
		})
	}
	lines, err := os.ReadFile("examples/agent.mjs")
	if n := strings.Count(string(lines), "\n"); err != nil || n > 15 {
		t.Errorf("the example has %d lines: %v", n, err)
	}
}

// The connection is cut 20 times, 100 with make slow, while chats and questions pass in
// both directions.
func TestCuts(t *testing.T) {
	cuts := 20
	if testkit.IsSlow() {
		cuts = 100
	}
	g := meuptest.Start(t, config)
	alice := g.API(t, "alice")
	line := newCuttingProxy(t, g.Addr(), cuts)
	bot := start(t, "http://"+line.Addr().String(), "planner", "test/cuts.mjs")
	connected(t, alice, "planner")
	asked := 0
	for ; line.left() > 0; asked++ {
		var to []protocol.ParticipantID // to all: no question
		if asked%20 == 0 {
			to = []protocol.ParticipantID{"planner"}
		}
		ask(t, alice, "q"+itoa(asked), itoa(asked), to...)
	}
	ask(t, alice, "end", "the end", "planner")
	if err := bot.stdin.Close(); err != nil {
		t.Error(err)
	}
	var received []protocol.Seq
	for bot.lines.Scan() {
		var seq protocol.Seq
		if err := json.Unmarshal(bot.lines.Bytes(), &seq); err != nil {
			t.Fatalf("%q: %v", bot.lines.Text(), err)
		}
		received = append(received, seq)
	}
	bot.wait()
	checkCuts(t, log(t, alice), received)
	t.Logf("%d chats of alice", asked)
}

// checkCuts checks that the chats of the program are in the log once and in order, that
// each question has one answer and one concluded context, and that the program received
// each visible chat once and in order.
func checkCuts(t *testing.T, list []protocol.Envelope, received []protocol.Seq) {
	t.Helper()
	sent := 0
	answers, starts, ends := make(map[protocol.ID]int), make(map[protocol.ID]int), make(map[protocol.ContextPath]int)
	var visible []protocol.Seq
	for i := range list {
		e := &list[i]
		switch {
		case e.From == "alice":
			visible = append(visible, e.Seq)
		case e.Kind == protocol.KindChat && e.From == "planner" && len(e.Correlation.IDs) > 0:
			answers[e.Correlation.First()]++
		case e.Kind == protocol.KindChat && e.From == "planner" && text(e) != "done":
			if want := "m" + itoa(sent); text(e) != want {
				t.Fatalf("the log has %s where %s is next", text(e), want)
			}
			sent++
		case e.Kind == protocol.KindReasoningStart:
			starts[e.Correlation.First()]++
		case e.Kind == protocol.KindReasoningConclusion:
			ends[e.Context]++
		}
	}
	if !slices.Equal(received, visible) {
		t.Errorf("the program received %d chats, of %d; the same and in order: false", len(received), len(visible))
	}
	for i := range list {
		e := &list[i]
		if !e.AddressedTo("planner") || e.From != "alice" {
			continue
		}
		if answers[e.ID] != 1 || starts[e.ID] > 1 {
			t.Errorf("question %s: %d answers, %d contexts", e.ID, answers[e.ID], starts[e.ID])
		}
	}
	for path, n := range ends {
		if n != 1 {
			t.Errorf("context %s has %d conclusions", path, n)
		}
	}
	if sent == 0 || len(answers) == 0 {
		t.Errorf("%d chats, %d answers", sent, len(answers))
	}
}

// A program that receives slower than the gateway sends gets everything, once and in
// order, with a buffer that is far smaller than the log.
func TestSlowReceiver(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := g.API(t, "alice")
	for i := range 200 {
		ask(t, alice, "m"+itoa(i), itoa(i))
	}
	ask(t, alice, "end", "the end")
	p := start(t, g.HTTP(), "planner", "test/slow.mjs")
	for i, e := range log(t, alice)[:201] {
		if !p.lines.Scan() || p.lines.Text() != e.Seq.String() {
			t.Fatalf("chat %d: received %q", i, p.lines.Text())
		}
	}
	p.wait()
}

// The events of a thread, from its beginning and from a position, and a thread that does not
// exist.
func TestThreadEvents(t *testing.T) {
	g := meuptest.Start(t, config)
	ask(t, g.API(t, "alice"), "q", "why?")
	answer := client.Chat("because")
	answer.ID, answer.Correlation = "a", protocol.CorrelateTo("q")
	if _, err := g.API(t, "planner").Send(testkit.Deadline(t), "lab", answer); err != nil {
		t.Fatal(err)
	}
	p := start(t, g.HTTP(), "alice", "test/thread.mjs")
	for _, want := range []string{
		"all 1 asked alice  why? q", "all 1 answered planner  because a", "all 1 ended  completed because ",
		"rest 1 answered planner  because a", "rest 1 ended  completed because ", "404 not_found",
	} {
		if !p.lines.Scan() || p.lines.Text() != want {
			t.Errorf("got %q, want %q", p.lines.Text(), want)
		}
	}
	p.wait()
}

// The tests of the modules, with the runner of Node.
func TestModules(t *testing.T) {
	dir, node := install(t)
	files, err := filepath.Glob("test/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	cmd := exec.CommandContext(testkit.Deadline(t), node[0], append(append(node[1:], "--test"), files...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "FORCE_COLOR=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A strict program compiles with the types of the package, which are checked too, and no
// further library of the language.
func TestTypes(t *testing.T) {
	dir, node := install(t)
	compiler, err := filepath.Abs("../../web/node_modules/typescript/bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(testkit.Deadline(t), node[0], compiler, "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess",
		"--skipLibCheck", "false", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--types", "", "test/consumer.mts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
