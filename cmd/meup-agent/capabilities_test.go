package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

func TestNeeds(t *testing.T) {
	const all = "mcp.request stream/* participant.compact-done chat reasoning/* mcp.response participant.status mcp.proposal mcp.withdraw"
	for name, c := range map[string]struct {
		held, missing string
	}{
		"everything":         {`["*"]`, ""},
		"nothing":            {`[]`, all},
		"by slash":           {`["chat","reasoning/*","mcp/*","stream/*","participant/status","participant/compact-done"]`, ""},
		"with conditions":    {`["chat","reasoning/*",{"kind":"mcp.*","payload":{"method":"x"}},"stream/*","participant.*"]`, ""},
		"steps alone":        {`["chat","reasoning/step","mcp/*","stream/*","participant.*"]`, "reasoning/*"},
		"some are denied":    {`["*",{"kind":"mcp.request","payload":{"method":"x"},"deny":true}]`, ""},
		"all are denied":     {`["*",{"kind":"mcp.request","deny":true}]`, "mcp.request"},
		"no proposals":       {`["chat","reasoning/*","mcp.request","mcp.response"]`, "stream/* participant.compact-done participant.status mcp.proposal mcp.withdraw"},
		"of a later version": {`["*",{"kind":["chat"]},7]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var held []json.RawMessage
			if err := json.Unmarshal([]byte(c.held), &held); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			participant.WarnMissing(slog.New(slog.NewTextHandler(&log, nil)), held, append(agentNeeds[:len(agentNeeds):len(agentNeeds)], proposalNeeds...)...)
			var got []string
			for _, found := range regexp.MustCompile(`level=WARN msg="capability missing" capability=(\S+) without="`).FindAllStringSubmatch(log.String(), -1) {
				got = append(got, found[1])
			}
			if strings.Join(got, " ") != c.missing || strings.Count(log.String(), "\n") != len(got) {
				t.Errorf("warned of %s:\n%s", got, &log)
			}
		})
	}
}

// TestRun_MissingCapabilities checks that the program logs missing capabilities
// at startup, without the capability to propose if it is not to propose.
func TestRun_MissingCapabilities(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"proposing":     {nil, 4},
		"not proposing": {[]string{"--proposal-timeout", "0"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, strings.Replace(config, `"mcp/*"]`, `mcp.request, mcp.response, "stream/*"]`, 1))
			ctx, alice, p := together(t, g, "run", c.args...)
			if _, err := alice.Send(ctx, protocol.Envelope{Kind: protocol.KindParticipantShutdown, To: []protocol.ParticipantID{"helper"}}); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err != nil {
				t.Error(err)
			}
			if got := strings.Count(p.log.String(), `msg="capability missing"`); got != c.want || strings.Contains(p.log.String(), "mcp.proposal") != (c.want > 2) {
				t.Errorf("%d warnings:\n%s", got, p.log.String())
			}
		})
	}
}

func TestWarnUnrestricted(t *testing.T) {
	for name, c := range map[string]struct {
		held   string
		warned bool
	}{
		"everything":      {`["*"]`, true},
		"as an object":    {`["chat",{"id":"g-1","kind":"**"}]`, true},
		"all calls":       {`["chat","mcp/*"]`, false},
		"in one context":  {`[{"kind":"*","context":"a"}]`, false},
		"some are denied": {`["*",{"kind":"mcp.request","payload":{"method":"x"},"deny":true}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			you := protocol.You{ID: "alice"}
			if err := json.Unmarshal([]byte(c.held), &you.Capabilities); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			participant.WarnUnrestricted(slog.New(slog.NewTextHandler(&log, nil)), you)
			if got := log.String(); (got != "") != c.warned || c.warned && (strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, "participant=alice")) {
				t.Errorf("the log is %s", got)
			}
		})
	}
}

// The program warns when it joins with the token of a person.
func TestRun_PersonsToken(t *testing.T) {
	g := meuptest.Start(t, config)
	p := start(t, g, "alice-token", "run")
	p.log.Wait(t, `level=WARN msg="the participant may do everything without approval`)
	p.log.Wait(t, "agent ready")
	if got := strings.Count(p.log.String(), "level=WARN"); got != 1 {
		t.Errorf("%d warnings:\n%s", got, p.log.String())
	}
}
