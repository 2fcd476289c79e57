package gateway_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// TestHistory_Period: history is selected by participant, kind and time, in both
// directions and over pages, with both logs.
func TestHistory_Period(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) { t.Parallel(); testPeriod(t, meuptest.Config) })
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		testPeriod(t, onNATS(t, meuptest.Config))
	})
}

func testPeriod(t *testing.T, yaml string) {
	g := meuptest.Start(t, yaml)
	alice, bob := g.API(t, "alice"), g.API(t, "bob")
	for i := range 20 {
		c := alice
		if i%2 == 1 {
			c = bob
		}
		for _, kind := range []protocol.Kind{protocol.KindChat, "x.note"} {
			e := protocol.Envelope{ID: protocol.ID(fmt.Sprint(kind, "-", i)), Kind: kind, Payload: []byte(`{"message":"m"}`)}
			if _, err := send(t, c, "lab", e); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := readPage(t, alice, api.EnvelopeQuery{Limit: 1000})
	if len(all.Envelopes) != 40 {
		t.Fatalf("%d envelopes", len(all.Envelopes))
	}
	list := all.Envelopes
	from, until := list[7].TS, list[31].TS
	for name, c := range map[string]struct {
		q    api.EnvelopeQuery
		want func(e *protocol.Envelope) bool
	}{
		"from":   {api.EnvelopeQuery{FromTime: from}, func(e *protocol.Envelope) bool { return !e.TS.Before(from) }},
		"until":  {api.EnvelopeQuery{Until: until}, func(e *protocol.Envelope) bool { return e.TS.Before(until) }},
		"period": {api.EnvelopeQuery{FromTime: from, Until: until}, func(e *protocol.Envelope) bool { return !e.TS.Before(from) && e.TS.Before(until) }},
		"participant, kind and period": {
			api.EnvelopeQuery{FromTime: from, Until: until, Kinds: []string{"x.*"}, From: []protocol.ParticipantID{"bob"}},
			func(e *protocol.Envelope) bool {
				return !e.TS.Before(from) && e.TS.Before(until) && e.Kind == "x.note" && e.From == "bob"
			},
		},
		"the future": {api.EnvelopeQuery{FromTime: time.Now().Add(time.Hour)}, func(*protocol.Envelope) bool { return false }},
		"long ago":   {api.EnvelopeQuery{Until: time.Now().Add(-time.Hour)}, func(*protocol.Envelope) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			want := []protocol.ID{}
			for i := range list {
				if c.want(&list[i]) {
					want = append(want, list[i].ID)
				}
			}
			for _, descending := range []bool{false, true} {
				q, got := c.q, []protocol.ID{}
				for q.Limit, q.Descending = 3, descending; ; {
					page := readPage(t, alice, q)
					for i := range page.Envelopes {
						if id := page.Envelopes[i].ID; descending {
							got = append([]protocol.ID{id}, got...)
						} else {
							got = append(got, id)
						}
					}
					if !page.HasMore {
						break
					}
					q.Since = page.Next
					if descending {
						q.Since, q.Before = 0, page.Next
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("descending %v: got %v, want %v", descending, got, want)
				}
			}
		})
	}
	both := readPage(t, alice, api.EnvelopeQuery{FromTime: from, Since: list[20].Seq})
	if len(both.Envelopes) != 19 || both.Envelopes[0].ID != list[21].ID {
		t.Errorf("since a time and a seq: %d envelopes from %s on", len(both.Envelopes), both.Envelopes[0].ID)
	}
}

// readPage reads a page of lab, when the log is available.
func readPage(t *testing.T, c *api.Client, q api.EnvelopeQuery) *api.Envelopes {
	t.Helper()
	page, err := whenAvailable(t, func() (*api.Envelopes, error) { return c.Envelopes(t.Context(), "lab", q) })
	if err != nil {
		t.Fatal(err)
	}
	return page
}
