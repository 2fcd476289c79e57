package space_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// toolRoom is a room in which files has told ann its tools.
func toolRoom(t *testing.T, change func(*space.Services)) *room {
	t.Helper()
	all := []string{"mcp.*", "participant.*"}
	return open(t, rights{"ann": all, "bob": all, "files": all, "eve": {"chat"}}, change)
}

// joined connects a participant until the end of the test.
func (r *room) joined(id protocol.ParticipantID) *member {
	m := r.join(space.JoinOptions{ID: id})
	r.t.Cleanup(m.leave)
	return m
}

// listTools has a host answer tools/list. The ids of the envelopes begin with name.
func (r *room) listTools(name string, host protocol.ParticipantID, cursor, tools string) {
	r.t.Helper()
	r.must("ann", fmt.Sprintf(`{"id":"%s-q","kind":"mcp.request","to":[%q],"payload":{"id":1,"method":"tools/list","params":{%s}}}`, name, host, cursor))
	r.must(host, fmt.Sprintf(`{"id":"%s-a","kind":"mcp.response","to":["ann"],"correlationId":"%s-q","payload":{"id":1,"result":{"tools":[%s]}}}`, name, name, tools))
}

const (
	readTool  = `{"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}`
	newerTool = `{"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"number"}},"required":["path"]}}`
	otherTool = `{"name":"stat","inputSchema":{"type":"object"}}`
	wrongCall = `{"kind":"mcp.request","to":["files"],"payload":{"id":2,"method":"tools/call","params":{"name":"read","arguments":{"path":7}}}}`
)

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		learn func(*room)
		frame string // "": wrongCall
		path  string // of the rejection below the arguments; "admitted"
	}{
		"a request": {path: "/path"},
		"a proposal": {
			frame: `{"kind":"mcp.proposal","payload":{"participant_id":"files","method":"tools/call","params":{"name":"read","arguments":{"path":7}}}}`, path: "/path"},
		"without arguments": {frame: `{"kind":"mcp.request","to":["files"],"payload":{"id":2,"method":"tools/call","params":{"name":"read"}}}`, path: "/path"},

		"that fits":            {frame: strings.Replace(wrongCall, "7", `"a"`, 1), path: "admitted"},
		"of another tool":      {frame: strings.Replace(wrongCall, "read", "wipe", 1), path: "admitted"},
		"of another host":      {frame: strings.Replace(wrongCall, "files", "ann", 1), path: "admitted"},
		"to two hosts":         {frame: strings.Replace(wrongCall, `"files"`, `"files","ann"`, 1), path: "admitted"},
		"to nobody by name":    {frame: strings.Replace(wrongCall, `"to":["files"],`, "", 1), path: "admitted"},
		"another method":       {frame: strings.Replace(wrongCall, "tools/call", "prompts/get", 1), path: "admitted"},
		"a proposal to nobody": {frame: `{"kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"read","arguments":{"path":7}}}}`, path: "admitted"},

		"a newer answer":                  {learn: func(r *room) { r.listTools("b", "files", "", newerTool) }, path: "admitted"},
		"a newer answer without the tool": {learn: func(r *room) { r.listTools("b", "files", "", otherTool) }, path: "admitted"},
		"an error as the newer answer": {learn: func(r *room) {
			r.must("ann", `{"id":"b-q","kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/list"}}`)
			r.must("files", `{"kind":"mcp.response","to":["ann"],"correlationId":"b-q","payload":{"id":1,"error":{"code":1,"message":"busy"}}}`)
		}, path: "/path"},
		"a further page":      {learn: func(r *room) { r.listTools("b", "files", `"cursor":"2"`, otherTool) }, path: "/path"},
		"the page once more":  {learn: func(r *room) { r.listTools("b", "files", `"cursor":"2"`, readTool) }, path: "/path"},
		"on a page otherwise": {learn: func(r *room) { r.listTools("b", "files", `"cursor":"2"`, newerTool) }, path: "admitted"},
		"twice in an answer":  {learn: func(r *room) { r.listTools("b", "files", "", newerTool+","+readTool) }, path: "admitted"},
		"another's answer": {learn: func(r *room) {
			r.must("ann", `{"id":"b-q","kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/list"}}`)
			r.must("bob", `{"kind":"mcp.response","to":["ann"],"correlationId":"b-q","payload":{"id":1,"result":{"tools":[]}}}`)
		}, path: "/path"},
		"an answer to nothing": {learn: func(r *room) {
			r.must("files", `{"kind":"mcp.response","to":["ann"],"correlationId":"no-q","payload":{"id":1,"result":{"tools":[]}}}`)
		}, path: "/path"},
		"a second answer": {learn: func(r *room) {
			r.must("files", `{"kind":"mcp.response","to":["ann"],"correlationId":"a-q","payload":{"id":1,"result":{"tools":[]}}}`)
		}, path: "/path"},
		"tools that changed": {learn: func(r *room) {
			r.must("files", `{"kind":"mcp.request","to":["ann"],"payload":{"method":"notifications/tools/list_changed"}}`)
		}, path: "admitted"},
		"tools of another that changed": {learn: func(r *room) {
			r.must("bob", `{"kind":"mcp.request","to":["ann"],"payload":{"method":"notifications/tools/list_changed"}}`)
		}, path: "/path"},
		"an answer from before the change": {learn: func(r *room) {
			r.must("ann", `{"id":"b-q","kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/list"}}`)
			r.must("files", `{"kind":"mcp.request","to":["ann"],"payload":{"method":"notifications/tools/list_changed"}}`)
			r.must("files", `{"kind":"mcp.response","to":["ann"],"correlationId":"b-q","payload":{"id":1,"result":{"tools":[`+readTool+`]}}}`)
		}, path: "admitted"},
		"a bridge that started": {learn: func(r *room) {
			r.must("files", `{"kind":"participant.status","to":["files"],"payload":{"status":"started"}}`)
		}, path: "admitted"},
		"tools that are announced": {learn: func(r *room) {
			r.must("files", `{"kind":"participant.status","payload":{"offers":["tools"]}}`)
		}, path: "admitted"},
		"another status": {learn: func(r *room) {
			r.must("files", `{"kind":"participant.status","payload":{"status":"busy"}}`)
		}, path: "/path"},
		"a host that connects": {learn: func(r *room) { r.joined("files") }, path: "admitted"},
		"a masked answer": {learn: func(r *room) {
			r.must("ann", `{"id":"b-q","kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/list"}}`)
			r.must("files", `{"kind":"mcp.response","to":["ann"],"correlationId":"b-q","payload":{"id":1,"result":{"tools":[`+readTool+`]},"redacted":["x"]}}`)
		}, path: "admitted"},
		"a schema that is absent": {learn: func(r *room) { r.listTools("b", "files", "", `{"name":"read"}`) }, path: "admitted"},
	} {
		t.Run(name, func(t *testing.T) {
			r := toolRoom(t, nil)
			r.listTools("a", "files", "", readTool)
			if c.learn != nil {
				c.learn(r)
			}
			frame := c.frame
			if frame == "" {
				frame = wrongCall
			}
			err := r.say("bob", frame)[0].Err
			switch {
			case c.path == "admitted":
				if err != nil {
					t.Errorf("rejected: %v", err)
				}
			case err == nil || err.Code != protocol.CodeInvalidPayload || err.Path != "/payload/params/arguments"+c.path:
				t.Errorf("%v", err)
			}
		})
	}
}

// TestArguments_Presence: the tools of a host are known no more when it leaves, here or at another
// gateway, or connects there.
func TestArguments_Presence(t *testing.T) {
	for name, change := range map[string]func(r *room, host *member){
		"leaves":              func(_ *room, host *member) { host.leave() },
		"connects at another": func(r *room, _ *member) { r.hub.SetRemote(r.Name(), []space.Connected{{ID: "files", Connections: 1}}) },
		"comes back there": func(r *room, _ *member) {
			r.listTools("b", "files", "", readTool)
			r.hub.SetRemote(r.Name(), []space.Connected{{ID: "files", Connections: 2}})
		},
		"leaves the other":               func(r *room, _ *member) { r.hub.SetRemote(r.Name(), nil) },
		"somebody else comes, and stays": nil,
	} {
		t.Run(name, func(t *testing.T) {
			all := []string{"mcp.*"}
			r := open(t, rights{"ann": all, "bob": all, "files": all}, nil)
			host := r.joined("files")
			if name == "leaves the other" || name == "comes back there" {
				r.hub.SetRemote(r.Name(), []space.Connected{{ID: "files", Connections: 1}})
			}
			r.listTools("a", "files", "", readTool)
			if err := r.say("bob", wrongCall)[0].Err; err == nil {
				t.Fatal("the tool is not known")
			}
			if change == nil {
				r.joined("ann")
				r.hub.SetRemote(r.Name(), []space.Connected{{ID: "bob", Connections: 1}})
				if err := r.say("bob", wrongCall)[0].Err; err == nil {
					t.Error("the tool is known no more")
				}
				return
			}
			change(r, host)
			r.must("bob", wrongCall)
		})
	}
}

// TestArguments_Order: the arguments are checked after the right to call and before the payload is inspected; a
// retry of an admitted call is answered whatever is known by then.
func TestArguments_Order(t *testing.T) {
	i := &inspector{}
	r := toolRoom(t, func(s *space.Services) { s.Safety = i })
	retried := strings.Replace(wrongCall, `{"kind"`, `{"id":"twice","kind"`, 1)
	first := r.must("bob", retried)
	r.listTools("a", "files", "", readTool)
	before := i.inspected
	if err := r.say("eve", wrongCall)[0].Err; err == nil || err.Code != protocol.CodeCapabilityViolation {
		t.Errorf("without the right to call: %v", err)
	}
	if err := r.say("bob", wrongCall)[0].Err; err == nil || i.inspected != before {
		t.Errorf("%v, inspected %d times", err, i.inspected-before)
	}
	if again := r.must("bob", retried); again != first {
		t.Errorf("the retry has the seq %d, the call %d", again, first)
	}
}

// TestArguments_Work: checks are charged to the sender, and end when it is in debt.
func TestArguments_Work(t *testing.T) {
	l := &ledger{most: 1 << 30}
	cfg := rights{"ann": {"mcp.*"}, "bob": {"mcp.*"}, "files": {"mcp.*"}}.config(t)
	bob := cfg.Participants["bob"]
	bob.NewLimiter = func(authority.Limiter) authority.Limiter { return l }
	cfg.Participants["bob"] = bob
	r := openWith(t, cfg, nil)
	r.listTools("a", "files", "", readTool)
	if err := r.say("bob", wrongCall)[0].Err; err == nil || err.Code != protocol.CodeInvalidPayload || l.worked == 0 {
		t.Errorf("%v, work %d", err, l.worked)
	}
	r.must("bob", strings.Replace(wrongCall, "read", "wipe", 1))
	l.most = 0
	if err := r.say("bob", wrongCall)[0].Err; err == nil || err.Code != protocol.CodeRateLimited {
		t.Errorf("in debt: %v", err)
	}
	r.must("bob", strings.Replace(wrongCall, "read", "wipe", 1)) // nothing to check
}
