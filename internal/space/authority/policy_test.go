package authority

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/protocol"
)

func capabilities(t *testing.T, texts ...string) (list []*capability.Capability) {
	t.Helper()
	for _, text := range texts {
		c, err := capability.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// A change of anything that decides changes the digest, and nothing else does.
func TestState_Policy(t *testing.T) {
	configured := func(change func(*Config)) string {
		c := &Config{Name: "lab", Participants: map[protocol.ParticipantID]ParticipantConfig{
			"alice": {Capabilities: capabilities(t, `"*"`)}, "bob": {Capabilities: capabilities(t, `"chat"`, `"mcp.proposal"`)},
		}}
		change(c)
		if shared := c.Shared()("lab"); NewState(shared).Policy != c.digest() {
			t.Error("the digest of a pattern differs")
		}
		return NewState(c).Policy
	}
	same := configured(func(*Config) {})
	if len(same) != policyDigits {
		t.Fatalf("%q", same)
	}
	set := func(id protocol.ParticipantID, p ParticipantConfig) func(*Config) {
		return func(c *Config) { c.Participants[id] = p }
	}
	for name, c := range map[string]struct {
		change func(*Config)
		same   bool
	}{
		"another name":             {func(c *Config) { c.Name, c.Pattern = "l2", "l*" }, true},
		"a description":            {set("alice", ParticipantConfig{Capabilities: capabilities(t, `"*"`), Description: "a person"}), true},
		"another capability":       {set("bob", ParticipantConfig{Capabilities: capabilities(t, `"chat"`)}), false},
		"another order":            {set("bob", ParticipantConfig{Capabilities: capabilities(t, `"mcp.proposal"`, `"chat"`)}), false},
		"another root":             {set("alice", ParticipantConfig{Capabilities: capabilities(t, `"*"`), Root: "/repo"}), false},
		"another participant":      {set("carol", ParticipantConfig{}), false},
		"visible to everyone":      {func(c *Config) { c.Everyone = true }, false},
		"decide is explicit":       {func(c *Config) { c.DecideExplicitly = true }, false},
		"deciders":                 {func(c *Config) { c.Deciders.People = []Stage{{People: []string{"alice"}}} }, false},
		"guests without rights":    {func(c *Config) { c.Guests = &ParticipantConfig{} }, false},
		"guests with capabilities": {func(c *Config) { c.Guests = &ParticipantConfig{Capabilities: capabilities(t, `"chat"`)} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := configured(c.change); (got == same) != c.same {
				t.Errorf("same: %t", !c.same)
			}
		})
	}
	guests := configured(func(c *Config) { c.Guests = &ParticipantConfig{} })
	if guests == configured(func(c *Config) { c.Guests = &ParticipantConfig{Capabilities: capabilities(t, `"chat"`)} }) {
		t.Error("the capabilities of guests are not part of it")
	}
	calls := capabilities(t, `{"kind":"mcp.request","to":"files"}`, `{"kind":"mcp.request","to":"db"}`)
	digests := map[string]string{}
	for name, d := range map[string]Deciders{
		"human only": {HumanOnly: calls}, "rules": {Rules: []Rule{{Capability: calls[0]}}}, "another rule": {Rules: []Rule{{Capability: calls[1]}}},
		"a reason": {Rules: []Rule{{Capability: calls[0], Reason: "no"}}}, "a reviewer": {Reviewers: []Reviewer{{ID: "rev"}}},
		"that decides": {Reviewers: []Reviewer{{ID: "rev", Decides: true}}}, "on some calls": {Reviewers: []Reviewer{{ID: "rev", For: calls}}},
		"proof": {Reviewers: []Reviewer{{ID: "rev", Decisions: 5}}}, "more proof": {Reviewers: []Reviewer{{ID: "rev", WithoutMiss: 5}}},
		"people": {People: []Stage{{People: []string{"alice"}}}}, "later": {People: []Stage{{People: []string{"alice"}, After: time.Minute}}}, "nobody": {},
	} {
		digest := configured(func(c *Config) { c.Deciders = d })
		if other, taken := digests[digest]; taken {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		digests[digest] = name
	}
	st := NewState(&Config{}).WithConfig(&Config{Everyone: true})
	if want := NewState(&Config{Everyone: true}).Policy; st.Policy != want {
		t.Errorf("%s after a reload, want %s", st.Policy, want)
	}
}

func TestState_Judge(t *testing.T) {
	st := NewState(&Config{Participants: map[protocol.ParticipantID]ParticipantConfig{
		"bob": {Capabilities: capabilities(t, `{"kind":"mcp.request","payload":{"params":{"name":"read_*"}}}`,
			`{"kind":"mcp.request","payload":{"params":{"name":"wipe"}},"deny":true}`, `"mcp.proposal"`)},
		"carol": {Capabilities: capabilities(t, `{"kind":"mcp.request","to":"files"}`)},
	}})
	for _, c := range []struct {
		who  protocol.ParticipantID
		tool string
		to   protocol.ParticipantID
		want Verdict
		by   string
	}{
		{"bob", "read_file", "files", Allowed, `{"kind":"mcp.request","payload":{"params":{"name":"read_*"}}}`},
		{"bob", "write", "files", Asked, ""},
		{"bob", "wipe", "files", Asked, `{"kind":"mcp.request","payload":{"params":{"name":"wipe"}},"deny":true}`},
		{"carol", "wipe", "files", Allowed, `{"kind":"mcp.request","to":"files"}`},
		{"carol", "wipe", "bob", Refused, ""},
		{"nobody", "wipe", "files", Refused, ""},
	} {
		t.Run(string(c.who)+" "+c.tool, func(t *testing.T) {
			doc, err := protocol.ParseJSON([]byte(`{"method":"tools/call","params":{"name":"`+c.tool+`"}}`), protocol.MaxDepth)
			if err != nil {
				t.Fatal(err)
			}
			got, by := st.Judge(c.who, []protocol.ParticipantID{c.to}, "", doc.Root(), time.Unix(0, 0))
			text := ""
			if by != nil {
				text = by.String()
			}
			if got != c.want || text != c.by {
				t.Errorf("%s by %s, want %s by %s", got, text, c.want, c.by)
			}
		})
	}
}
