package httpapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

func TestOverall(t *testing.T) {
	for _, c := range []struct {
		statuses []int // 0: admitted
		want     int
	}{
		{[]int{0}, 200}, {[]int{0, 0}, 200}, {[]int{403}, 403}, {[]int{429, 429}, 429}, {[]int{0, 403}, 207}, {[]int{400, 403}, 207},
	} {
		set := make(map[int]bool)
		for _, s := range c.statuses {
			set[s] = true
		}
		if got := overall(set); got != c.want {
			t.Errorf("%v: %d, want %d", c.statuses, got, c.want)
		}
	}
}

// The result of an envelope is one flat object.
func TestSent(t *testing.T) {
	for want, s := range map[string]sent{
		`{"id":"a","seq":7}`: {Receipt: api.Receipt{ID: "a", Seq: 7}},
		`{"id":"a","seq":7,"token":"t","expires_at":"soon"}`:                                       {Receipt: api.Receipt{ID: "a", Seq: 7, Token: "t", ExpiresAt: "soon"}},
		`{"id":"a","status":403,"error":"paused","message":"m"}`:                                   {Receipt: api.Receipt{ID: "a"}, Status: 403, Err: &protocol.Error{Code: "paused", Message: "m"}},
		`{"status":413,"error":"message_too_large","message":"m","limit":10}`:                      {Status: 413, Err: &protocol.Error{Code: "message_too_large", Message: "m", Limit: 10}},
		`{"id":"a","status":400,"error":"invalid_payload","message":"m","path":"/x","detail":"d"}`: {Receipt: api.Receipt{ID: "a"}, Status: 400, Err: &protocol.Error{Code: "invalid_payload", Message: "m", Path: "/x", Detail: "d"}},
	} {
		got, err := json.Marshal(s)
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestExpand(t *testing.T) {
	existing := []string{"lab", "team-blue", "team-red", "teamless"}
	for _, c := range []struct{ patterns, want []string }{
		{[]string{"lab"}, []string{"lab"}},
		{[]string{"new"}, []string{"new"}}, // configured, and without a log
		{[]string{"team-*"}, []string{"team-blue", "team-red"}},
		{[]string{"*", "lab"}, []string{"lab", "team-blue", "team-red", "teamless"}},
		{nil, nil},
	} {
		if got := expand(c.patterns, existing); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.patterns, got, c.want)
		}
	}
}

// For any white space that a sender puts between the tokens of its JSON, a reader
// of server-sent events decodes the same value, name and id.
func TestEventsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		space := rapid.StringOfN(rapid.SampledFrom([]rune{' ', '\n', '\r', '\t'}), 0, 6, -1)
		text := rapid.String().Draw(t, "text")
		encoded := protocol.AppendString(nil, text)
		data := "{" + space.Draw(t, "a") + `"text":` + space.Draw(t, "b") + string(encoded) + space.Draw(t, "c") + "}"
		var s eventStream
		s.event("envelope", "17", []byte(data))
		s.event("presence", "", []byte(`{}`))
		events := strings.Split(string(s.buf), "\n\n")
		if len(events) != 3 || events[2] != "" {
			t.Fatalf("%d events in %q", len(events), s.buf)
		}
		var got []string
		fields := make(map[string]string)
		for line := range strings.SplitSeq(events[0], "\n") {
			name, value, _ := strings.Cut(line, ": ")
			if name == "data" {
				got = append(got, value)
			}
			fields[name] = value
		}
		var back struct{ Text string }
		if err := json.Unmarshal([]byte(strings.Join(got, "\n")), &back); err != nil || back.Text != text {
			t.Fatalf("%q came back as %q: %v", text, back.Text, err)
		}
		if fields["event"] != "envelope" || fields["id"] != "17" || strings.Contains(events[1], "id:") {
			t.Fatalf("events %q", s.buf)
		}
	})
}
