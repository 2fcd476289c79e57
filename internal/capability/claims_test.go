package capability

import (
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/protocol"
)

// held are claims in which all paths are held by one participant.
type held protocol.ParticipantID

func (h held) Held(_ string, by protocol.ParticipantID, _ time.Time) (own, others bool) {
	return by == protocol.ParticipantID(h), by != protocol.ParticipantID(h)
}

func TestClaims_Explain(t *testing.T) {
	for name, c := range map[string]struct {
		claims, arguments string
		held              Claims
		want              string
	}{
		"claimed":            {"require", `{"file_path":"/r/a"}`, held("me"), "allows it"},
		"no path":            {"require", `{"content":"x"}`, held("me"), "the call has none in an argument such as file_path"},
		"an uncertain path":  {"respect", `{"file_path":"a"}`, held("me"), "those of the call are not certain"},
		"a blank at its end": {"require", `{"file_path":"C:/a\u00a0/"}`, held("me"), "those of the call are not certain"},
		"a command":          {"require", `{"command":"ls","path":"/r/a"}`, held("me"), "those of the call are not certain"},
		"unknown":            {"require", `{"path":"/r/a"}`, nil, "is not known here"},
		"not claimed":        {"require", `{"path":"/r/a"}`, held("bob"), "the caller has not claimed all paths"},
		"claimed by another": {"respect", `{"path":"/r/a"}`, held("bob"), "another participant has claimed a path"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{Kind: protocol.KindMCPRequest, Sender: "me", Claims: c.held, Place: argument.Place{}}
			r.Payload = payload(t, `{"params":{"arguments":`+c.arguments+`}}`)
			got := NewSet(mustParse(t, `{"kind":"mcp.request","claims":"`+c.claims+`"}`)).Explain(&r)
			if len(got) != 1 || !strings.Contains(got[0], c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestClaims_Covers: a grant can ask for more claims than its grantor has to hold, never for fewer.
func TestClaims_Covers(t *testing.T) {
	modes := []string{`{"kind":"mcp.request"}`, `{"kind":"mcp.request","claims":"respect"}`, `{"kind":"mcp.request","claims":"require"}`}
	for i, held := range modes {
		for k, granted := range modes {
			w := Work{left: 1000}
			if got := mustParse(t, held).covers(mustParse(t, granted), &w); got != (i <= k) {
				t.Errorf("%s covers %s: %v", held, granted, got)
			}
		}
	}
	for _, text := range []string{`{"kind":"mcp.request","claims":"all"}`, `{"kind":"mcp.request","claims":true}`, `{"kind":"mcp.request","claims":"require","deny":true}`} {
		if _, err := ParseJSON([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
	if d := mustParse(t, modes[2]).asDeny(); d.claims != claimsIgnored || mustParse(t, d.String()).String() != d.String() {
		t.Errorf("as a deny rule: %s", d)
	}
}
