package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// The program with an agent of the ACP SDK: it hands over the space's tools, asks the
// space for permission, answers, and ends the agent on a signal.
func TestACP_SDKAgent(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on this machine")
	}
	sdk, err := filepath.Abs("../../.tools/node/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sdk); err != nil {
		t.Skip("the ACP SDK is not installed; run make install-npm")
	}
	script, err := filepath.Abs("../../internal/agent/acp/testdata/agent.mjs")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SDK", sdk)
	ctx, alice, p := together(t, meuptest.Start(t, config), "acp", "--cmd", node+" '"+script+"'", "--env", "SDK", "--log-format", "json", "--log-level", "debug")
	if _, err := alice.Send(ctx, protocol.Envelope{Kind: protocol.KindChat, ID: "q", Payload: []byte(`{"message":"@helper change it"}`)}); err != nil {
		t.Fatal(err)
	}
	proposed := await(ctx, t, alice, func(e *protocol.Envelope) bool { return e.Kind == protocol.KindMCPProposal })
	approval, err := exchange.Approval(&proposed, "approved", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Send(ctx, approval); err != nil {
		t.Fatal(err)
	}
	got := await(ctx, t, alice, func(e *protocol.Envelope) bool { return e.Kind == protocol.KindChat && e.Correlation.Names("q") })
	if !strings.Contains(string(got.Payload), "Changed.") {
		t.Errorf("answer %s", got.Payload)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("ended with %v\n%s", err, p.log.String())
	}
	if log := p.log.String(); strings.Contains(log, "helper-token") || strings.Contains(log, "change it") || !strings.Contains(log, `"name":"sdk-agent 2.4.0"`) {
		t.Errorf("log:\n%s", log)
	}
}
