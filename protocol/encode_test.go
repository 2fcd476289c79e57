package protocol

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAppendEnvelope(t *testing.T) {
	e := Envelope{
		ID: "e-1", TS: time.Date(2026, 11, 21, 13, 0, 0, 5_999, time.FixedZone("", 3600)), From: "alice",
		To: []ParticipantID{"bob", "carol"}, Kind: KindChat, Correlation: CorrelateTo("e-0"), Context: "r1/r2",
		Payload: []byte(`{ "n":1.0, "message":"hi" }`), Extra: []byte(`"hops":3`), Seq: 12,
	}
	for d, want := range map[Dialect]string{
		DialectMEUP01: `{"protocol":"meup/v0.1","id":"e-1","ts":"2026-11-21T12:00:00.000005Z","from":"alice","to":["bob","carol"],"kind":"chat",` +
			`"correlationId":"e-0","context":"r1/r2","payload":{ "n":1.0, "message":"hi" },"hops":3,"seq":12}`,
		DialectMEUP02: `{"protocol":"meup/v0.2","id":"e-1","ts":"2026-11-21T12:00:00.000005Z","from":"alice","to":["bob","carol"],"kind":"chat",` +
			`"correlation_id":["e-0"],"context":"r1/r2","payload":{ "n":1.0, "text":"hi" },"hops":3}`,
		DialectMEW04: `{"protocol":"mew/v0.4","id":"e-1","ts":"2026-11-21T12:00:00.000005Z","from":"alice","to":["bob","carol"],"kind":"chat",` +
			`"correlation_id":["e-0"],"context":"r1/r2","payload":{ "n":1.0, "text":"hi" },"hops":3}`,
	} {
		if got := string(AppendEnvelope([]byte("> "), d, &e)); got != "> "+want {
			t.Errorf("%s:\n got %s\nwant %s", d, got, want)
		}
	}
	if got, err := json.Marshal(e); err != nil || !strings.Contains(string(got), `"seq":12`) {
		t.Errorf("marshals to %s, %v", got, err)
	}
}

func TestAppendEnvelopeLeast(t *testing.T) {
	e := Envelope{ID: "e", TS: noon, From: GatewayID, Kind: KindSystemAck}
	want := `{"protocol":"mew/v0.4","id":"e","ts":"2026-11-21T12:00:00.123456Z","from":"system:gateway","kind":"system/ack","payload":{}}`
	if got := string(AppendEnvelope(nil, DialectMEW04, &e)); got != want {
		t.Errorf("got %s", got)
	}
}

// TestPayloadBytes: section 1 requires that a payload is delivered byte for
// byte.
func TestPayloadBytes(t *testing.T) {
	for _, payload := range []string{
		`{}`,
		"{ \"b\" :\t1 ,\n \"a\": 2 }",
		`{"n":[1.0,1.00,1e2,1E+2,-0,0.1e-7,123456789012345678901234567890.12345678901234567890,1e-9999]}`,
		`{"z":1,"y":{"b":1,"a":2},"x":[{"d":1,"c":2}]}`,
		`{"s":"\u00e9é\/\ud83d\ude00😀\u0000","\u006bey":"\t"}`,
		`{"html":"<a href='x'>&amp;</a>","line":"` + "\u2028" + `"}`,
	} {
		for _, d := range allDialects {
			in := decode(t, d, `{"kind":"x.y","payload":`+payload+`}`)
			for _, to := range allDialects {
				if got := string(AppendEnvelope(nil, to, stamped(in))); !strings.Contains(got, `"payload":`+payload) {
					t.Errorf("%s to %s: %s became %s", d, to, payload, got)
				}
			}
		}
	}
}

func TestUnknownFields(t *testing.T) {
	in := decode(t, DialectMEUP01, `{"x" : {"b":1.0, "a":[ ]},"kind":"chat","\u0079":null,"trace id":"a\/b","payload":{}}`)
	want := `"x":{"b":1.0, "a":[ ]},"\u0079":null,"trace id":"a\/b"`
	if got := string(in.Envelope.Extra); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, d := range allDialects {
		if got := string(AppendEnvelope(nil, d, stamped(in))); !strings.Contains(got, `"payload":{},`+want) {
			t.Errorf("%s: %s", d, got)
		}
	}
}

// TestCorrelationForm: meup/v0.1 keeps the form, the other dialects only have
// arrays.
func TestCorrelationForm(t *testing.T) {
	for form, slashed := range map[string]string{
		`"a"`: `["a"]`, `["a"]`: `["a"]`, `["a","b","a"]`: `["a","b","a"]`,
	} {
		in := decode(t, DialectMEUP01, `{"kind":"chat","correlationId":`+form+`}`)
		if got := string(AppendEnvelope(nil, DialectMEUP01, stamped(in))); !strings.Contains(got, `"correlationId":`+form+`,`) {
			t.Errorf("%s became %s", form, got)
		}
		if got := string(AppendEnvelope(nil, DialectMEUP02, stamped(in))); !strings.Contains(got, `"correlation_id":`+slashed+`,`) {
			t.Errorf("%s became %s", form, got)
		}
	}
	c := Correlation{IDs: []ID{"a", "b"}}
	if c.First() != "a" || !c.Names("b") || c.Names("c") || (Correlation{}).First() != "" {
		t.Error("what a correlation names")
	}
}

// TestChatText: the text of a chat has one canonical name, and each dialect's
// own name on the wire. No other field of a payload is renamed.
func TestChatText(t *testing.T) {
	for payload, canonical := range map[string]string{
		`{"message":"hi"}`: `{"message":"hi"}`,
		`{"text":"hi"}`:    `{"message":"hi"}`,
		`{ "format":"plain", "t\u0065xt" : "h\u0069"}`: `{ "format":"plain", "message" : "h\u0069"}`,
		`{"a":{"text":1},"text":"hi"}`:                 `{"a":{"text":1},"message":"hi"}`,
		`{"format":"plain"}`:                           `{"format":"plain"}`,
	} {
		for _, d := range allDialects {
			in := decode(t, d, `{"kind":"chat","payload":`+payload+`}`)
			if got := string(in.Envelope.Payload); got != canonical || string(in.Payload.Raw()) != canonical {
				t.Errorf("%s: %s became %s, parsed %s", d, payload, got, in.Payload.Raw())
			}
			e := stamped(in)
			if got := string(AppendEnvelope(nil, DialectMEUP01, e)); !strings.Contains(got, `"payload":`+canonical) {
				t.Errorf("%s: %s went out as %s", d, payload, got)
			}
			slashed := strings.Replace(canonical, `"message"`, `"text"`, 1)
			if got := string(AppendEnvelope(nil, DialectMEW04, e)); !strings.Contains(got, `"payload":`+slashed) {
				t.Errorf("%s: %s went out as %s", d, payload, got)
			}
		}
	}
	in := decode(t, DialectMEUP02, `{"kind":"reasoning/thought","payload":{"text":"hi"}}`)
	if string(in.Envelope.Payload) != `{"text":"hi"}` {
		t.Errorf("a thought's text became %s", in.Envelope.Payload)
	}
}

// TestDialects: an envelope encoded in one dialect is decoded unchanged, after
// any sequence of dialects.
func TestDialects(t *testing.T) {
	frames := map[Dialect][]string{
		DialectMEUP01: {
			`{"kind":"reasoning.thought","id":"a","correlationId":"x","context":"r","payload":{"message":"m"}}`,
			`{"kind":"reasoning/thought","correlationId":["x"],"to":["bob"],"payload":{"message":"m"},"extra":[1.0]}`,
			`{"protocol":"meup/v0.1","kind":"chat","payload":{"text":"m"}}`,
		},
		DialectMEUP02: {
			`{"protocol":"meup/v0.2","kind":"reasoning/thought","correlation_id":["x","y"],"payload":{"message":"m"}}`,
			`{"kind":"reasoning.start","correlation_id":"x"}`,
			`{"kind":"chat","payload":{"text":"m"}}`,
		},
		DialectMEW04: {
			`{"protocol":"mew/v0.4","kind":"mcp/request","payload":{"method":"m"}}`,
			`{"protocol":"mew/v0.3","kind":"mcp/response","correlation_id":["x"],"payload":{"result":{}}}`,
			`{"kind":"chat","payload":{"text":"m"}}`,
		},
	}
	for d, list := range frames {
		for _, frame := range list {
			e := stamped(decode(t, d, frame))
			for _, via := range allDialects {
				sameEnvelope(t, e, through(t, e, via))
			}
		}
	}
}

// through encodes an envelope in a dialect and decodes it again.
func through(t tb, e *Envelope, d Dialect) *Envelope {
	t.Helper()
	in := decode(t, d, string(AppendEnvelope(nil, d, e)))
	if in.ClaimedFrom != e.From {
		t.Fatalf("%s became %s", e.From, in.ClaimedFrom)
	}
	back := in.Envelope
	back.From, back.TS, back.Seq = e.From, e.TS, e.Seq
	return &back
}

// sameEnvelope compares envelopes, ignoring the form of the correlation.
func sameEnvelope(t tb, want, got *Envelope) {
	t.Helper()
	a, b := *want, *got
	a.Correlation.Array, b.Correlation.Array = false, false
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("got  %+v (%s)\nwant %+v (%s)", b, b.Payload, a, a.Payload)
	}
}

func TestDialectNames(t *testing.T) {
	for name, want := range map[string]struct {
		dialect     Dialect
		subprotocol string
	}{
		"meup/v0.1": {DialectMEUP01, "meup.v0.1"}, "meup/v0.2": {DialectMEUP02, "meup.v0.2"},
		"mew/v0.4": {DialectMEW04, "mew.v0.4"}, "mew/v0.3": {DialectMEW04, "mew.v0.4"},
	} {
		if d, ok := ParseDialect(name); !ok || d != want.dialect || d.Subprotocol() != want.subprotocol {
			t.Errorf("%s: %v, %v", name, d, ok)
		}
	}
	for _, name := range []string{"", "meup", "meup/v0.3", "MEUP/v0.1", "mcpx/v0.1"} {
		if d, ok := ParseDialect(name); ok {
			t.Errorf("%q is %v", name, d)
		}
	}
	if names := DialectNames(); len(names) != DialectCount || len(names) != len(allDialects) {
		t.Errorf("dialects %v", names)
	}
	for _, d := range allDialects {
		if back, ok := ParseDialect(d.String()); !ok || back != d {
			t.Errorf("%s comes back as %v", d, back)
		}
	}
}

func TestAppendString(t *testing.T) {
	for s, want := range map[string]string{
		"":               `""`,
		"a\"b\\c/d":      `"a\"b\\c/d"`,
		"\x00\n\x1f\x7f": "\"\\u0000\\u000a\\u001f\x7f\"",
		"é€😀\u2028<&>":   "\"é€😀\u2028<&>\"",
		"a\xffb":         "\"a\ufffdb\"",
	} {
		got := string(AppendString(nil, s))
		if got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
		if text := parse(t, got).Text(); text != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%q comes back as %q", s, text)
		}
	}
}

func TestFromGateway(t *testing.T) {
	e, err := FromGateway("a1", KindSystemAck, noon, Ack{Seq: 3})
	if err != nil || e.From != GatewayID || e.ID != "a1" || !e.TS.Equal(noon) || string(e.Payload) != `{"seq":3}` {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := FromGateway("a1", KindSystemAck, noon, func() {}); err == nil {
		t.Error("a function is a payload")
	}
}

func TestOpens(t *testing.T) {
	for _, c := range []struct {
		kind    Kind
		context ContextPath
		want    ContextPath
	}{
		{KindReasoningStart, "", "e"}, {KindReasoningStart, "a/b", "a/b/e"}, {KindReasoningThought, "a", ""},
	} {
		e := Envelope{ID: "e", Kind: c.kind, Context: c.context}
		if got, ok := e.Opens(); got != c.want || ok != (c.want != "") {
			t.Errorf("%s in %q opens %q, %v", c.kind, c.context, got, ok)
		}
	}
}

func TestWelcomeShape(t *testing.T) {
	w := Welcome{
		You:          You{ID: "bob", Capabilities: []json.RawMessage{[]byte(`"chat"`)}},
		Participants: []Participant{}, Space: SpaceInfo{Name: "lab", Seq: 4}, Protocol: "meup/v0.1",
	}
	want := `{"you":{"id":"bob","capabilities":["chat"],"limits":{}},"participants":[],"space":{"name":"lab","seq":4},"protocol":"meup/v0.1"}`
	if got, err := json.Marshal(w); err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	w.ActiveStreams = &[]any{}
	if got, _ := json.Marshal(w); !strings.Contains(string(got), `"active_streams":[]`) {
		t.Errorf("got %s", got)
	}
}
