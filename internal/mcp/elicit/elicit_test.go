package elicit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/protocol"
)

func value(t *testing.T, text string) protocol.Value {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(text), 16)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

const form = `{"mode":"form","message":"Where to?","_meta":{"meup/server":{"name":"moody"},"meup/expires_at":"2026-11-28T10:00:00Z"},"requestedSchema":{"type":"object","required":["host","port"],"properties":{
	"host":{"type":"string","title":"Host","minLength":2,"maxLength":10},
	"port":{"type":"integer","minimum":1,"maximum":65535,"default":22},
	"load":{"type":"number"},
	"sure":{"type":"boolean"},
	"color":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l"}]},
	"days":{"type":"array","minItems":1,"maxItems":2,"items":{"anyOf":[{"const":"mo","title":"Monday"},{"const":"tu"},{"const":"we"}]}},
	"mail":{"type":"string","format":"email"},
	"site":{"type":"string","format":"uri"},
	"day":{"type":"string","format":"date"},
	"time":{"type":"string","format":"date-time"},
	"code":{"type":"string","pattern":"^[A-Z]+$"}}}}`

func TestAnswersAreCheckedAgainstTheForm(t *testing.T) {
	q, err := elicit.Parse(value(t, form))
	if err != nil {
		t.Fatal(err)
	}
	if q.Server != "moody" || q.Expires.IsZero() || len(q.Fields) != 12 || q.Fields[0].Label() != "Host" || q.Fields[5].Options[1] != (elicit.Option{Value: "l", Title: "l"}) {
		t.Errorf("parsed %+v", q)
	}
	for answer, want := range map[string]string{
		`{"host":"ab","port":22}`:                  "",
		`{"host":"ab"}`:                            "port: a value is required",
		`{"host":"a","port":22}`:                   "Host: expected 2 to 10 characters",
		`{"host":"ab","port":0}`:                   "port: expected at least 1",
		`{"host":"ab","port":70000}`:               "port: expected at most 65535",
		`{"host":"ab","port":1.5}`:                 "port: expected a whole number",
		`{"host":"ab","port":"22"}`:                "port: expected a number",
		`{"host":7,"port":22}`:                     "Host: expected a text",
		`{"host":"ab","port":22,"x":1}`:            "x: the form has no such field",
		`{"host":"ab","port":22,"sure":"yes"}`:     "sure: expected true or false",
		`{"host":"ab","port":22,"color":"Red"}`:    "color: expected one of the options",
		`{"host":"ab","port":22,"size":"s"}`:       "",
		`{"host":"ab","port":22,"days":["mo"]}`:    "",
		`{"host":"ab","port":22,"days":[]}`:        "days: expected 1 to 2 options",
		`{"host":"ab","port":22,"days":"mo"}`:      "days: expected 1 to 2 options",
		`{"host":"ab","port":22,"days":["su"]}`:    "days: expected a list of the options",
		`{"host":"ab","port":22,"mail":"a@b.org"}`: "",
		`{"host":"ab","port":22,"mail":"ana"}`:     "mail: expected an address such as ana@example.org",
		`{"host":"ab","port":22,"site":"x"}`:       "site: expected an address such as https://example.org",
		`{"host":"ab","port":22,"day":"x"}`:        "day: expected a date such as 2026-11-28",
		`{"host":"ab","port":22,"time":"x"}`:       "time: expected a time such as 2026-11-28T09:30:00Z",
		`{"host":"ab","port":22,"code":"a"}`:       "code: expected a text that matches ^[A-Z]+$",
		`[]`:                                       "content: expected an object",
	} {
		if err := q.Check(value(t, answer)); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v; expected %q", answer, err, want)
		}
	}
}

func TestTextOfAPersonBecomesAValue(t *testing.T) {
	q, err := elicit.Parse(value(t, form))
	if err != nil {
		t.Fatal(err)
	}
	fields := make(map[string]elicit.Field)
	for _, f := range q.Fields {
		fields[f.Name] = f
	}
	for _, test := range [][3]string{
		{"host", " ab ", `"ab"`}, {"port", "22", "22"}, {"port", "x", ""}, {"load", "1e3", "1e3"}, {"sure", "Y", "true"}, {"sure", "no", "false"}, {"sure", "maybe", ""},
		{"color", "2", `"g"`}, {"color", "green", `"g"`}, {"color", "g", `"g"`}, {"color", "blue", ""}, {"days", "1, tu", `["mo","tu"]`}, {"days", "1,2,3", ""}, {"port", `1,"x":2`, ""},
	} {
		f := fields[test[0]]
		raw, err := f.Read(test[1])
		if got := string(raw); err == nil && got != test[2] || (err != nil) != (test[2] == "") {
			t.Errorf("%s: %q is %s, %v; expected %s", test[0], test[1], got, err, test[2])
		}
	}
	if got := fmt.Sprint(hint(fields["port"]), "|", hint(fields["sure"]), "|", hint(fields["host"]), "|", hint(fields["code"])); got != "a whole number from 1 to 65535|yes or no|2 to 10 characters|" {
		t.Errorf("hints %q", got)
	}
}

func hint(f elicit.Field) string { return f.Hint() }

func TestQuestionsThatAreNoFlatForm(t *testing.T) {
	property := func(schema string) string {
		return `{"message":"m","requestedSchema":{"type":"object","properties":{"a":` + schema + `}}}`
	}
	for params, want := range map[string]string{
		`[]`: "expected an object",
		`{"message":"` + strings.Repeat("x", 9000) + `"}`:                            "message: expected at most",
		`{"message":"m","mode":"voice"}`:                                             `mode: expected form or url, not "voice"`,
		`{"message":"m","requestedSchema":{"type":"string"}}`:                        "expected the type object",
		`{"message":"m","requestedSchema":[]}`:                                       "expected an object schema",
		property(`{"type":"object","properties":{}}`):                                `property "a": the type "object"`,
		property(`{"type":"array","items":{"type":"string"}}`):                       "an array needs items with enum",
		property(`{"anyOf":[{"type":"string"},{"type":"null"}]}`):                    `the type ""`,
		property(`{"type":"string","pattern":"("}`):                                  "pattern",
		property(`{"type":"string","enum":["` + strings.Repeat(`","`, 300) + `"]}`):  "at most 256 options",
		`{"message":"m","mode":"url","url":"http://evil.example/"}`:                  "url: expected https://",
		`{"message":"m","mode":"url","url":"javascript:alert(1)"}`:                   "url: expected https://",
		`{"message":"m","mode":"url","url":"https://bank.example@evil.example/log"}`: "url: expected https://",
	} {
		if _, err := elicit.Parse(value(t, params)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v; expected %q", params, err, want)
		}
	}
	for _, url := range []string{"https://example.org/pay?x=1", "http://localhost:9/x", "http://127.0.0.1/x"} {
		if q, err := elicit.Parse(value(t, `{"message":"m","mode":"url","elicitationId":"1","url":"`+url+`"}`)); err != nil || q.URL != url {
			t.Errorf("%s: %v", url, err)
		}
	}
	if q, err := elicit.Parse(value(t, `{"message":"Continue?"}`)); err != nil || q.Check(value(t, `{}`)) != nil || q.Check(protocol.Value{}) != nil {
		t.Errorf("a question without fields: %v", err)
	}
}

// A host asks about a call to it that has no response, a bounded number of times.
func TestCalls(t *testing.T) {
	envelope := func(id, from, to, about, payload string) *protocol.Envelope {
		e := &protocol.Envelope{ID: protocol.ID(id), From: protocol.ParticipantID(from), To: []protocol.ParticipantID{protocol.ParticipantID(to)}, Kind: protocol.KindMCPRequest, Payload: []byte(payload)}
		if about != "" {
			e.Correlation = protocol.CorrelateTo(protocol.ID(about))
		}
		return e
	}
	const call, ask = `{"id":1,"method":"tools/call","params":{"name":"x"}}`, `{"id":2,"method":"elicitation/create","params":{"message":"m"}}`
	calls := elicit.NewCalls("alice")
	for _, e := range []*protocol.Envelope{envelope("r", "alice", "files", "", call), envelope("o", "bob", "files", "", call), envelope("n", "alice", "files", "", `{"method":"notifications/x"}`)} {
		if calls.Apply(e) != nil {
			t.Errorf("%s is a question", e.ID)
		}
	}
	for name, e := range map[string]*protocol.Envelope{
		"about no call": envelope("q", "files", "alice", "", ask), "about the call of another": envelope("q", "files", "alice", "o", ask),
		"of another participant": envelope("q", "evil", "alice", "r", ask), "about a notification": envelope("q", "files", "alice", "n", ask), "to another": envelope("q", "files", "bob", "r", ask),
	} {
		if calls.Apply(e) != nil {
			t.Errorf("a question %s is asked", name)
		}
	}
	asked := 0
	for range 30 {
		if calls.Apply(envelope("q", "files", "alice", "r", ask)) != nil {
			asked++
		}
	}
	if asked != 20 {
		t.Errorf("%d questions about one call are asked, want 20", asked)
	}
	calls.Apply(envelope("r2", "alice", "files", "", call))
	response := envelope("a", "files", "alice", "r2", `{"id":1,"result":{}}`)
	response.Kind = protocol.KindMCPResponse
	calls.Apply(response)
	if calls.Apply(envelope("q", "files", "alice", "r2", ask)) != nil {
		t.Error("a question after the response is asked")
	}
	const cancel = `{"method":"notifications/cancelled","params":{"requestId":1}}`
	calls.Apply(envelope("r3", "alice", "files", "", call))
	calls.Apply(envelope("c", "bob", "files", "r3", cancel))
	if calls.Apply(envelope("q", "files", "alice", "r3", ask)) == nil {
		t.Error("a question is not asked after another participant has canceled the call")
	}
	calls.Apply(envelope("c", "alice", "files", "r3", cancel))
	if calls.Apply(envelope("q", "files", "alice", "r3", ask)) != nil {
		t.Error("a question about a canceled call is asked")
	}
}
