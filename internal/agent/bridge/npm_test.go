package bridge_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func fromTheBeginning(o *client.Options) { o.Since = client.After(0) }

// The reference server with every feature: every method and all notifications.
func TestEverythingServerOfTheReferenceImplementation(t *testing.T) {
	program := testkit.EverythingServer(t)
	g := meuptest.Start(t, config)
	employ(t, g, mcptools.Server{Command: []string{program}}, setup{})
	alice := join(t, g, "alice", nil)
	object := func(pairs ...any) map[string]any {
		m := make(map[string]any)
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	for _, test := range []struct {
		method string
		params any
		want   string
	}{
		{"initialize", object("protocolVersion", "2025-11-25"), `"completions":{}`},
		{"tools/list", nil, `"name":"echo"`},
		{"tools/call", object("name", "echo", "arguments", object("message", "hello")), "Echo: hello"},
		{"tools/call", object("name", "get-structured-content", "arguments", object("location", "Chicago")), `"structuredContent":{`},
		{"tools/call", object("name", "get-tiny-image", "arguments", object()), `"mimeType":"image/png"`},
		{"resources/list", nil, `"uri":"demo://resource/`},
		{"resources/templates/list", object(), `"uriTemplate":"demo://resource/dynamic/text/{resourceId}"`},
		{"resources/read", object("uri", "demo://resource/dynamic/text/1"), `"text":"Resource 1`},
		{"resources/subscribe", object("uri", "demo://resource/dynamic/text/1"), `{}`},
		{"prompts/list", nil, `"name":"args-prompt"`},
		{"prompts/get", object("name", "args-prompt", "arguments", object("city", "Bern")), "Bern"},
		{"completion/complete", object("ref", object("type", "ref/prompt", "name", "completable-prompt"), "argument", object("name", "department", "value", "E")), `"Engineering"`},
		{"logging/setLevel", object("level", "debug"), `{}`},
		{"ping", nil, `{}`},
	} {
		if got := ask(t, alice, test.method, test.params); !strings.Contains(got, test.want) {
			t.Errorf("%s: %.2000s", test.method, got)
		}
	}
	if e := refused(t, alice, "resources/read", object("uri", "demo://none")); e.Code == 0 {
		t.Errorf("unknown resource: %+v", e)
	}
	begin(t, alice, `{"id":"long","method":"tools/call","params":{"name":"trigger-long-running-operation","arguments":{"duration":0.2,"steps":4},"_meta":{"progressToken":9007199254740993}}}`)
	env := await(t, alice, saying("notifications/progress"))
	if !strings.Contains(string(env.Payload), `"progressToken":9007199254740993`) {
		t.Errorf("progress %s", env.Payload)
	}
	await(t, alice, func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindMCPResponse && strings.Contains(string(env.Payload), `"id":"long"`)
	})
	ask(t, alice, "tools/call", object("name", "toggle-simulated-logging", "arguments", object()))
	await(t, alice, saying("notifications/message"))
	ask(t, alice, "tools/call", object("name", "toggle-subscriber-updates", "arguments", object()))
	await(t, alice, saying("notifications/resources/updated"))
}

func TestFilesystemServerOfTheReferenceImplementation(t *testing.T) {
	program := testkit.FilesystemServer(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "deploy.md"), []byte("# Deploy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := meuptest.Start(t, config)
	employ(t, g, mcptools.Server{Command: []string{program, dir}}, setup{})
	alice := join(t, g, "alice", nil)
	call := func(tool string, args any) string {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return ask(t, alice, "tools/call", map[string]any{"name": tool, "arguments": json.RawMessage(raw)})
	}
	if got := ask(t, alice, "tools/list", nil); !strings.Contains(got, `"read_text_file"`) {
		t.Errorf("tools %s", got)
	}
	if got := call("read_text_file", map[string]string{"path": filepath.Join(dir, "deploy.md")}); !strings.Contains(got, "# Deploy") {
		t.Errorf("file %s", got)
	}
	if got := call("read_text_file", map[string]string{"path": "/etc/passwd"}); !strings.Contains(got, `"isError":true`) {
		t.Errorf("a file outside %s", got)
	}
	if e := refused(t, alice, "prompts/list", nil); e.Code != -32601 {
		t.Errorf("prompts: %+v", e)
	}
}
