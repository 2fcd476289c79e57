package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/meuptest"
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
