package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

var question = llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "q"}}}

func TestParseError(t *testing.T) {
	for name, tc := range map[string]struct{ body, code, message string }{
		"OpenAI":          {`{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, "rate_limit_exceeded", "Rate limit reached"},
		"OpenAI, no code": {`{"error":{"message":"no","type":"invalid_request_error","param":"messages","code":null}}`, "invalid_request_error", "no"},
		"OpenRouter":      {`{"error":{"code":402,"message":"Insufficient credits","metadata":{}},"user_id":"u"}`, "402", "Insufficient credits"},
		"Gemini":          {`[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`, "400", "API key not valid."},
		"Ollama":          {`{"error":"model \"x\" not found"}`, "", `model "x" not found`},
		"vLLM":            {`{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400}`, "400", "too long"},
		"FastAPI":         {`{"detail":"Not Found"}`, "", "Not Found"},
		"FastAPI's list":  {`{"detail":[{"loc":["body"],"msg":"field required"}]}`, "", ""},
		"not JSON":        {`upstream connect error`, "", ""},
		"a number":        {`7`, "", ""},
		"an empty list":   {`[]`, "", ""},
		"error in errors": {strings.Repeat(`{"error":`, 9) + `"deep"` + strings.Repeat("}", 9), "", ""},
		"empty code":      {`{"error":{"message":"m","type":"t","code":""}}`, "t", "m"},
	} {
		if code, message := parseError([]byte(tc.body)); code != tc.code || message != tc.message {
			t.Errorf("%s: %q %q", name, code, message)
		}
	}
}

func TestRefusals(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s.","type":"invalid_request_error","code":"invalid_api_key"}}`,
			strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	})
	_, err := llm.Ask(t.Context(), m, question, nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Status != 401 || e.Code != "invalid_api_key" || e.Provider != "acme" || e.Message != "Incorrect API key provided: [key]." {
		t.Fatalf("%v", err)
	}
	// A refusal within a stream is masked as well.
	m = serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"error\":{\"message\":\"overloaded, sk-secret-key\",\"code\":503}}\n\n")
	})
	_, err = llm.Ask(t.Context(), m, question, nil)
	if !errors.As(err, &e) || e.Status != 503 || e.Code != "" || e.Message != "overloaded, [key]" {
		t.Fatalf("%v, want the status 503", err)
	}
	if got, want := e.Public(), "the model's provider answered with status 503"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestGenerate_BusyInStream checks that the request is retried if no delta was
// passed on.
func TestGenerate_BusyInStream(t *testing.T) {
	const (
		busy  = `{"error":{"message":"overloaded","code":%d}}`
		piece = `{"choices":[{"index":0,"delta":{"content":"Well"}}]}`
		call  = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`
		whole = `{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}`
	)
	for name, tc := range map[string]struct {
		first, kind string
		asked       int
		deltas      string
	}{
		"at once":          {fmt.Sprintf("data: "+busy+"\n\n", 503), "text/event-stream", 2, "Hi"},
		"too many":         {fmt.Sprintf("data: "+busy+"\n\n", 429), "text/event-stream", 2, "Hi"},
		"overloaded":       {fmt.Sprintf("data: "+busy+"\n\n", 529), "text/event-stream", 2, "Hi"},
		"in a choice":      {fmt.Sprintf(`data: {"choices":[{"index":0,"finish_reason":"error",`+busy[1:]+"]}\n\n", 502), "text/event-stream", 2, "Hi"},
		"in one document":  {fmt.Sprintf(busy, 503), "application/json", 2, "Hi"},
		"a text":           {`data: {"error":"upstream connect error"}` + "\n\n", "text/event-stream", 2, "Hi"},
		"only its end":     {"data: [DONE]\n\n", "text/event-stream", 2, "Hi"},
		"a page":           {"<html>502 Bad Gateway</html>", "text/html", 2, "Hi"},
		"a page as events": {"<!DOCTYPE html>\n<html>502 Bad Gateway</html>", "text/event-stream", 2, "Hi"},
		"a short page":     {"<html>502</html>", "text/event-stream", 2, "Hi"},
		"in a call":        {fmt.Sprintf("data: "+call+"\n\ndata: "+busy+"\n\n", 503), "text/event-stream", 2, "Hi"},
		"not for long":     {fmt.Sprintf("data: "+busy+"\n\n", 400), "text/event-stream", 1, ""},
		"after a piece":    {fmt.Sprintf("data: "+piece+"\n\ndata: "+busy+"\n\n", 503), "text/event-stream", 1, "Well"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				if asked == 1 {
					answers(tc.kind, []byte(tc.first))(w, r)
					return
				}
				answers("text/event-stream", []byte("data: "+whole+"\n\n"))(w, r)
			})
			deltas := ""
			resp, err := llm.Ask(t.Context(), m, question, func(d llm.Delta) { deltas += d.Text })
			if asked != tc.asked || deltas != tc.deltas || (err == nil) != (tc.asked == 2) {
				t.Errorf("asked %d times, %q, %v", asked, deltas, err)
			}
			if err == nil && (resp.Message.Text != "Hi" || len(resp.Message.Calls) > 0) {
				t.Errorf("got %+v", resp)
			}
		})
	}
}

// TestGenerate_Forms checks the forms in which servers send thinking and calls: in
// tags, which arrive byte by byte, and in the field of older ones.
func TestGenerate_Forms(t *testing.T) {
	tools := []llm.Tool{{Name: "list"}, {Name: "read", InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}
	const list = `<tool_call>
{"name": "list", "arguments": {"path": "</tool_call>"}}
</tool_call>`
	for name, tc := range map[string]struct {
		content, rest  string // of the message; its other members
		tools          []llm.Tool
		text, thinking string
		calls          string
	}{
		"thinking of Mistral":   {content: "[THINK]Two folders.[/THINK]\nDone [THINK].", text: "Done [THINK].", thinking: "Two folders."},
		"another closing tag":   {content: "[THINK]a</think>b[/THINK]c", text: "c", thinking: "a</think>b"},
		"thinking in capitals":  {content: "<THINK>Two folders.</Think>Done.", text: "Done.", thinking: "Two folders."},
		"thinking":              {content: "<thinking>a</think>b</thinking>\nDone.", text: "Done.", thinking: "a</think>b"},
		"reasoning":             {content: "<reasoning>Two.</reasoning>Done.", text: "Done.", thinking: "Two."},
		"thinking of Seed":      {content: "<seed:think>Two.</seed:think>Done.", text: "Done.", thinking: "Two."},
		"thinking of Kimi":      {content: "◁think▷Two.◁/think▷Done.", text: "Done.", thinking: "Two."},
		"a tag that is closed":  {content: "Write </reasoning> there.", text: "Write </reasoning> there."},
		"an unopened tag":       {content: "Two.[/THINK]\n\nDone.", text: "Done.", thinking: "Two."},
		"a call":                {content: list, tools: tools, calls: `list {"path": "</tool_call>"}`},
		"calls after a text":    {content: "<think>Hm.</think>I look.\n" + list + "\n" + `<tool_call>{"name":"read","parameters":{}}</tool_call>` + "\n", tools: tools, text: "I look.\n", thinking: "Hm.", calls: `list {"path": "</tool_call>"} read {}`},
		"arguments in a string": {content: `<tool_call>{"name":"list","arguments":"{\"a\":1}"}`, tools: tools, calls: `list {"a":1}`},
		"a call in a sentence":  {content: "Write " + list + " at the end.", tools: tools, text: "Write " + list + " at the end."},
		"a call in a fence":     {content: "```\n" + list + "\n```", tools: tools, text: "```\n" + list + "\n```"},
		"no call":               {content: "<tool_call>list</tool_call>", tools: tools, text: "<tool_call>list</tool_call>"},
		"the begin of a tag":    {content: "a <tool_", tools: tools, text: "a <tool_"},
		"an unknown tool":       {content: `<tool_call>{"name":"other","arguments":{}}</tool_call>`, tools: tools, text: `<tool_call>{"name":"other","arguments":{}}</tool_call>`},
		"broken JSON":           {content: "I look.\n<tool_call>\n{\"name\": \"list\", \"arguments\": {\"path\": \"a}\n</tool_call>", tools: tools, text: "I look.\n", calls: "list <tool_call>\n{\"name\": \"list\", \"arguments\": {\"path\": \"a}\n</tool_call>"},
		"broken in a sentence":  {content: `Write <tool_call>{"name": "list", "arguments": {"path": "a}`, tools: tools, text: `Write <tool_call>{"name": "list", "arguments": {"path": "a}`},
		"broken, explained":     {content: "<tool_call>{\"name\": \"list\", …}</tool_call> is a call.", tools: tools, text: "<tool_call>{\"name\": \"list\", …}</tool_call> is a call."},
		"a list of Mistral":     {content: `Two.[TOOL_CALLS] [{"name":"list","arguments":{"a":"["}},{"name":"read","arguments":{}}]`, tools: tools, text: "Two.", calls: `list {"a":"["} read {}`},
		"names of Mistral":      {content: `[TOOL_CALLS]list{"a":1}[TOOL_CALLS]read[CALL_ID]x1[ARGS]{"path":"b"}`, tools: tools, calls: `list {"a":1} read {"path":"b"}`},
		"broken, of Mistral":    {content: `[TOOL_CALLS]list[ARGS]{"a":`, tools: tools, calls: `list [TOOL_CALLS]list[ARGS]{"a":`},
		"a list after a tag":    {content: "[TOOL_CALLS] list, read", tools: tools, text: "[TOOL_CALLS] list, read"},
		"text about Mistral":    {content: "[TOOL_CALLS] begins a call.", tools: tools, text: "[TOOL_CALLS] begins a call."},
		"functions of Qwen":     {content: "I read.\n<tool_call>\n<function=read>\n<parameter=path>\n007\n</parameter>\n<parameter=lines>\n[1, 2]\n</parameter>\n</function>\n</tool_call>\n<tool_call><function=list></function></tool_call>", tools: tools, text: "I read.\n", calls: `read {"lines":[1,2],"path":"007"} list {}`},
		"a bare function":       {content: "<function=read>\n<parameter=path>\na\nb\n</parameter>\n</function>\n</tool_call>", tools: tools, calls: `read {"path":"a\nb"}`},
		"broken, of Qwen":       {content: "<tool_call>\n<function=read>\n<parameter=path>\na", tools: tools, calls: "read <tool_call>\n<function=read>\n<parameter=path>\na"},
		"pairs of GLM":          {content: "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>1</arg_value>\n<arg_key>n</arg_key>\n<arg_value>2</arg_value>\n</tool_call><tool_call>list\n</tool_call>", tools: tools, calls: `read {"n":2,"path":"1"} list {}`},
		"calls of Kimi":         {content: `<|tool_calls_section_begin|><|tool_call_begin|>functions.list:0<|tool_call_argument_begin|>{"a":1}<|tool_call_end|><|tool_call_begin|>functions.read:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`, tools: tools, calls: `list {"a":1} read {}`},
		"broken, of Kimi":       {content: `<|tool_calls_section_begin|><|tool_call_begin|>functions.list:0<|tool_call_argument_begin|>{"a`, tools: tools, calls: `list <|tool_calls_section_begin|><|tool_call_begin|>functions.list:0<|tool_call_argument_begin|>{"a`},
		"calls of DeepSeek":     {content: `Hm.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>list<｜tool▁sep｜>{"a":1}<｜tool▁call▁end｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`, tools: tools, text: "Hm.", calls: `list {"a":1} read {}`},
		"fences of DeepSeek":    {content: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>list\n```json\n{\"a\":1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", tools: tools, calls: `list {"a":1}`},
		"broken, of DeepSeek":   {content: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>list<｜tool▁sep｜>{"a`, tools: tools, calls: `list <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>list<｜tool▁sep｜>{"a`},
		"without tools":         {content: list, text: list},
		"function_call":         {rest: `"function_call":{"name":"list","arguments":"{\"a\":1}"}`, tools: tools, calls: `list {"a":1}`},
		"both fields":           {rest: `"function_call":{"name":"list","arguments":"{}"},"tool_calls":[{"index":0,"id":"c","function":{"name":"list","arguments":"{}"}}]`, tools: tools, calls: `list {}`},
	} {
		for _, whole := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, whole %v", name, whole), func(t *testing.T) {
				var transcript bytes.Buffer
				chunk := func(members string) {
					fmt.Fprintf(&transcript, "data: {\"choices\":[{\"index\":0,\"delta\":{%s}}]}\n\n", members)
				}
				for _, r := range tc.content {
					chunk(fmt.Sprintf(`"content":%q`, string(r)))
				}
				if name, arguments, cut := strings.Cut(tc.rest, `,"arguments":`); name != "" && cut && !strings.Contains(arguments, "tool_calls") {
					chunk(name + "}") // in pieces, with the arguments by themselves
					chunk(`"function_call":{"arguments":` + arguments)
				} else if tc.rest != "" {
					chunk(tc.rest)
				}
				transcript.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
				m := serve(t, answers("text/event-stream", transcript.Bytes()))
				pieces := ""
				on := func(d llm.Delta) {
					if d.Kind == llm.TextDelta {
						pieces += d.Text
					}
				}
				if whole {
					on = nil
				}
				resp, err := llm.Ask(t.Context(), m, llm.Request{Messages: question.Messages, Tools: tc.tools}, on)
				if err != nil {
					t.Fatal(err)
				}
				var calls []string
				for _, c := range resp.Message.Calls {
					arguments := string(c.Arguments)
					_ = json.Unmarshal(c.Arguments, &arguments) // of a broken call, they are a text
					calls = append(calls, c.Name+" "+arguments)
				}
				if resp.Message.Text != tc.text || resp.Thinking != tc.thinking || strings.Join(calls, " ") != tc.calls {
					t.Errorf("text %q, thinking %q, calls %q; want %q, %q, %q", resp.Message.Text, resp.Thinking, calls, tc.text, tc.thinking, tc.calls)
				}
				if (resp.Stop == llm.StopTools) != (tc.calls != "") {
					t.Errorf("stop %q with the calls %q", resp.Stop, calls)
				}
				if !whole && pieces != tc.text && name != "an unopened tag" {
					t.Errorf("pieces %q, want %q", pieces, tc.text)
				}
			})
		}
	}
}

func TestGenerate_BusyRetried(t *testing.T) {
	asked := 0
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if asked < 3 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		answers("text/event-stream", []byte("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n"))(w, r)
	}, func(o *Options) {
		o.Retry = llm.Retry{Sleep: func(_ context.Context, d time.Duration) error {
			if d != time.Second {
				t.Errorf("waits %v", d)
			}
			return nil
		}}
	})
	resp, err := llm.Ask(t.Context(), m, question, nil)
	if err != nil || resp.Message.Text != "Hi" || asked != 3 {
		t.Fatalf("%+v %v, asked %d times", resp, err, asked)
	}
}

// Data after the finish_reason is not required.
func TestGenerate_BrokenAfterFinish(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answers("text/event-stream", []byte("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"usa"))(w, r)
		panic(http.ErrAbortHandler)
	})
	if resp, err := llm.Ask(t.Context(), m, question, nil); err != nil || resp.Message.Text != "Hi" {
		t.Fatalf("%+v %v", resp, err)
	}
	m = serve(t, func(w http.ResponseWriter, r *http.Request) {
		answers("text/event-stream", []byte("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n"))(w, r)
		panic(http.ErrAbortHandler)
	})
	if _, err := llm.Ask(t.Context(), m, question, nil); !errors.Is(err, llm.ErrTruncated) {
		t.Fatalf("%v", err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answers("text/event-stream", []byte("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n"))(w, r)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	_, err := llm.Ask(ctx, m, question, func(llm.Delta) { cancel() })
	if !errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrTruncated) {
		t.Fatalf("%v", err)
	}
}

func TestTooManyCalls(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range maxCalls + 1 {
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":%d,\"function\":{\"name\":\"f\"}}]}}]}\n\n", i*1000000)
		}
	})
	if _, err := llm.Ask(t.Context(), m, question, nil); err == nil || !strings.Contains(err.Error(), "more than 256 tool calls") {
		t.Fatalf("%v", err)
	}
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]llm.Stop{
		"stop": llm.StopEnd, "length": llm.StopLength, "content_filter": llm.StopRefusal, "tool_calls": llm.StopEnd,
		"function_call": llm.StopEnd, "repetition": llm.StopOther,
	} {
		m := serve(t, answers("text/event-stream", []byte(`data: {"choices":[{"delta":{},"finish_reason":"`+reason+`"}]}`+"\n\n")))
		if resp, err := llm.Ask(t.Context(), m, question, nil); err != nil || resp.Stop != want {
			t.Errorf("%s: %q %v", reason, resp.Stop, err)
		}
	}
	for kind, body := range map[string]string{
		"text/event-stream": `data: {"choices":[{"delta":{},"finish_reason":"abort"}]}` + "\n\n",
		"application/json":  "\n\n\n",
		"application/json ": `{"choices":[]}`,
	} {
		m := serve(t, answers(kind, []byte(body)))
		if _, err := llm.Ask(t.Context(), m, question, nil); !errors.Is(err, llm.ErrTruncated) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Concurrent requests of one model do not mix their answers.
func TestGenerate_Concurrent(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var in chatRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		text, _ := json.Marshal(*in.Messages[0].Content)
		answers("text/event-stream", []byte(strings.Repeat(`data: {"choices":[{"delta":{"content":`+string(text)+`}}]}`+"\n\n", 3)+"data: [DONE]\n\n"))(w, r)
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			word := fmt.Sprint(i)
			resp, err := llm.Ask(t.Context(), m, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: word}}}, nil)
			if err != nil || resp.Message.Text != strings.Repeat(word, 3) {
				t.Errorf("%q %v", resp.Message.Text, err)
			}
		})
	}
	wg.Wait()
}

// TestGenerate_RefusedParameters checks that a server that rejects a parameter
// is asked once more without it, and not with that parameter again.
func TestGenerate_RefusedParameters(t *testing.T) {
	const (
		noEffort  = `{"error":{"message":"Unrecognized request argument supplied: reasoning_effort","type":"invalid_request_error"}}`
		noStream  = `{"error":{"message":"Extra inputs are not permitted: stream_options.include_usage","type":"invalid_request_error"}}`
		newTokens = `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error"}}`
	)
	tests := []struct {
		name     string
		refuses  map[string]string // by parameter
		requests int               // of the first question
		wrong    bool
	}{
		{"takes all", nil, 1, false},
		{"no effort", map[string]string{"reasoning_effort": noEffort}, 2, false},
		{"new tokens", map[string]string{"max_tokens": newTokens}, 2, false},
		{"no stream options", map[string]string{"stream_options": noStream}, 2, false},
		{"both", map[string]string{"reasoning_effort": noEffort, "max_tokens": newTokens}, 3, false},
		{"something else", map[string]string{"messages": `{"error":{"message":"too long"}}`}, 1, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			requests := 0
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				var body map[string]any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				for parameter, refusal := range test.refuses {
					if _, sent := body[parameter]; sent {
						w.WriteHeader(http.StatusBadRequest)
						_, _ = io.WriteString(w, refusal)
						return
					}
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}]}`)
			})
			req := question
			req.Effort, req.MaxTokens = "low", 100
			for i, want := range []int{test.requests, 1} {
				requests = 0
				resp, err := llm.Ask(t.Context(), m, req, nil)
				if (err != nil) != test.wrong || !test.wrong && resp.Message.Text != "fine" {
					t.Errorf("question %d: %q, %v", i, resp.Message.Text, err)
				}
				if requests != want {
					t.Errorf("question %d took %d requests, want %d", i, requests, want)
				}
			}
		})
	}
}

// TestReadUsage checks that counts of any form fail no answer.
func TestReadUsage(t *testing.T) {
	for raw, want := range map[string]llm.Usage{
		`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}`:                                {Input: 12, Output: 3},
		`{"prompt_tokens":12,"prompt_tokens_details":"none","completion_tokens":3}`:                   {Input: 12, Output: 3},
		`{"prompt_tokens":-12,"completion_tokens":"3","completion_tokens_details":{}}`:                {},
		`{"prompt_tokens":1e300,"completion_tokens":99999999999999999999,"input_tokens":[1]}`:         {},
		`{"input_tokens":12.5,"output_tokens":3.0,"output_tokens_details":{"reasoning_tokens":null}}`: {Input: 12, Output: 3},
		`{"total_tokens":15}`: {}, // it cannot be divided
		`[]`:                  {},
		`"many"`:              {},
	} {
		if got := readUsage([]byte(raw)); got != want {
			t.Errorf("%s is read as %+v, want %+v", raw, got, want)
		}
	}
}
