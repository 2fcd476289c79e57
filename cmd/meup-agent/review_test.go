package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// A reviewer that may not give opinions ends at once and says why.
func TestReview_NoOpinion(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("- approve: {payload: {params: {name: read_file}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := meuptest.Start(t, `
spaces:
  lab:
    participants:
      helper: {token: helper-token, capabilities: [observe, decide, participant.status]}
`)
	p := start(t, g, "helper-token", "review", "--rules", rules)
	err := p.Wait()
	log := p.log.String()
	if p.ProcessState.ExitCode() != program.ExitFailed || !strings.Contains(log, "helper has no capability mcp.opinion") || strings.Contains(log, "reviewer ready") {
		t.Errorf("%v\n%s", err, log)
	}
}

// The program as a reviewer that was promoted: it decides by the rules, asks the model about the
// rest, and ends with a signal.
func TestReview(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("- approve: {payload: {params: {name: read_file}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	model := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: `{"verdict":"reject","reason":"Nobody asked for it."}`}))
	g := meuptest.Start(t, `
spaces:
  lab:
    proposals: {deciders: [{reviewer: helper, mode: decide}, {people: [alice]}]}
    participants:
      alice: {token: alice-token, capabilities: ["*", observe]}
      coder: {token: coder-token, capabilities: [mcp.proposal]}
      helper: {token: helper-token, capabilities: [mcp.opinion, observe, decide, participant.status]}
`)
	ctx, alice, p := together(t, g, "review", "--rules", rules, "--model", "openai:test", "--base-url", model.URL()+"/v1", "--api", "chat")
	p.log.Wait(t, "reviewer ready")
	for _, c := range []struct {
		tool string
		want protocol.Kind
	}{{"read_file", protocol.KindMCPRequest}, {"format_disk", protocol.KindMCPReject}} {
		payload := `{"method":"tools/call","participant_id":"alice","params":{"name":"` + c.tool + `"}}`
		sent, err := g.API(t, "coder").Send(ctx, "lab", protocol.Envelope{Kind: protocol.KindMCPProposal, Payload: []byte(payload)})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []protocol.Kind
		await(ctx, t, alice, func(env *protocol.Envelope) bool {
			if env.Correlation.Names(sent.ID) {
				kinds = append(kinds, env.Kind)
			}
			return len(kinds) == 2
		})
		if kinds[0] != protocol.KindMCPOpinion || kinds[1] != c.want {
			t.Errorf("%s: %v", c.tool, kinds)
		}
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	if log := p.log.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "helper-token") {
		t.Errorf("log:\n%s", log)
	}
}
