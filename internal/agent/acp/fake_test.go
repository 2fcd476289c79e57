package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// fake is an agent program that does what the text of a question says: commands that are
// separated by semicolons. Each prompt is one line after the question's first empty line.
type fake struct {
	mu       sync.Mutex
	nextID   int
	answers  map[string]chan json.RawMessage
	sessions int
	cancels  map[string]chan struct{}
	prompts  map[string]int
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

func runFake() {
	f := &fake{answers: make(map[string]chan json.RawMessage), cancels: make(map[string]chan struct{}), prompts: make(map[string]int)}
	in := bufio.NewReader(os.Stdin)
	if os.Getenv("FAKE_START") == "exit" {
		fmt.Fprintln(os.Stderr, "no license")
		os.Exit(4)
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		f.receive(m)
	}
}

func (f *fake) write(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = os.Stdout.Write(append(text, '\n'))
}

func (f *fake) reply(id json.RawMessage, result any) {
	f.write(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func (f *fake) receive(m message) {
	var p struct {
		Session string `json:"sessionId"`
		Prompt  []struct {
			Text string `json:"text"`
		} `json:"prompt"`
		Servers json.RawMessage `json:"mcpServers"`
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "":
		f.mu.Lock()
		box := f.answers[string(m.ID)]
		f.mu.Unlock()
		box <- m.Result
	case "initialize":
		if os.Getenv("FAKE_START") == "silent" {
			return
		}
		fmt.Println("npm notice: this is no message")
		f.reply(m.ID, map[string]any{
			"protocolVersion": 1, "agentInfo": map[string]string{"name": "fake", "version": "1"},
			"agentCapabilities": map[string]any{"sessionCapabilities": map[string]any{"resume": map[string]any{}, "close": map[string]any{}}},
		})
	case "session/new":
		if os.Getenv("FAKE_START") == "login" {
			f.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32000, "message": "secret"}})
			return
		}
		f.sessions++
		id := fmt.Sprintf("%d-%d", os.Getpid(), f.sessions)
		f.cancels[id] = make(chan struct{}, 1)
		f.reply(m.ID, map[string]string{"sessionId": id})
	case "session/resume":
		f.cancels[p.Session] = make(chan struct{}, 1)
		f.reply(m.ID, map[string]any{})
	case "session/set_mode":
		f.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32602, "message": "secret"}})
	case "session/close":
		f.reply(m.ID, map[string]any{})
	case "session/cancel":
		select {
		case f.cancels[p.Session] <- struct{}{}:
		default:
		}
	case "session/prompt":
		f.prompts[p.Session]++
		go f.prompt(m.ID, p.Session, p.Prompt[0].Text, f.prompts[p.Session], f.cancels[p.Session])
	}
}

func (f *fake) update(session string, update map[string]any) {
	f.write(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{"sessionId": session, "update": update}})
}

func text(s string) map[string]string { return map[string]string{"type": "text", "text": s} }

func (f *fake) say(session, s string) {
	f.update(session, map[string]any{"sessionUpdate": "agent_message_chunk", "content": text(s)})
}

// prompt carries out the commands of a question, and answers any other prompt with its text.
func (f *fake) prompt(id json.RawMessage, session, prompt string, n int, cancel <-chan struct{}) {
	head, script, asked := strings.Cut(prompt, "asks you:\n\n")
	reason := "end_turn"
	if !asked {
		f.say(session, fmt.Sprintf("prompt %d was: %s", n, prompt))
		f.reply(id, map[string]string{"stopReason": reason})
		return
	}
	for i, command := range strings.Split(script, ";") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(command), " ")
		reason = f.do(session, verb, rest, head, i, cancel)
		if reason != "end_turn" {
			break
		}
	}
	f.reply(id, map[string]any{"stopReason": reason, "usage": map[string]int{"totalTokens": 100}})
}

func (f *fake) do(session, verb, rest, head string, i int, cancel <-chan struct{}) (reason string) {
	call := fmt.Sprintf("%s-%d", session, i)
	input := map[string]any{"path": rest}
	switch verb {
	case "think":
		f.update(session, map[string]any{"sessionUpdate": "agent_thought_chunk", "content": text(rest)})
	case "say":
		f.say(session, rest)
	case "split": // its emoji over two chunks
		for _, kind := range []string{"agent_thought_chunk", "agent_message_chunk"} {
			for _, half := range []string{`"\ud83d"`, `"\ude00"`} {
				f.update(session, map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": json.RawMessage(half)}})
			}
		}
	case "head":
		f.say(session, head)
	case "session":
		f.say(session, session)
	case "plan":
		f.update(session, map[string]any{"sessionUpdate": "plan", "entries": []any{map[string]string{"content": rest, "status": "in_progress", "priority": "high"}}})
	case "run":
		f.update(session, map[string]any{"sessionUpdate": "tool_call", "toolCallId": call, "title": "Run it", "kind": "execute", "status": "pending", "rawInput": map[string]any{}})
		f.update(session, map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "in_progress", "rawInput": input})
		f.update(session, map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed", "content": []any{map[string]any{"type": "content", "content": text("ran " + rest)}}})
	case "begin":
		f.update(session, map[string]any{"sessionUpdate": "tool_call", "toolCallId": call, "title": "Begin it", "kind": "execute", "status": "in_progress", "rawInput": input})
	case "ask":
		return f.ask(session, call, "pending", input)
	case "late": // asks for the permission of a call that it has begun
		return f.ask(session, call, "in_progress", input)
	case "usage":
		var cost float64
		var used int
		_, _ = fmt.Sscan(rest, &cost, &used)
		f.update(session, map[string]any{"sessionUpdate": "usage_update", "used": used, "size": 200000, "cost": map[string]any{"amount": cost, "currency": "USD"}})
	case "unknown":
		f.update(session, map[string]any{"sessionUpdate": "something_new", "content": 7})
	case "wait":
		<-cancel
		return "cancelled"
	case "hang":
		select {}
	case "until":
		pipe, err := os.Open(rest) // a named pipe: it blocks until the test opens it
		if err != nil {
			os.Exit(7)
		}
		_ = pipe.Close()
	case "die":
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(3)
	case "garbage":
		for range 2000 {
			fmt.Println("%%% not a message")
		}
	case "huge":
		part := strings.Repeat("x", 1<<20)
		f.mu.Lock()
		defer f.mu.Unlock()
		for range 100 {
			if _, err := os.Stdout.WriteString(part); err != nil {
				os.Exit(5)
			}
		}
	case "flood":
		for n := range 3000 {
			f.say(session, fmt.Sprintf("%d,", n))
		}
	case "chatter": // until the prompt is canceled, which a file reports
		for n := 0; ; n++ {
			select {
			case <-cancel:
				if err := os.WriteFile(rest, nil, 0o600); err != nil {
					os.Exit(8)
				}
				return "cancelled"
			default:
				f.update(session, map[string]any{"sessionUpdate": "agent_thought_chunk", "content": text(fmt.Sprint("thought ", n))})
				f.say(session, fmt.Sprint("message ", n))
			}
		}
	case "fork":
		c := exec.Command("sleep", "1000") // inherits no pipe, and holds the group
		c.Stdout = os.Stdout
		if err := c.Start(); err != nil {
			os.Exit(6)
		}
		f.say(session, fmt.Sprint(c.Process.Pid))
	}
	return "end_turn"
}

// ask announces a call, asks for permission, and makes the call or not.
func (f *fake) ask(session, call, status string, input any) (reason string) {
	f.update(session, map[string]any{"sessionUpdate": "tool_call", "toolCallId": call, "title": "Write it", "name": "Write", "status": status, "rawInput": input})
	f.mu.Lock()
	f.nextID++
	id, box := fmt.Sprint(f.nextID), make(chan json.RawMessage, 1)
	f.answers[id] = box
	f.mu.Unlock()
	f.write(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": "session/request_permission", "params": map[string]any{
		"sessionId": session, "toolCall": map[string]any{"toolCallId": call, "title": "Write it now"},
		"options": []any{
			map[string]string{"optionId": "always", "name": "Always", "kind": "allow_always"},
			map[string]string{"optionId": "once", "name": "Once", "kind": "allow_once"}, map[string]string{"optionId": "no", "name": "No", "kind": "reject_once"},
		},
	}})
	var got struct {
		Outcome struct {
			Outcome string `json:"outcome"`
			Option  string `json:"optionId"`
		} `json:"outcome"`
	}
	_ = json.Unmarshal(<-box, &got)
	status = "failed"
	if got.Outcome.Option == "once" {
		status = "completed"
	}
	f.update(session, map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status, "rawOutput": status})
	if got.Outcome.Outcome == "cancelled" {
		return "cancelled"
	}
	f.say(session, "outcome "+got.Outcome.Option+". ")
	return "end_turn"
}
