package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/acp"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// The command is an ACP agent on its standard input and output, and addresses questions.
func TestACP(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	t.Setenv("MEUP_URL", g.HTTP())
	t.Setenv("MEUP_SPACE", "lab")
	t.Setenv("MEUP_TOKEN", "alice-token")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	in, toIn := io.Pipe()
	fromOut, out := io.Pipe()
	root := newRoot(program.Process())
	root.SetArgs([]string{"acp", "--to", "bob"})
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(io.Discard)
	done := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(t.Context())
		_ = out.Close()
		done <- err
	}()
	c := acp.NewConn(fromOut, toIn, slog.New(slog.DiscardHandler), func(context.Context, string, json.RawMessage) (any, error) { return nil, nil })
	c.Start()
	var session struct{ SessionID string }
	if err := c.Call(t.Context(), "session/new", map[string]any{"cwd": "/", "mcpServers": []any{}}, &session); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.Call(t.Context(), "session/prompt", map[string]any{"sessionId": session.SessionID, "prompt": []any{map[string]string{"type": "text", "text": "hello"}}}, nil)
	}()
	var q protocol.Envelope
	testkit.Eventually(t, "the question", func() bool {
		page, err := g.API(t, "bob").Envelopes(t.Context(), "lab", api.EnvelopeQuery{Kinds: []string{string(protocol.KindChat)}})
		if err == nil && len(page.Envelopes) > 0 {
			q = page.Envelopes[0]
		}
		return q.ID != ""
	})
	if len(q.To) != 1 || q.To[0] != "bob" || q.From != "alice" {
		t.Errorf("%s asks %v", q.From, q.To)
	}
	_ = toIn.Close()
	if err := <-done; err != nil {
		t.Errorf("it ended with %v", err)
	}
	c.Close()
}

func TestACP_Faults(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	t.Setenv("MEUP_URL", g.HTTP())
	t.Setenv("MEUP_SPACE", "lab")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for want, args := range map[string][]string{"expected the id of a participant": {"acp", "--to", "a b"}, "does not know this token": {"acp"}, "unexpected argument": {"acp", "x"}} {
		t.Run(want, func(t *testing.T) {
			t.Setenv("MEUP_TOKEN", "wrong-token")
			root := newRoot(program.Process())
			root.SetArgs(args)
			root.SetIn(strings.NewReader(""))
			root.SetOut(io.Discard)
			root.SetErr(io.Discard)
			if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "wrong-token") {
				t.Errorf("%v", err)
			}
		})
	}
}
