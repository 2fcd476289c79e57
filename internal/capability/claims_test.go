package capability

import (
	"testing"
)

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
