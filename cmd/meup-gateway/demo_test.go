package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/gateway/web"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/protocol"
)

var (
	linkLine  = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#code=(\w+)`)
	tokenLine = regexp.MustCompile(`MEUP_TOKEN=(\S+)`)
)

// runDemo runs a demo and returns its output up to the link; the demo has then
// printed everything. The demo ends with the test.
func runDemo(t *testing.T, f demoFlags) string {
	t.Helper()
	f.mcp, f.docs, f.level, f.scene = "go", t.TempDir(), "error", true
	if f.find == nil {
		f.find = func(context.Context, models.Options) (string, string, bool) { return "", "", false }
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { // ends with ctx; waited for below
		ended <- demo(ctx, f, w, io.Discard)
		_ = w.Close()
	}()
	said := readUntil(t, r, "/#code=")
	t.Cleanup(func() {
		cancel()
		rest, _ := io.ReadAll(r)
		if string(rest) != "The demo has ended; nothing was kept.\n" {
			t.Errorf("output after the link: %q", rest)
		}
		if err := <-ended; err != nil {
			t.Errorf("demo: %v", err)
		}
	})
	return said
}

// TestDemo_Output checks that the output has at most eight lines, and that the
// last one is a link that signs one browser in, once, and contains no token.
func TestDemo_Output(t *testing.T) {
	if site, err := web.Bundled(); err != nil || site == nil {
		t.Skipf("there is no page: %v", err)
	}
	said := runDemo(t, demoFlags{listen: "127.0.0.1:0", model: "rules"})
	lines := strings.Split(strings.TrimSpace(said), "\n")
	link := linkLine.FindStringSubmatch(lines[len(lines)-1])
	if len(lines) > 7 || link == nil { // one more if the address is in use
		t.Fatalf("%d lines:\n%s", len(lines), said)
	}
	for i, want := range []string{"The demo is at http://127.0.0.1:", "The agents planner and scout", "The agent guide answers your questions about ", "In a terminal", "Claude Code,", "Open this link."} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %s", i+1, lines[i])
		}
	}
	tryLink(t, link, tokenLine.FindStringSubmatch(said)[1])
}

// A model that could be used is named with the option that selects it, unless one is selected.
func TestDemo_NamesModel(t *testing.T) {
	find := func(_ context.Context, o models.Options) (name, why string, ok bool) {
		if o.Getenv == nil {
			t.Error("the environment is not read")
		}
		return "ollama:qwen3", "Ollama answers at localhost:11434", true
	}
	const line = "\nIt decides by rules. Ollama answers at localhost:11434, so it can use a language model: make demo ARGS='--model ollama:qwen3'\n"
	for model, want := range map[string]bool{"rules": true, "ollama:llama4": false} {
		if said := runDemo(t, demoFlags{listen: "127.0.0.1:0", model: model, find: find}); strings.Contains(said, line) != want {
			t.Errorf("with --model %s; want %q: %v\n%s", model, line, want, said)
		}
	}
}

// The printed command runs as it is: it names a client that exists, or how to build one.
func TestFindClient(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if where, command := findClient(); where != ", after make build" || command != "bin/meup" {
		t.Errorf("without a client: %q, %q", where, command)
	}
	name := "meup"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if where, command := findClient(); where != "" || command != "meup" {
		t.Errorf("with a client in PATH: %q, %q", where, command)
	}
}

func TestDemo_AddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := runDemo(t, demoFlags{listen: l.Addr().String(), model: "rules"})
	if !strings.Contains(said, l.Addr().String()+" is in use") || strings.Contains(said, "http://"+l.Addr().String()) {
		t.Errorf("the output is\n%s", said)
	}
	if lines := strings.Split(strings.TrimSpace(said), "\n"); len(lines) > 8 {
		t.Errorf("%d lines:\n%s", len(lines), said)
	}
}

func TestDemo_InvalidFlags(t *testing.T) {
	for name, f := range map[string]demoFlags{
		"address":     {listen: "nowhere", level: "warn", mcp: "go"},
		"no such MCP": {listen: "127.0.0.1:0", level: "warn", mcp: "pip"},
		"model":       {listen: "127.0.0.1:0", level: "warn", mcp: "go", model: "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			err := demo(t.Context(), f, io.Discard, io.Discard)
			if _, usage := errors.AsType[*program.UsageError](err); !usage {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func tryLink(t *testing.T, link []string, token string) {
	t.Helper()
	if strings.Contains(link[0], token) {
		t.Errorf("the token is in the link %s", link[0])
	}
	address, _, _ := strings.Cut(link[0], "#")
	if resp := request(t, http.MethodGet, address, ""); resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page: %s", resp.Status)
	}
	code := `{"code": "` + link[1] + `"}`
	if resp := request(t, http.MethodPost, address+"api/session", code); resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 1 {
		t.Errorf("the code: %s", resp.Status)
	}
	if resp := request(t, http.MethodPost, address+"api/session", code); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the code again: %s", resp.Status)
	}
}

func request(t *testing.T, method, address, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}

// readUntil reads the output of a demo up to a text.
func readUntil(t *testing.T, r io.Reader, text string) string {
	t.Helper()
	var said strings.Builder
	for block := make([]byte, 4096); !strings.Contains(said.String(), text); {
		n, err := r.Read(block)
		said.Write(block[:n])
		if err != nil {
			t.Fatalf("the demo ended: %v: %s", err, said.String())
		}
	}
	return said.String()
}

func TestDemoAsk_HostileText(t *testing.T) {
	text, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	s := &demoEnv{out: &out}
	for _, e := range []protocol.Envelope{
		{Kind: protocol.KindChat, From: "guide", Payload: fmt.Appendf(nil, `{"message":%s}`, text)},
		{Kind: "x.kind", From: "guide", Payload: fmt.Appendf(nil, `{"a":"%s"}`, strings.ReplaceAll(hostile, "\x1b", ""))},
		{Kind: protocol.KindMCPRequest, From: "guide", Payload: fmt.Appendf(nil, `{"method":"tools/call","params":{"name":%s,"arguments":{"a":%[1]s}}}`, text)},
		{Kind: protocol.KindMCPResponse, From: "guide", Payload: fmt.Appendf(nil, `{"result":{"content":[{"type":"text","text":%s}]}}`, text)},
		{Kind: protocol.KindMCPResponse, From: "guide", Payload: fmt.Appendf(nil, `{"error":{"code":1,"message":%s}}`, text)},
	} {
		s.print(&e)
	}
	wantSafe(t, "demo --ask", out.String())
	if strings.Count(out.String(), "guide: ") != 5 {
		t.Errorf("%+q", out.String())
	}
}
