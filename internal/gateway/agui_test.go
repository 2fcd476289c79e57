package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const aguiConfig = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*", observe]}
      watcher: {token: watcher-token, capabilities: ["*", observe]}
      guest: {token: guest-token, capabilities: [chat]}
      planner: {token: planner-token, capabilities: ["*"]}
      files: {token: files-token, capabilities: ["*"]}
`

// nodeModules returns the folder of the npm packages that tests run, with node, or
// skips the test.
func nodeModules(t *testing.T, pkg string) (node, modules string) {
	t.Helper()
	testkit.Reads(t, "testdata")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on this machine")
	}
	modules, err = filepath.Abs("../../.tools/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, pkg)); err != nil {
		t.Skip(pkg + " is not installed; run make install-npm")
	}
	return node, modules
}

// nodeRuns runs a script of testdata, which does the same for each of a list of runs, and
// returns the output of each.
func nodeRuns(t *testing.T, pkg, script string, env []string, runs []map[string]string) []string {
	t.Helper()
	node, modules := nodeModules(t, pkg)
	list, err := json.Marshal(runs)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), node, "testdata/"+script)
	c.Env = append([]string{"MODULES=" + modules, "RUNS=" + string(list)}, env...)
	var errors strings.Builder
	c.Stderr = &errors
	out, err := c.Output()
	outs := strings.SplitAfter(string(out), "\n\n")
	if err != nil || errors.Len() > 0 || len(outs) != len(runs)+1 {
		t.Fatalf("%v\n%s%s", err, out, errors.String())
	}
	return outs[:len(runs)]
}

// actor publishes envelopes as several participants.
type actor struct {
	t *testing.T
	g *meuptest.Gateway
	// restarts is held while the gateway restarts; nil: it does not.
	restarts *sync.RWMutex
}

// running calls f while the gateway does not restart.
func (a actor) running(f func()) {
	if a.restarts != nil {
		a.restarts.RLock()
		defer a.restarts.RUnlock()
	}
	f()
}

// does publishes an envelope of a participant; context, to and correlation may be empty.
func (a actor) does(who, id, kind, within, to, correlation, payload string) protocol.Seq {
	e := envelopeOf(id, kind, within, to, correlation, payload)
	var receipt api.Receipt
	var err error
	a.running(func() { receipt, err = a.g.API(a.t, who).Send(a.t.Context(), "lab", e) })
	if err != nil && a.t.Context().Err() == nil { // an answer may be under way when the test ends
		a.t.Errorf("%s %s: %v", who, kind, err)
	}
	return receipt.Seq
}

func envelopeOf(id, kind, within, to, correlation, payload string) protocol.Envelope {
	e := protocol.Envelope{ID: protocol.ID(id), Kind: protocol.Kind(kind), Context: protocol.ContextPath(within), Payload: json.RawMessage(payload)}
	if to != "" {
		e.To = []protocol.ParticipantID{protocol.ParticipantID(to)}
	}
	if correlation != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(correlation))
	}
	return e
}

// concludes publishes a conclusion and the answer behind it in one request: a turn that has no
// answer ends a moment after its conclusion, which two requests on a busy machine can miss.
func (a actor) concludes(who string, conclusion, answer protocol.Envelope) {
	body := fmt.Sprintf("[%s,%s]", api.EncodeDraft(&conclusion), api.EncodeDraft(&answer))
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.g.HTTP()+"/api/spaces/lab/envelopes", strings.NewReader(body))
	if err != nil {
		a.t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+who+"-token")
	var resp *http.Response
	a.running(func() { resp, err = http.DefaultClient.Do(r) })
	if err == nil {
		err = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %s", resp.Status)
		}
	}
	if err != nil && a.t.Context().Err() == nil {
		a.t.Errorf("%s concludes: %v", who, err)
	}
}

// next waits for an envelope of a kind after a position. The bound is longer than all
// cuts of a test take.
func (a actor) next(kind protocol.Kind, since protocol.Seq) protocol.Envelope {
	ctx := testkit.Deadline(a.t)
	c, q := a.g.API(a.t, "alice"), api.EnvelopeQuery{Since: since, Kinds: []string{string(kind)}}
	for {
		var page *api.Envelopes
		var err error
		a.running(func() { page, err = c.Envelopes(ctx, "lab", q) })
		if err != nil {
			a.t.Error(err)
			return protocol.Envelope{}
		}
		if len(page.Envelopes) > 0 {
			return page.Envelopes[0]
		}
		q.Since = max(q.Since, page.Next)
		as := a.g.API(a.t, "watcher") // its own envelopes do not wake a participant
		if err := as.Await(ctx, "lab", q); err != nil && a.restarts == nil {
			a.t.Error(err)
			return protocol.Envelope{}
		}
	}
}

const (
	readCall  = `"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}`
	writeCall = `"method":"tools/call","params":{"name":"write","arguments":{"path":"b.txt"}}`
)

// answers plays a planner that thinks, calls a tool, asks another agent, proposes a
// call if told to, and answers; and the participants that it needs.
func (a actor) answers(proposes bool) {
	q := a.next(protocol.KindChat, 0)
	a.does("planner", "s", "reasoning.start", "", "", string(q.ID), `{"message":"thinking about it"}`)
	a.does("planner", "o", "stream.open", "s", "", "", `{"stream_id":"grows","description":"a thought that grows"}`)
	a.does("planner", "d", "stream.data", "s", "", "", `{"stream_id":"grows","data":"first "}`)
	a.does("planner", "e", "stream.close", "s", "", "", `{"stream_id":"grows"}`)
	a.does("planner", "t", "reasoning.thought", "s", "", "", `{"message":"first I read the file","stream_id":"grows"}`)
	a.does("planner", "call", "mcp.request", "s", "files", "", `{"jsonrpc":"2.0","id":1,`+readCall+`}`)
	a.does("files", "r", "mcp.response", "", "planner", "call", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the text"}]}}`)
	a.does("planner", "n", "reasoning.start", "s", "", "", `{"message":"a part","participant_id":"files"}`)
	a.does("files", "nt", "reasoning.thought", "s/n", "", "", `{"message":"within the part"}`)
	a.does("files", "nc", "reasoning.conclusion", "s/n", "", "", `{"message":"the part is done"}`)
	end := "done"
	if proposes {
		seq := a.does("planner", "p", "mcp.proposal", "s", "", "", `{"participant_id":"files",`+writeCall+`}`)
		if decided := a.next("mcp.re*", seq); decided.Kind == protocol.KindMCPRequest {
			a.does("files", "r2", "mcp.response", "", string(decided.From), string(decided.ID), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"written"}]}}`)
			end = "written"
		} else {
			end = "not written"
		}
	}
	a.concludes("planner", envelopeOf("c", "reasoning.conclusion", "s", "", "", `{"message":"that is it"}`),
		envelopeOf("a", "chat", "", "alice", string(q.ID), fmt.Sprintf(`{"message":%q}`, end)))
}

// A front end with the client of AG-UI, which verifies the order of events, asks,
// follows the reasoning, decides on a proposal, and gets the answer.
func TestAGUI_Client(t *testing.T) {
	t.Parallel()
	nodeModules(t, "@ag-ui/client")
	var runs []map[string]string
	var played sync.WaitGroup
	t.Cleanup(played.Wait)
	for _, decision := range []string{"", "approve", "reject"} {
		g := meuptest.Start(t, aguiConfig)
		played.Go(func() { actor{t: t, g: g}.answers(decision != "") })
		runs = append(runs, map[string]string{"ADDRESS": g.HTTP() + "/api/spaces/lab/agui", "DECISION": decision})
	}
	outs := nodeRuns(t, "@ag-ui/client", "agui.mjs", []string{"TOKEN=alice-token", "THREAD=thread-1", "QUESTION=why?"}, runs)
	played.Wait()
	for i, run := range runs {
		t.Run(run["DECISION"], func(t *testing.T) { checkAGUI(t, outs[i], run["DECISION"]) })
	}
}

var delta = regexp.MustCompile(`"delta":"([^"]*)"`)

func checkAGUI(t *testing.T, out, decision string) {
	t.Helper()
	for _, want := range []string{
		`"toolCallName":"read"`, `"content":"the text"`, `"delta":"that is it"`,
		`"subagentRunId":"n","name":"files"`, `"delta":"within the part"`, `"type":"SUBAGENT_FINISHED"`,
		map[string]string{"": `"delta":"done"`, "approve": `"delta":"written"`, "reject": `"delta":"not written"`}[decision],
		map[string]string{"": `"ids":[]`, "approve": `"content":"written"`, "reject": `rejected by alice: no thanks`}[decision],
	} {
		if !strings.Contains(out, want) {
			t.Errorf("missing %s", want)
		}
	}
	out, _, _ = strings.Cut(out, `{"type":"messages"`)
	starts := map[string]int{"": 1, "approve": 2, "reject": 2}[decision]
	if n := strings.Count(out, `"type":"RUN_STARTED"`); n != starts || strings.Count(out, `"type":"RUN_FINISHED"`) != starts {
		t.Errorf("%d runs", n)
	}
	// A text that grows is not in the log: a run that reads later has the whole thought
	// (TestAGUI_Grows).
	var thoughts strings.Builder
	for _, found := range delta.FindAllStringSubmatch(out, -1) {
		thoughts.WriteString(found[1])
	}
	if n := strings.Count(thoughts.String(), "first I read the file"); n != 1 {
		t.Errorf("%d times the thought in %q", n, thoughts.String())
	}
	for _, once := range []string{`"delta":"within the part"`, `"content":"the text"`} {
		if n := strings.Count(out, once); n != 1 {
			t.Errorf("%d times %s", n, once)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// runAGUI posts an input and returns the events, without their positions.
func runAGUI(t *testing.T, g *meuptest.Gateway, token, input string, header ...string) (status int, events []string) {
	t.Helper()
	status, body := postAs(t, g, token, "/api/spaces/lab/agui", input, header...)
	if status != 200 {
		return status, []string{body}
	}
	for _, line := range strings.Split(body, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			events = append(events, data)
		}
	}
	return status, events
}

// A run that follows live has a thought as it grows, and then what is missing of it.
func TestAGUI_Grows(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, aguiConfig)
	a := actor{t: t, g: g}
	live := make(chan struct{})
	var played sync.WaitGroup
	defer played.Wait()
	played.Go(func() {
		q := a.next(protocol.KindChat, 0)
		a.does("planner", "s", "reasoning.start", "", "", string(q.ID), `{"message":"thinking about it"}`)
		a.does("planner", "o", "stream.open", "s", "", "", `{"stream_id":"grows","description":"a thought that grows"}`)
		a.does("planner", "b", "reasoning.thought", "s", "", "", `{"message":"before"}`)
		select {
		case <-live:
		case <-testkit.Deadline(t).Done():
		}
		a.does("planner", "d", "stream.data", "s", "", "", `{"stream_id":"grows","data":"first "}`)
		a.does("planner", "e", "stream.close", "s", "", "", `{"stream_id":"grows"}`)
		a.does("planner", "t", "reasoning.thought", "s", "", "", `{"message":"first I read the file","stream_id":"grows"}`)
		a.concludes("planner", envelopeOf("c", "reasoning.conclusion", "s", "", "", `{"message":"that is it"}`),
			envelopeOf("a", "chat", "", "alice", string(q.ID), `{"message":"done"}`))
	})
	r, err := http.NewRequestWithContext(testkit.Deadline(t), http.MethodPost, g.HTTP()+"/api/spaces/lab/agui", strings.NewReader(fmt.Sprintf(aguiInput, "")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var deltas []string
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		found := delta.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		deltas = append(deltas, found[1])
		if found[1] == "before" {
			close(live)
		}
	}
	if want := []string{"before", "first ", "I read the file", "that is it", "done"}; !slices.Equal(deltas, want) {
		t.Errorf("deltas %q, want %q", deltas, want)
	}
}

const aguiInput = `{"threadId":"t","runId":"r","state":{},"tools":[],"context":[],"messages":[{"id":"m","role":"user","content":"why?"}]%s}`

// An answer that a model writes with its decision is sent as it grows, once, and the chat
// adds what is missing. The beginning that looked like a thought is not sent as one.
func TestAdapters_AnswerGrows(t *testing.T) {
	t.Parallel()
	said := regexp.MustCompile(`"(?:delta|content|reasoning_content)":"([^"]+)"`)
	unnamed := strings.NewReplacer("planner: ", "", "**planner**: ", "", `\n`, "")
	for path, body := range map[string]string{
		"/api/spaces/lab/agui": fmt.Sprintf(aguiInput, ""),
		"/v1/chat/completions": chatBody("lab", `{"role":"user","content":"why?"}`, `,"stream":true`),
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			g := meuptest.Start(t, aguiConfig)
			a := actor{t: t, g: g}
			seen := make(chan string, 16)
			var played sync.WaitGroup
			defer played.Wait()
			defer close(seen)
			played.Go(func() {
				id := string(a.next(protocol.KindChat, 0).ID)
				a.does("planner", "s", "reasoning.start", "", "", id, `{}`)
				a.does("planner", "o", "stream.open", "s", "", "", `{"stream_id":"early","provisional":true}`)
				a.does("planner", "b", "reasoning.thought", "s", "", "", `{"message":"before"}`)
				for text := range seen {
					switch text {
					case "before": // the client follows live
						a.does("planner", "d", "stream.data", "s", "", "", `{"stream_id":"early","data":"It listens"}`)
						a.does("planner", "e", "stream.close", "s", "", "", `{"stream_id":"early","reason":"withdrawn"}`)
						a.does("planner", "p", "stream.open", "", "alice", id, `{"stream_id":"late"}`)
						a.does("planner", "f", "stream.data", "", "alice", id, `{"stream_id":"late","data":"It listens on port"}`)
						a.does("planner", "m", "reasoning.thought", "s", "", "", `{"message":"meanwhile"}`)
					case "meanwhile": // the answer is not complete
						a.does("planner", "h", "stream.close", "", "alice", id, `{"stream_id":"late"}`)
						a.concludes("planner", envelopeOf("c", "reasoning.conclusion", "s", "", "", `{"message":"It listens"}`),
							envelopeOf("a", "chat", "", "alice", id, `{"message":"It listens on port 8080.","stream_id":"late"}`))
					}
				}
			})
			r, err := http.NewRequestWithContext(testkit.Deadline(t), http.MethodPost, g.HTTP()+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer alice-token")
			r.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var texts []string
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				found := said.FindStringSubmatch(lines.Text())
				if found == nil {
					continue
				}
				text := unnamed.Replace(found[1])
				if len(texts) == 0 && text != "before" { // the planner is not connected
					continue
				}
				texts = append(texts, text)
				seen <- text
			}
			if want := []string{"before", "It listens on port", "meanwhile", " 8080."}; !slices.Equal(texts, want) {
				t.Errorf("the client got %q, want %q", texts, want)
			}
		})
	}
}

// A run that is sent again asks nothing twice, and one that continues after a position
// has what follows.
func TestAGUI_Again(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	var played sync.WaitGroup
	defer played.Wait()
	played.Go(func() { actor{t: t, g: g}.answers(false) })
	_, first := runAGUI(t, g, "alice-token", fmt.Sprintf(aguiInput, ""))
	_, again := runAGUI(t, g, "alice-token", fmt.Sprintf(aguiInput, ""))
	if len(first) < 20 || !strings.Contains(first[len(first)-1], `"RUN_FINISHED"`) {
		t.Fatalf("%q", first)
	}
	again = withoutDeltas(again)
	if !slices.Equal(withoutDeltas(first), again) {
		t.Errorf("first\n%s\nagain\n%s", strings.Join(first, "\n"), strings.Join(again, "\n"))
	}
	_, log := story(t, g, "alice")
	questions := 0
	var call protocol.Seq
	for _, e := range log {
		if e.Kind == protocol.KindChat && e.From == "alice" {
			questions++
		}
		if e.ID == "call" {
			call = e.Seq
		}
	}
	if questions != 1 {
		t.Errorf("%d questions", questions)
	}
	_, rest := runAGUI(t, g, "alice-token", fmt.Sprintf(aguiInput, ""), "Last-Event-ID", call.String())
	all := strings.Join(rest, "\n")
	if !strings.Contains(rest[1], "REASONING_START") || strings.Contains(all, "TOOL_CALL_START") || !strings.Contains(all, "TOOL_CALL_RESULT") {
		t.Errorf("after the call\n%s", all)
	}
}

// withoutDeltas leaves out the text that grew, which is not in the log.
func withoutDeltas(events []string) (out []string) {
	for _, e := range events {
		if !strings.Contains(e, `"grows"`) && !strings.Contains(e, `"messageId":"t"`) {
			out = append(out, e)
		}
	}
	return out
}

// A participant decides only what it may, on proposals of its question.
func TestAGUI_Decisions(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	a := actor{t: t, g: g}
	a.does("planner", "old", "mcp.proposal", "", "", "", `{"participant_id":"files",`+writeCall+`}`)
	for _, test := range []struct {
		token, resume string
		status        int
		want          string
	}{
		{"alice-token", `,"resume":[{"interruptId":"old","status":"resolved","payload":{"approved":true}}]`, 400, "no such proposal"},
		{"alice-token", `,"resume":[{"interruptId":"nothing","status":"resolved","payload":{"approved":true}}]`, 400, "no such proposal"},
		{"alice-token", `,"resume":[{"interruptId":"x","status":"cancelled"},{"interruptId":"x","status":"cancelled"}]`, 400, "twice"},
		{"", "", 401, "token"},
		{"wrong", "", 401, ""},
	} {
		if status, body := runAGUI(t, g, test.token, fmt.Sprintf(aguiInput, test.resume)); status != test.status || !strings.Contains(body[0], test.want) {
			t.Errorf("%s: %d %s", test.resume, status, body)
		}
	}
	var played sync.WaitGroup
	defer played.Wait()
	played.Go(func() { a.answers(true) })
	// The guest gets no interrupt, since it may not make the call, and cannot decide.
	guest := strings.ReplaceAll(aguiInput, `"m"`, `"g"`)
	_, _ = runAGUI(t, g, "guest-token", `{}`)
	p := a.next(protocol.KindMCPProposal, 1)
	if status, body := runAGUI(t, g, "guest-token", fmt.Sprintf(guest, fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, p.ID))); status == 200 {
		t.Errorf("%s", body)
	}
	// The interrupt comes again until there is a decision, also after its position.
	for _, last := range []string{"1", p.Seq.String()} {
		if _, events := runAGUI(t, g, "alice-token", fmt.Sprintf(aguiInput, ""), "Last-Event-ID", last); !strings.Contains(strings.Join(events, ""), `"type":"interrupt"`) {
			t.Errorf("after %s: %q", last, events)
		}
	}
	resume := fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, p.ID)
	for range 2 { // the second one is a retry
		if status, events := runAGUI(t, g, "alice-token", fmt.Sprintf(aguiInput, resume)); status != 200 || !strings.Contains(strings.Join(events, ""), `"delta":"written"`) {
			t.Errorf("%d %s", status, events)
		}
	}
	// Without the decision, a run that is sent again is not interrupted anew.
	if _, events := runAGUI(t, g, "alice-token", fmt.Sprintf(aguiInput, "")); !strings.Contains(strings.Join(events, ""), `"delta":"written"`) {
		t.Errorf("%q", events)
	}
	_, log := story(t, g, "alice")
	decisions := 0
	for _, e := range log {
		if e.Correlation.Names(p.ID) {
			decisions++
		}
	}
	if decisions != 1 {
		t.Errorf("%d decisions", decisions)
	}
}

// In a space that requires the capability decide, the run of a participant that may make
// the call, but not decide, goes on until another participant decides.
func TestAGUI_DecideExplicit(t *testing.T) {
	g := meuptest.Start(t, strings.NewReplacer("participants:", "proposals: {decide: explicit}\n    participants:",
		"guest: {token: guest-token, capabilities: [chat]}", "guest: {token: guest-token, capabilities: [chat, mcp.request]}").Replace(aguiConfig))
	a := actor{t: t, g: g}
	var played sync.WaitGroup
	played.Go(func() { a.answers(true) })
	played.Go(func() {
		p := a.next(protocol.KindMCPProposal, 0)
		a.does("alice", "f", "mcp.request", "s", "files", string(p.ID), `{"jsonrpc":"2.0","id":7,`+writeCall+`}`)
	})
	status, events := runAGUI(t, g, "guest-token", fmt.Sprintf(aguiInput, ""))
	played.Wait()
	if all := strings.Join(events, "\n"); status != 200 || strings.Contains(all, `"type":"interrupt"`) || !strings.Contains(all, `"delta":"written"`) {
		t.Errorf("%d\n%s", status, all)
	}
}

// Connections are cut again and again in the middle of a run, and between a proposal and its
// outcome. What has an id arrives once and in order, and the log has
// one question and one decision for each proposal.
func TestAGUI_Cuts(t *testing.T) {
	t.Parallel()
	random := testkit.Rand(t)
	g := meuptest.Start(t, aguiConfig)
	a := actor{t: t, g: g}
	const thoughts = 10 // before each proposal
	proposals := cutsOf(20)
	var played sync.WaitGroup
	played.Go(func() { a.proposes(proposals, thoughts) })
	last, resume, ended := "", "", false
	var ids []string
	cuts, approvals := 0, 0 // the latter of runs that have a decision with them
	for n := 0; !ended; n++ {
		if n > 5000 {
			t.Fatal("the run does not end")
		}
		limit := random.IntN(900)
		events, cut := cutAGUI(t, g, fmt.Sprintf(aguiInput, resume), last, int64(limit))
		if cut {
			cuts++
			if resume != "" {
				approvals++
			}
		}
		for _, event := range events {
			if id, ok := strings.CutPrefix(event, "id: "); ok {
				last, _, _ = strings.Cut(id, "\n")
				if !strings.Contains(id, `"interrupt"`) { // it comes again until there is a decision
					ids = append(ids, last)
				}
			}
			if _, after, ok := strings.Cut(event, `"interrupts":[{"id":"`); ok {
				id, _, _ := strings.Cut(after, `"`)
				resume = fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, id)
			} else if strings.Contains(event, `many, with some text`) {
				resume = "" // the outcome has arrived
			}
			ended = ended || strings.Contains(event, `"outcome":{"type":"success"}`)
		}
	}
	played.Wait()
	for i := 1; i < len(ids); i++ {
		if x, y := len(ids[i-1]), len(ids[i]); x > y || x == y && ids[i-1] >= ids[i] {
			t.Fatalf("%s after %s", ids[i], ids[i-1])
		}
	}
	_, log := story(t, g, "alice")
	chats, decisions := 0, 0
	for _, e := range log {
		if e.From == "alice" && e.Kind == protocol.KindChat {
			chats++
		}
		if e.From == "alice" && e.Kind == protocol.KindMCPRequest {
			decisions++
		}
	}
	if chats != 1 || decisions != proposals || len(ids) < proposals*thoughts {
		t.Errorf("%d questions, %d decisions, %d positions", chats, decisions, len(ids))
	}
	if t.Logf("%d cuts, %d of approvals", cuts, approvals); cuts < 10*proposals || approvals < proposals {
		t.Errorf("%d cuts, %d of approvals", cuts, approvals)
	}
}

// proposes plays a planner that thinks and proposes calls, in turn, and answers.
func (a actor) proposes(proposals, thoughts int) {
	q := a.next(protocol.KindChat, 0)
	a.does("planner", "s", "reasoning.start", "", "", string(q.ID), `{"message":"thinking"}`)
	for p := range proposals {
		for i := range thoughts {
			a.does("planner", fmt.Sprintf("t%d-%d", p, i), "reasoning.thought", "s", "", "", fmt.Sprintf(`{"message":"thought %d of many, with some text to cut in"}`, i))
		}
		seq := a.does("planner", fmt.Sprint("p", p), "mcp.proposal", "s", "", "", `{"participant_id":"files",`+writeCall+`}`)
		decided := a.next("mcp.request", seq)
		a.does("files", fmt.Sprint("r", p), "mcp.response", "", string(decided.From), string(decided.ID), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"written"}]}}`)
	}
	a.concludes("planner", envelopeOf("c", "reasoning.conclusion", "s", "", "", `{"message":"that is it"}`),
		envelopeOf("a", "chat", "", "alice", string(q.ID), `{"message":"done"}`))
}

// cutAGUI runs an input and cuts the connection after so many bytes of the response. It
// returns the complete events, and whether the run had more.
func cutAGUI(t *testing.T, g *meuptest.Gateway, input, last string, limit int64) (events []string, cut bool) {
	t.Helper()
	ctx := testkit.Deadline(t) // a run without an end fails the test
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.HTTP()+"/api/spaces/lab/agui", strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, limit))
	if ctx.Err() != nil {
		t.Fatalf("the run has no end:\n%s", text)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	events = strings.Split(string(text), "\n\n")
	return events[:len(events)-1], len(text) == int(limit)
}
