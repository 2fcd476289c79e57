package authority

import (
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// TestClaims_Snapshot: claims outlast a restart, with what ends them.
func TestClaims_Snapshot(t *testing.T) {
	l := newStateLog(t)
	l.add(protocol.KindClaim, `{"paths":["/r/A","/r/b"],"names":["x"],"ttl_seconds":60,"reason":"y"}`)
	l.add(protocol.KindClaim, `{"paths":["/r/a"],"ttl_seconds":90}`)
	st := l.fold()
	again, err := restore(st.encode("log", later), "log", l.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if list := again.Claims(l.at); len(list) != 3 || list[0].Path != "/r/a" || fmt.Sprint(list) != fmt.Sprint(st.Claims(l.at)) {
		t.Errorf("%+v, want %+v", list, st.Claims(l.at))
	}
	last := l.entries[len(l.entries)-1]
	for _, s := range []*State{st, again} {
		s.dropEndedClaims(last.Envelope.TS.Add(90e9 + 1))
		if s.claims.items.Len() != 0 || s.claims.expiry.Len() != 0 || s.claims.counts.Len() != 0 {
			t.Errorf("left over: %d, %d, %d", s.claims.items.Len(), s.claims.expiry.Len(), s.claims.counts.Len())
		}
	}
	if len(again.Claimants()) != 0 {
		t.Errorf("%v", again.Claimants())
	}
}
