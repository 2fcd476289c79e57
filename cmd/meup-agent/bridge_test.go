package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// The program as a bridge to our own server of documents: it answers, and shuts
// down cleanly on a signal.
func TestBridge_CleanShutdown(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "deploy.md"), []byte("# How to deploy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(context.Context, *client.Client, *running) error{
		"by a signal": func(_ context.Context, _ *client.Client, p *running) error { return p.Process.Signal(syscall.SIGTERM) },
		"by a participant": func(ctx context.Context, alice *client.Client, _ *running) error {
			_, err := alice.Send(ctx, protocol.Envelope{Kind: protocol.KindParticipantShutdown, To: []protocol.ParticipantID{"helper"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, alice, p := together(t, meuptest.Start(t, config), "bridge", "--mcp", "meup-agent docserver '"+dir+"'", "--log-format", "json", "--log-level", "debug")
			res, err := alice.Request(ctx, []protocol.ParticipantID{"helper"}, "tools/call",
				map[string]any{"name": "read_text_file", "arguments": map[string]string{"path": "deploy.md"}}, client.RequestOptions{})
			if err != nil || !strings.Contains(string(res), "How to deploy") {
				t.Errorf("%s, %v", res, err)
			}
			if err := end(ctx, alice, p); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err != nil {
				t.Errorf("ended with %v\n%s", err, p.log.String())
			}
			if log := p.log.String(); strings.Contains(log, "helper-token") || strings.Contains(log, "How to deploy") || !strings.Contains(log, `"msg":"bridge ready"`) {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}

// The capabilities that the documentation gives a host of tools cause no warning; the token of a
// person does, since it allows everything.
func TestBridge_Warnings(t *testing.T) {
	for name, c := range map[string]struct {
		capabilities string
		args         []string
		warnings     int
		want         string
	}{
		"documented":    {`[mcp.response, mcp.request, participant.status]`, nil, 0, `level=INFO msg="tools are not pinned`},
		"pins required": {`[mcp.response, mcp.request, participant.status]`, []string{"--pin-tools"}, 3, `msg="tools not checked; they are when they are used"`},
		"no proposals":  {`[mcp.response, mcp.request, participant.status, {kind: capability.grant, payload: {recipient: helper}}]`, nil, 1, `capability=mcp.proposal`},
		"a person":      {`["*"]`, nil, 1, `msg="the participant may do everything without approval`},
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, strings.Replace(config, `[chat, "reasoning/*", "mcp/*"]`, c.capabilities, 1))
			ctx, alice, p := together(t, g, "bridge", append(c.args, "--mcp", "meup-agent docserver '"+t.TempDir()+"'")...)
			_, err := alice.Request(ctx, []protocol.ParticipantID{"helper"}, "tools/list", nil, client.RequestOptions{})
			if (err != nil) != (name == "pins required") {
				t.Error(err)
			}
			p.log.Wait(t, c.want) // the last of them, if there are several
			if _, err := alice.Send(ctx, protocol.Envelope{Kind: protocol.KindParticipantShutdown, To: []protocol.ParticipantID{"helper"}}); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err != nil {
				t.Error(err)
			}
			if log := p.log.String(); strings.Count(log, "level=WARN") != c.warnings || strings.Count(log, c.want) != 1 {
				t.Errorf("the log is\n%s", log)
			}
		})
	}
}
