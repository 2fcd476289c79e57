package protocol

import (
	"strings"
	"testing"
)

func TestParseKind(t *testing.T) {
	long := strings.Repeat("k", MaxKindBytes)
	for s, want := range map[string]Kind{
		"chat":            "chat",
		"reasoning.start": "reasoning.start",
		"reasoning/start": "reasoning.start",
		"x.a/b":           "x.a/b", // only the first separator has two spellings
		"x/a.b":           "x.a.b",
		"x/a/b":           "x.a/b",
		"x.A_b:c-9":       "x.A_b:c-9",
		long:              Kind(long),
	} {
		if got, ok := ParseKind(s); !ok || got != want {
			t.Errorf("%q: got %q, %v; want %q", s, got, ok, want)
		}
	}
	for _, s := range []string{"", long + "k", "a b", "chat\n", "chät", "a*", "a,b", "a\x00"} {
		if got, ok := ParseKind(s); ok {
			t.Errorf("%q is the kind %q", s, got)
		}
	}
}

func TestKindSlash(t *testing.T) {
	for k, want := range map[Kind]string{
		"chat": "chat", "reasoning.start": "reasoning/start", "x.a/b": "x/a/b", "x.a.b": "x/a.b",
	} {
		if got := k.Slash(); got != want {
			t.Errorf("%s: got %s, want %s", k, got, want)
		}
		if back, ok := ParseKind(k.Slash()); !ok || back != k {
			t.Errorf("%s comes back as %s, %v", k, back, ok)
		}
	}
	if ns, name := Kind("mcp.request").Split(); ns != "mcp" || name != "request" {
		t.Errorf("split %s, %s", ns, name)
	}
	if ns, name := Kind("chat").Split(); ns != "chat" || name != "" {
		t.Errorf("split %s, %s", ns, name)
	}
}

// TestKindProperties covers the properties of kinds in sections 2, 6 and 7.
func TestKindProperties(t *testing.T) {
	all := []Kind{
		KindChat, KindChatAcknowledge, KindChatCancel, KindFeedback, KindMCPRequest, KindMCPResponse, KindMCPProposal, KindMCPWithdraw,
		KindMCPReject, KindReasoningStart, KindReasoningThought, KindReasoningObservation, KindReasoningHypothesis,
		KindReasoningQuestion, KindReasoningConclusion, KindReasoningCancel, KindCapabilityGrant, KindCapabilityRevoke,
		KindCapabilityGrantAck, KindSpaceInvite, KindSpaceInviteAck, KindSpaceKick, KindParticipantPause, KindParticipantResume,
		KindParticipantStatus, KindStreamRequest, KindStreamOpen, KindStreamData, KindStreamClose, KindSystemWelcome,
		KindSystemPresence, KindSystemAck, KindSystemError, KindSystemSubscribe, KindSystemSubscribed, KindSystemJoin,
		"system", "systematic.x", "reasoning", "reasoning.anything", "reasonings.start", "x.mcp.request",
	}
	for _, p := range []struct {
		name string
		has  func(Kind) bool
		want string
	}{
		{"is work", Kind.IsWork, "mcp.request mcp.response mcp.proposal mcp.withdraw mcp.reject"},
		{"is a step", Kind.IsStep, "reasoning.thought reasoning.observation reasoning.hypothesis reasoning.question reasoning.anything"},
		{"closes its context", Kind.ClosesContext, "reasoning.conclusion reasoning.cancel"},
		{"needs a correlation", Kind.NeedsCorrelation, "chat.acknowledge chat.cancel feedback mcp.response mcp.withdraw mcp.reject"},
		{"is reserved", Kind.IsReserved, "space.invite-ack system.welcome system.presence system.ack system.error " +
			"system.subscribe system.subscribed system.join system"},
		{"is live", Kind.IsLive, "stream.data system.presence"},
		{"changes state", Kind.ChangesState, "capability.grant capability.revoke space.invite space.kick participant.pause participant.resume"},
	} {
		want := " " + p.want + " "
		for _, k := range all {
			if got := p.has(k); got != strings.Contains(want, " "+string(k)+" ") {
				t.Errorf("%s %s: %v", k, p.name, got)
			}
		}
	}
}

func TestKindPattern(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no string
	}{
		{"chat", "chat", "chat.cancel chatx x.chat"},
		{"mcp.request", "mcp.request", "mcp.response mcp.requests"},
		{"mcp/request", "mcp.request", "mcp.response"},
		{"reasoning/*", "reasoning.start reasoning.thought reasoning.a.b", "reasoning reasonings.start chat"},
		{"reasoning.*", "reasoning.start reasoning.thought", "reasoning chat"},
		{"reasoning/start", "reasoning.start", "reasoning.thought"},
		{"reasoning/step", "reasoning.thought reasoning.observation reasoning.anything", "reasoning.start reasoning.conclusion reasoning.cancel chat"},
		{"!reasoning/step", "reasoning.start reasoning.conclusion reasoning.cancel chat", "reasoning.thought"},
		{"*", "chat mcp.request x.y.z", ""},
		{"**", "chat mcp.request", ""},
		{"!*", "", "chat mcp.request"},
		{"!chat", "mcp.request chat.cancel", "chat"},
		{"!mcp/*", "chat", "mcp.request"},
		{"mcp.re*", "mcp.request mcp.response mcp.reject", "mcp.proposal"},
		{"*.start", "reasoning.start x.start", "start reasoning.thought"},
		{"x*", "x xyz", "x.y x."},
		{"x.*", "x.y x.", "x"},
		{"x.*.done", "x.job.done x.a.b.done", "x.done x.job"},
		{"x.a*b*c", "x.abc x.aXbYc x.abbcc", "x.ab x.acb"},
		{`/^mcp\.(request|proposal)$/`, "mcp.request mcp.proposal", "mcp.response"},
		{`/^mcp/request$/`, "mcp.request", "mcp.response"}, // either spelling
		{`!/^mcp\./`, "chat", "mcp.request"},
	} {
		p, err := ParseKindPattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, k := range strings.Fields(c.yes) {
			if !p.Match(Kind(k)) {
				t.Errorf("%s does not match %s", c.pattern, k)
			}
		}
		for _, k := range strings.Fields(c.no) {
			if p.Match(Kind(k)) {
				t.Errorf("%s matches %s", c.pattern, k)
			}
		}
		if p.String() != c.pattern {
			t.Errorf("%s is written %s", c.pattern, p.String())
		}
	}
}

func TestKindPatternFaults(t *testing.T) {
	for _, s := range []string{"", "!", "a b", "/(/", "!/(/", "ä*", "a?", strings.Repeat("k", MaxKindBytes+1),
		"/(a{1000})/", "/" + strings.Repeat("a", maxPatternBytes) + "/"} {
		if _, err := ParseKindPattern(s); err == nil {
			t.Errorf("%q is a pattern", s)
		}
	}
	var zero KindPattern
	if zero.Match("chat") || zero.Match("") {
		t.Error("the zero pattern matches")
	}
}

func TestKindPatternSpelling(t *testing.T) {
	for s, want := range map[string]string{
		"chat": "chat", "mcp.request": "mcp/request", "mcp/*": "mcp/*", "!mcp.*": "!mcp/*", "*": "*", `/^a\.b/`: `/^a\.b/`,
	} {
		p, err := ParseKindPattern(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Slash(); got != want {
			t.Errorf("%s: got %s, want %s", s, got, want)
		}
	}
	for s, want := range map[string]Kind{"mcp/request": "mcp.request", "!chat": "", "mcp/*": "", "reasoning/step": "", "/chat/": ""} {
		p, err := ParseKindPattern(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.Literal(); ok != (want != "") || ok && got != want {
			t.Errorf("%s is literally %q, %v", s, got, ok)
		}
	}
}
