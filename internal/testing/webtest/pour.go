package webtest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// SendAtRate lets a participant send n envelopes, perSecond on average, in a batch
// per beat. A late batch contains the envelopes of the missed beats.
func (s *Stage) SendAtRate(who string, n, perSecond int, beat time.Duration, what func(int) Envelope) {
	s.t.Helper()
	begun := time.Now()
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for said := 0; said < n; {
		now := <-ticker.C
		due := min(n, int(now.Sub(begun).Seconds()*float64(perSecond)))
		var list []Envelope
		for ; said < due; said++ {
			list = append(list, what(said))
		}
		s.Send(who, list...)
	}
}

// Head returns the seq of the latest envelope that a participant may see.
func (s *Stage) Head(who string) protocol.Seq {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.Gateway.HTTP()+"/api/spaces/"+StageSpace+"/envelopes?order=desc&limit=1", http.NoBody)
	if err != nil {
		s.t.Fatalf("ask for the head: %v", err)
	}
	req.Header.Set("Authorization", "Bearer "+who+"-token")
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatalf("ask for the head: %v", err)
	}
	defer resp.Body.Close() //nolint:errcheck // it is read
	var page struct {
		Envelopes []struct {
			Seq protocol.Seq `json:"seq"`
		} `json:"envelopes"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || len(page.Envelopes) == 0 {
		s.t.Fatalf("ask for the head: %s (%v)", resp.Status, err)
	}
	return page.Envelopes[0].Seq
}
