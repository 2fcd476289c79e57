package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// runOpenAI runs steps of the client of npm and returns its lines.
func runOpenAI(t *testing.T, g *meuptest.Gateway, model, question, steps string) []string {
	t.Helper()
	node, modules := nodeModules(t, "openai")
	c := exec.CommandContext(t.Context(), node, "testdata/openai.mjs")
	c.Env = []string{"MODULES=" + modules, "ADDRESS=" + g.HTTP(), "TOKEN=alice-token", "MODEL=" + model, "QUESTION=" + question, "STEPS=" + steps}
	var errors strings.Builder
	c.Stderr = &errors
	out, err := c.Output()
	if err != nil || errors.Len() > 0 {
		t.Fatalf("%v\n%s%s", err, out, errors.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// responder joins the space as planner and answers each chat with "re: " and its text, with
// a thought, until the test ends.
func (a actor) responder() {
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(a.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.g.HTTP()+"/api/spaces/lab/events?since=0&echo=false", http.NoBody)
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer planner-token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	go func() {
		defer close(done)
		defer resp.Body.Close()
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			data, ok := strings.CutPrefix(in.Text(), "data: ")
			if !ok {
				continue
			}
			e, err := protocol.DecodeDelivered([]byte(data))
			if err != nil || e.Kind != protocol.KindChat || e.From == "planner" {
				continue
			}
			a.answer(string(e.ID), e.ParsePayload().Get("message").Text())
		}
	}()
	a.t.Cleanup(func() { cancel(); <-done })
}

func (a actor) answer(id, message string) {
	within := "s-" + id
	a.does("planner", within, "reasoning.start", "", "", id, `{"message":"thinking"}`)
	a.does("planner", "t-"+id, "reasoning.thought", within, "", "", `{"message":"I consider it"}`)
	text, err := json.Marshal(map[string]string{"message": "re: " + message})
	if err != nil {
		a.t.Error(err)
	}
	a.concludes("planner", envelopeOf("c-"+id, "reasoning.conclusion", within, "", "", `{"message":"done","metadata":{"usage":{"input_tokens":7,"output_tokens":3,"cached_tokens":4,"reasoning_tokens":1}}}`),
		envelopeOf("a-"+id, "chat", "", "", id, string(text)))
}

func contains(t *testing.T, lines []string, wanted ...string) {
	t.Helper()
	all := strings.Join(lines, "\n")
	for _, want := range wanted {
		if !strings.Contains(all, want) {
			t.Errorf("missing %s", want)
		}
	}
	if t.Failed() {
		t.Log(all)
	}
}

// questions returns the chats of alice.
func questions(t *testing.T, g *meuptest.Gateway) (list []protocol.Envelope) {
	t.Helper()
	_, log := story(t, g, "alice")
	for _, e := range log {
		if e.Kind == protocol.KindChat && e.From == "alice" {
			list = append(list, e)
		}
	}
	return list
}

// The client of npm lists models, asks, streams, and continues conversations.
func TestOpenAI_Client(t *testing.T) {
	t.Parallel()
	nodeModules(t, "openai")
	g := meuptest.Start(t, aguiConfig)
	actor{t: t, g: g}.responder()
	out := runOpenAI(t, g, "lab/planner", "why?", "models,chat,stream,follow,response,responses,faults")
	contains(t, out,
		`{"model":"lab"}`, `{"model":"lab/planner"}`, `{"one":"lab/planner"}`,
		`"content":"re: why?"`, `"reasoning_content":"thinking\n\nI consider it\n\ndone"`, `"usage":{"completion_tokens":3,"completion_tokens_details":{"reasoning_tokens":1},"prompt_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"total_tokens":10}`,
		`"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":10}`,
		`"delta":{"reasoning_content":"thinking","role":"assistant"}`, `"delta":{"content":"re: why?"}`, `"finish_reason":"stop"`,
		`{"follow":"re: and now?"}`, `{"response":"re: why?"`, `{"again":"re: why?","same":true}`, `{"next":"re: next"}`,
		`"type":"response.reasoning_summary_text.delta"`, `{"final":"re: why?"`, `"status":"completed"}`,
		`{"fault":"NotFoundError","status":404,"code":"model_not_found","param":"model","type":"invalid_request_error"}`,
		`{"fault":"BadRequestError","status":400,"code":"unsupported_parameter","param":"n"`,
		`{"fault":"BadRequestError","status":400,"code":"unsupported_parameter","param":"tools"`,
		`{"fault":"BadRequestError","status":400,"code":"invalid_value","param":"messages"`,
		`{"fault":"AuthenticationError","status":401,"code":"invalid_api_key"}`)
	if strings.Contains(strings.Join(out, ""), `"fault":"none"`) {
		t.Error("a fault was accepted")
	}
	// The follow-up and the next response are in the thread of their questions.
	list := questions(t, g)
	byText := make(map[string][]protocol.Envelope)
	for _, e := range list {
		text := e.ParsePayload().Get("message").Text()
		byText[text] = append(byText[text], e)
	}
	for _, text := range []string{"and now?", "next"} {
		if asked := byText[text]; len(asked) != 1 || len(asked[0].Correlation.IDs) != 1 {
			t.Errorf("%s: %d times, replies to %v", text, len(asked), asked)
		}
	}
	for _, e := range list {
		if !slices.Equal(e.To, []protocol.ParticipantID{"planner"}) {
			t.Errorf("to %v", e.To)
		}
	}
}

// A question to the space is for all; a proposal waits while the stream is open, and is
// decided elsewhere, not by the chat.
func TestOpenAI_Proposal(t *testing.T) {
	t.Parallel()
	nodeModules(t, "openai")
	g := meuptest.Start(t, aguiConfig)
	a := actor{t: t, g: g}
	var played sync.WaitGroup
	played.Go(func() { a.answers(true) })
	played.Go(func() {
		p := a.next(protocol.KindMCPProposal, 0)
		a.does("alice", "approval", "mcp.request", "", "files", string(p.ID), `{"jsonrpc":"2.0","id":1,`+writeCall+`}`)
	})
	out := runOpenAI(t, g, "lab", "why?", "stream")
	played.Wait()
	contains(t, out, `"content":"**planner**: written"`,
		`planner: calls read at files with {\"path\":\"a.txt\"}`, `files: returned: 8 characters`,
		`planner: asks files: a part`, `planner: proposes to call write at files`, `meup proposals approve p`, `alice: decided on proposal p: fulfilled`)
	reasoning := ""
	for _, line := range out {
		_, text, _ := strings.Cut(line, `"reasoning_content":"`)
		text, _, _ = strings.Cut(text, `"},`)
		reasoning += text
	}
	if n := strings.Count(reasoning, `planner: first I read the file\n`); n != 1 {
		t.Errorf("text that grew is shown %d times", n)
	}
}

func chatBody(model, messages, more string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[%s]%s}`, model, messages, more)
}

// Faults have the form of the API.
func TestOpenAI_Faults(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	const user = `{"role":"user","content":"x"}`
	for name, test := range map[string]struct {
		token, path, body string
		status            int
		want              string
	}{
		"no token":     {"", "/v1/chat/completions", chatBody("lab", user, ""), 401, `"invalid_api_key"`},
		"no json":      {"alice-token", "/v1/chat/completions", "x", 400, `"param":null`},
		"no model":     {"alice-token", "/v1/chat/completions", `{}`, 400, `"param":"model"`},
		"other space":  {"alice-token", "/v1/chat/completions", chatBody("x", user, ""), 404, `"model_not_found"`},
		"odd model":    {"alice-token", "/v1/chat/completions", chatBody("lab/a/b", user, ""), 404, `"model_not_found"`},
		"itself":       {"alice-token", "/v1/chat/completions", chatBody("lab/alice", user, ""), 400, `"param":"model"`},
		"no user":      {"alice-token", "/v1/chat/completions", chatBody("lab", `{"role":"system","content":"x"}`, ""), 400, `"param":"messages"`},
		"audio":        {"alice-token", "/v1/chat/completions", chatBody("lab", `{"role":"user","content":[{"type":"input_audio"}]}`, ""), 400, `"param":"messages"`},
		"audio output": {"alice-token", "/v1/chat/completions", chatBody("lab", user, `,"modalities":["text","audio"]`), 400, `"param":"modalities"`},
		"schema":       {"alice-token", "/v1/chat/completions", chatBody("lab", user, `,"response_format":{"type":"json_object"}`), 400, `"param":"response_format"`},
		"tool result":  {"alice-token", "/v1/chat/completions", chatBody("lab", user+`,{"role":"tool","content":"x"}`, ""), 400, `"param":"messages"`},
		"stream":       {"alice-token", "/v1/chat/completions", chatBody("lab", user, `,"stream":"yes"`), 400, `"param":"stream"`},
		"previous":     {"alice-token", "/v1/responses", `{"model":"lab","input":"x","previous_response_id":"resp_0"}`, 404, `"param":"previous_response_id"`},
		"too large":    {"alice-token", "/v1/responses", `{"model":"lab","input":"` + strings.Repeat("x", 5<<20) + `"}`, 413, `"message_too_large"`},
		"long message": {"alice-token", "/v1/responses", `{"model":"lab","input":"` + strings.Repeat("x", 2<<20) + `"}`, 413, `"message_too_large"`},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := postAs(t, g, test.token, test.path, test.body)
			var e struct {
				Error struct{ Message, Type string } `json:"error"`
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || status != test.status || !strings.Contains(body, test.want) || e.Error.Message == "" || e.Error.Type == "" {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	if n := len(questions(t, g)); n != 0 {
		t.Errorf("%d questions", n)
	}
}

// A participant over its rate gets 429 and a time to wait; a turn without an answer is an
// error that the client does not repeat.
func TestOpenAI_Refusals(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(aguiConfig, `guest: {token: guest-token, capabilities: [chat]}`,
		`guest: {token: guest-token, capabilities: [chat], limits: {kinds: [{kind: chat, rate: 0.001, burst: 1}]}}`, 1))
	a := actor{t: t, g: g}
	var played sync.WaitGroup
	played.Go(func() {
		q := a.next(protocol.KindChat, 0)
		a.does("planner", "s", "reasoning.start", "", "", string(q.ID), `{"message":"thinking"}`)
		a.does("planner", "c", "reasoning.cancel", "s", "", "", `{"reason":"no model"}`)
	})
	body := chatBody("lab", `{"role":"user","content":"x"}`, "")
	status, text := postAs(t, g, "guest-token", "/v1/chat/completions", body)
	played.Wait()
	if status != http.StatusBadGateway || !strings.Contains(text, "no model") {
		t.Errorf("%d %s", status, text)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+"/v1/chat/completions", strings.NewReader(strings.Replace(body, `"x"`, `"y"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer guest-token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}

// The chat of a participant that gave the question up is no answer: without a stream it is
// a 502, in a stream an error. A stream begins before anybody has answered.
func TestOpenAI_GaveUp(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	a := actor{t: t, g: g}
	giveUp := func(id string) {
		a.does("planner", "s-"+id, "reasoning.start", "", "", id, `{"message":"thinking"}`)
		a.does("planner", "c-"+id, "reasoning.cancel", "s-"+id, "", "", `{"reason":"no model"}`)
		a.does("planner", "a-"+id, "chat", "", "", id, `{"message":"I have stopped looking into this: no model."}`)
	}
	for _, test := range []struct{ path, body, want string }{
		{"/v1/chat/completions", `{"model":"lab","messages":[{"role":"user","content":"one"}]}`, `{"error":{`},
		{"/v1/chat/completions", `{"model":"lab","messages":[{"role":"user","content":"two"}],"stream":true}`, "data: {\"error\":{"},
		{"/v1/responses", `{"model":"lab","input":"three"}`, `{"error":{`},
		{"/v1/responses", `{"model":"lab","input":"four","stream":true}`, "event: response.failed\n"},
	} {
		t.Run(test.path+" "+test.body, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer alice-token")
			streams := strings.Contains(test.body, "stream")
			before := len(questions(t, g))
			var played sync.WaitGroup
			if !streams {
				played.Go(func() {
					for q := a.next(protocol.KindChat, 0); ; q = a.next(protocol.KindChat, q.Seq) {
						if q.From == "alice" {
							before--
							if before < 0 {
								giveUp(string(q.ID))
								return
							}
						}
					}
				})
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			status := http.StatusBadGateway
			if streams { // it has begun, and nothing was said yet
				status = http.StatusOK
				asked := questions(t, g)
				giveUp(string(asked[len(asked)-1].ID))
			}
			played.Wait()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != status || !strings.Contains(string(body), test.want) || !strings.Contains(string(body), "no model") || strings.Contains(string(body), `"finish_reason":"stop"`) {
				t.Errorf("%d %s %v, expected %d with %s", resp.StatusCode, body, err, status, test.want)
			}
		})
	}
}

// Which requests ask a question, and which are the same.
func TestOpenAI_Questions(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	actor{t: t, g: g}.responder()
	user := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	const answer = `,{"role":"assistant","content":"re: x"},`
	for _, test := range []struct {
		name, body, want string
		header           []string
		questions        int
	}{
		{"first", chatBody("lab", user("x"), ""), "re: x", nil, 1},
		{"retry", chatBody("lab", user("x"), `,"temperature":0.5`), "re: x", nil, 1},
		{"again in the conversation", chatBody("lab", user("x")+answer+user("x"), ""), "re: x", nil, 2},
		{"another participant", chatBody("lab/planner", user("x"), ""), "re: x", nil, 3},
		{"another chat", chatBody("lab", user("x"), ""), "re: x", []string{"X-OpenWebUI-Chat-Id", "one"}, 4},
		{"the same chat", chatBody("lab", user("x"), ""), "re: x", []string{"X-OpenWebUI-Chat-Id", "one"}, 4},
		{"a key", chatBody("lab", user("x"), ""), "re: x", []string{"Idempotency-Key", "k"}, 5},
		{"another user", chatBody("lab", user("x"), `,"user":"u"`), "re: x", nil, 6},
		{"an image", chatBody("lab", `{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:x"}}]}`, ""), `re: see\n[image without its content]`, nil, 7},
		{"a title", chatBody("lab", user(`### Task:\nGenerate a title.\n### Output:\nJSON format: { \"title\": \"your title\" }\n### Chat History:\n<chat_history>\nUSER: What is the height of the tower in metres?\nASSISTANT: 300\n</chat_history>`), ""), `{\"title\":\"What is the height of the…\"}`, nil, 7},
		{"tags", chatBody("lab", user(`### Task:\nx\n### Output:\nJSON format: { \"tags\": [] }\n<chat_history>\nUSER: x</chat_history>`), `,"stream":true`), `{\"tags\":[]}`, nil, 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body := postAs(t, g, "alice-token", "/v1/chat/completions", test.body, test.header...)
			if status != http.StatusOK || !strings.Contains(body, test.want) {
				t.Errorf("%d %s", status, body)
			}
			if n := len(questions(t, g)); n != test.questions {
				t.Errorf("%d questions", n)
			}
		})
	}
}

// Names of spaces with unusual characters are models.
func TestOpenAI_SpaceNames(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(aguiConfig, "  lab:", "  \"a.b:c_d-e\":", 1))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.HTTP()+"/v1/models/a.b%3Ac_d-e", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), `"id":"a.b:c_d-e"`) {
		t.Errorf("%d %s %v", resp.StatusCode, text, err)
	}
}

// Connections are cut again and again in the middle of responses: each retry continues with the
// same question, and its last one has the same answer.
func TestOpenAI_Cuts(t *testing.T) {
	t.Parallel()
	random := testkit.Rand(t)
	g := meuptest.Start(t, aguiConfig)
	a := actor{t: t, g: g}
	cuts, thoughts := cutsOf(200), 60
	var played sync.WaitGroup
	played.Go(func() {
		q := a.next(protocol.KindChat, 0)
		a.does("planner", "s", "reasoning.start", "", "", string(q.ID), `{"message":"thinking"}`)
		for i := range thoughts {
			a.does("planner", fmt.Sprint("t", i), "reasoning.thought", "s", "", "", fmt.Sprintf(`{"message":"thought %d."}`, i))
		}
		seq := a.does("planner", "p", "mcp.proposal", "s", "", "", `{"participant_id":"files",`+writeCall+`}`)
		a.next("mcp.request", seq)
		a.concludes("planner", envelopeOf("c", "reasoning.conclusion", "s", "", "", `{"message":"that is it"}`),
			envelopeOf("a", "chat", "", "alice", string(q.ID), `{"message":"the answer"}`))
	})
	ctx, cancel := context.WithCancel(t.Context())
	played.Go(func() { a.next(protocol.KindChat, 0); cancel() }) // a request that is cut before its response begins
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.HTTP()+"/v1/chat/completions", strings.NewReader(chatBody("lab", `{"role":"user","content":"why?"}`, "")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	if resp, err := http.DefaultClient.Do(r); err == nil {
		t.Errorf("%d", resp.StatusCode)
		_ = resp.Body.Close()
	}
	for i := range cuts {
		if i == cuts-20 { // until then, the proposal waits
			a.next(protocol.KindMCPProposal, 0)
			a.does("alice", "approval", "mcp.request", "", "files", "p", `{"jsonrpc":"2.0","id":1,`+writeCall+`}`)
		}
		cutOpenAI(t, g, `,"stream":true`, random.Int64N(4000))
	}
	played.Wait()
	streamed := cutOpenAI(t, g, `,"stream":true`, -1)
	whole := cutOpenAI(t, g, "", -1)
	if again := cutOpenAI(t, g, "", -1); withoutTime(whole) != withoutTime(again) {
		t.Errorf("%s\n%s", whole, again)
	}
	for i := range thoughts {
		want := fmt.Sprintf("thought %d.", i)
		if strings.Count(streamed, want) != 1 || strings.Count(whole, want) != 1 {
			t.Errorf("%s is not there once", want)
		}
	}
	if !strings.Contains(whole, "the answer") || !strings.HasSuffix(streamed, "data: [DONE]\n\n") {
		t.Errorf("%s\n%s", whole, streamed)
	}
	if n := len(questions(t, g)); n != 1 {
		t.Errorf("%d questions", n)
	}
}

// withoutTime removes the time of the request from a response.
func withoutTime(body string) string {
	before, after, _ := strings.Cut(body, `"created":`)
	_, after, _ = strings.Cut(after, ",")
	return before + after
}

// cutOpenAI asks a question and cuts the connection after so many bytes of the response;
// below 0: not.
func cutOpenAI(t *testing.T, g *meuptest.Gateway, more string, limit int64) string {
	t.Helper()
	ctx := testkit.Deadline(t) // a stream without an end fails the test
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.HTTP()+"/v1/chat/completions", strings.NewReader(chatBody("lab", `{"role":"user","content":"why?"}`, more)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := io.Reader(resp.Body)
	if limit >= 0 {
		body = io.LimitReader(body, limit)
	}
	text, err := io.ReadAll(body)
	if ctx.Err() != nil {
		t.Fatalf("the stream has no end:\n%s", text)
	}
	if resp.StatusCode != http.StatusOK || err != nil && limit < 0 {
		t.Fatalf("%d %s %v", resp.StatusCode, text, err)
	}
	return string(text)
}

// The ids of questions, and of messages with a key of an MCP tool, are the same after a
// restart, and others cannot compute them from the content of a request: another log has
// other ids.
func TestAdapters_IDsAreSecret(t *testing.T) {
	ids := func() (list []protocol.ID) {
		t.Helper()
		g := meuptest.Start(t, aguiConfig)
		var restarts sync.RWMutex
		actor{t: t, g: g, restarts: &restarts}.responder()
		for range 2 {
			say := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"message":"y","key":"1"}}}`
			if status, body := postAs(t, g, "alice-token", "/mcp?space=lab", say); status != http.StatusOK || strings.Contains(body, `"isError"`) {
				t.Fatal(status, body)
			}
			body := chatBody("lab", `{"role":"user","content":"x"}`, "")
			if status, answer := postAs(t, g, "alice-token", "/v1/chat/completions", body, "Idempotency-Key", "k"); status != http.StatusOK {
				t.Fatal(status, answer)
			}
			restarts.Lock()
			g.Restart()
			restarts.Unlock()
		}
		for _, e := range questions(t, g) {
			list = append(list, e.ID)
		}
		if len(list) != 2 {
			t.Errorf("the retries after a restart made %v, want 2 envelopes", list)
		}
		return list
	}
	here, there := ids(), ids()
	for _, id := range here {
		if slices.Contains(there, id) {
			t.Errorf("the id %s follows from the content alone", id)
		}
	}
}
