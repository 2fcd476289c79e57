package protocol

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDecode_IDOfMalformedFrame(t *testing.T) {
	for frame, id := range map[string]ID{
		`{"id":"a","kind":"x.y","payload":{"n":1,"n":2}}`:                                                  "a",
		`{"kind":"x.y","payload":{"n":1,"n":2},"id":"a"}`:                                                  "a",
		`{"id":"a","payload":{"n":NaN}}`:                                                                   "a",
		`{"id":"a","payload":{"s":"\ud800"}}`:                                                              "a",
		"{\"id\":\"a\",\"payload\":{\"s\":\"\xff\"}}":                                                      "a",
		`{"id":"a","payload":{"l":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}}`: "a",
		`{"id":"a"} {}`:              "a",
		`{"id":"a"`:                  "a",
		`{"\u0069d":"a"} x`:          "a",
		`{"id":"a","id":"a"}`:        "",
		`{"id":"a","kind":1,"id":2}`: "",
		`{"id":5,"n":1,"n":1}`:       "",
		`{"id":"a b","n":1,"n":1}`:   "",
		`{"payload":{"id":"a"},`:     "",
		`{"payload":{,"id":"a"}`:     "",
		`["id","a"`:                  "",
		``:                           "",
	} {
		t.Run(frame, func(t *testing.T) {
			in, err := decodeFrame([]byte(frame), DialectMEUP01, 5)
			if err == nil || err.Code != CodeInvalidJSON {
				t.Fatalf("got error %v, want invalid_json", err)
			}
			if in.Envelope.ID != id {
				t.Errorf("got id %q, want %q", in.Envelope.ID, id)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	frame := `{"protocol":"meup/v0.1","id":"e-1","ts":"2026-01-01T00:00:00Z","from":"alice","to":["bob","carol","bob"],` +
		`"kind":"mcp/request","correlationId":["t1","t2"],"context":"r1/r2","payload":{"method":"tools/list"},"seq":12,"hops":3}`
	in := decode(t, DialectMEUP01, frame)
	want := Envelope{
		ID: "e-1", To: []ParticipantID{"bob", "carol"}, Kind: KindMCPRequest,
		Correlation: Correlation{IDs: []ID{"t1", "t2"}, Array: true}, Context: "r1/r2",
		Payload: []byte(`{"method":"tools/list"}`), Extra: []byte(`"hops":3`),
	}
	if !reflect.DeepEqual(in.Envelope, want) {
		t.Errorf("got %+v\nwant %+v", in.Envelope, want)
	}
	if in.ClaimedFrom != "alice" || in.Size != len(frame) || !in.Payload.Get("method").EqualText("tools/list") {
		t.Errorf("claimed from %q, size %d, payload %s", in.ClaimedFrom, in.Size, in.Payload.Raw())
	}
}

func TestDecodeLeast(t *testing.T) {
	in := decode(t, DialectMEUP01, `{"kind":"chat"}`)
	if string(in.Envelope.Payload) != "{}" || in.Payload.Type() != TypeObject || in.Payload.Len() != 0 {
		t.Errorf("an absent payload is %s", in.Envelope.Payload)
	}
	if e := in.Envelope; e.ID != "" || e.To != nil || e.Context != "" || len(e.Correlation.IDs) != 0 || e.Extra != nil {
		t.Errorf("%+v", e)
	}
	if in := decode(t, DialectMEUP01, `{"kind":"chat","to":[]}`); in.Envelope.To != nil {
		t.Errorf("an empty to is %v", in.Envelope.To)
	}
}

// TestDecodeRefuses covers the rules of sections 1 to 3. The error response
// must contain the id "e-1" if the frame has it.
func TestDecodeRefuses(t *testing.T) {
	ids := func(n int) string { return `["` + strings.Repeat(`x","`, n-1) + `x"]` }
	for frame, want := range map[string]struct {
		code Code
		path string
	}{
		``:                         {CodeInvalidJSON, ""},
		`{"kind":"chat"`:           {CodeInvalidJSON, ""},
		`{"kind":"chat"} {}`:       {CodeInvalidJSON, ""},
		`{"kind":"chat","kind":1}`: {CodeInvalidJSON, "/kind"},
		`{"kind":"chat","payload":{"a":{"b":1,"b":1}}}`:                                                             {CodeInvalidJSON, "/payload/a/b"},
		"{\"kind\":\"chat\",\"payload\":{\"message\":\"\xff\"}}":                                                    {CodeInvalidJSON, "/payload/message"},
		`{"kind":"chat","payload":{"message":"\ud800"}}`:                                                            {CodeInvalidJSON, "/payload/message"},
		`{"kind":"chat","payload":{"n":NaN}}`:                                                                       {CodeInvalidJSON, "/payload/n"},
		`{"kind":"chat","payload":{"l":` + strings.Repeat("[", MaxDepth-2) + strings.Repeat("]", MaxDepth-2) + `}}`: {"", ""},
		`{"kind":"chat","payload":{"l":` + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + `}}`: {CodeInvalidJSON, "/payload/l" + strings.Repeat("/0", MaxDepth-2)},

		`[]`:   {CodeInvalidEnvelope, ""},
		`"x"`:  {CodeInvalidEnvelope, ""},
		`null`: {CodeInvalidEnvelope, ""},
		`{}`:   {CodeInvalidEnvelope, "/kind"},

		`{"id":"e-1"}`:                                            {CodeInvalidEnvelope, "/kind"},
		`{"id":"e-1","kind":""}`:                                  {CodeInvalidEnvelope, "/kind"},
		`{"id":"e-1","kind":7}`:                                   {CodeInvalidEnvelope, "/kind"},
		`{"id":"e-1","kind":null}`:                                {CodeInvalidEnvelope, "/kind"},
		`{"id":"e-1","kind":"a b"}`:                               {CodeInvalidEnvelope, "/kind"},
		`{"kind":5,"id":"e-1"}`:                                   {CodeInvalidEnvelope, "/kind"}, // the id follows the error
		`{"kind":"chat","id":""}`:                                 {CodeInvalidEnvelope, "/id"},
		`{"kind":"chat","id":5}`:                                  {CodeInvalidEnvelope, "/id"},
		`{"kind":"chat","id":null}`:                               {CodeInvalidEnvelope, "/id"},
		`{"kind":"chat","id":"a b"}`:                              {CodeInvalidEnvelope, "/id"},
		`{"kind":"chat","id":"a/b"}`:                              {CodeInvalidEnvelope, "/id"},
		`{"kind":"chat","id":"` + strings.Repeat("x", 129) + `"}`: {CodeInvalidEnvelope, "/id"},
		`{"kind":"chat","id":"` + strings.Repeat("x", 128) + `"}`: {"", ""},

		`{"id":"e-1","kind":"chat","ts":5}`:    {CodeInvalidEnvelope, "/ts"},
		`{"id":"e-1","kind":"chat","seq":"5"}`: {CodeInvalidEnvelope, "/seq"},
		`{"id":"e-1","kind":"chat","from":5}`:  {CodeInvalidEnvelope, "/from"},
		`{"id":"e-1","kind":"chat","from":""}`: {CodeIdentityMismatch, ""},

		`{"id":"e-1","kind":"chat","to":"bob"}`:   {CodeInvalidEnvelope, "/to"},
		`{"id":"e-1","kind":"chat","to":null}`:    {CodeInvalidEnvelope, "/to"},
		`{"id":"e-1","kind":"chat","to":[5]}`:     {CodeInvalidEnvelope, "/to"},
		`{"id":"e-1","kind":"chat","to":[""]}`:    {CodeInvalidEnvelope, "/to"},
		`{"id":"e-1","kind":"chat","to":[["b"]]}`: {CodeInvalidEnvelope, "/to"},

		`{"id":"e-1","kind":"chat","protocol":"meup/v0.2"}`: {CodeUnsupportedProtocol, ""},
		`{"id":"e-1","kind":"chat","protocol":"mcpx/v0.1"}`: {CodeUnsupportedProtocol, ""},
		`{"id":"e-1","kind":"chat","protocol":""}`:          {CodeUnsupportedProtocol, ""},
		`{"id":"e-1","kind":"chat","protocol":1}`:           {CodeInvalidEnvelope, "/protocol"},

		`{"id":"e-1","kind":"chat","correlationId":5}`:               {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"chat","correlationId":null}`:            {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"chat","correlationId":[]}`:              {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"chat","correlationId":[5]}`:             {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"chat","correlationId":""}`:              {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"chat","correlationId":"a b"}`:           {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"chat","correlationId":` + ids(64) + `}`: {"", ""},
		`{"id":"e-1","kind":"chat","correlationId":` + ids(65) + `}`: {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"chat","correlation_id":"a"}`:            {CodeInvalidEnvelope, "/correlation_id"},

		`{"id":"e-1","kind":"chat.acknowledge"}`: {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"feedback"}`:         {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"chat/cancel"}`:      {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"mcp.response"}`:     {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"mcp.withdraw"}`:     {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"mcp.reject"}`:       {CodeInvalidEnvelope, "/correlationId"},
		`{"id":"e-1","kind":"mcp.request"}`:      {"", ""},

		`{"id":"e-1","kind":"chat","context":""}`:            {CodeInvalidContext, "/context"},
		`{"id":"e-1","kind":"chat","context":"/a"}`:          {CodeInvalidContext, "/context"},
		`{"id":"e-1","kind":"chat","context":"a/"}`:          {CodeInvalidContext, "/context"},
		`{"id":"e-1","kind":"chat","context":"a//b"}`:        {CodeInvalidContext, "/context"},
		`{"id":"e-1","kind":"chat","context":"a/b/c/d/e/f"}`: {CodeInvalidContext, "/context"},
		`{"id":"e-1","kind":"chat","context":5}`:             {CodeInvalidEnvelope, "/context"},

		`{"id":"e-1","kind":"chat","payload":[]}`:   {CodeInvalidEnvelope, "/payload"},
		`{"id":"e-1","kind":"chat","payload":null}`: {CodeInvalidEnvelope, "/payload"},
		`{"id":"e-1","kind":"chat","payload":"x"}`:  {CodeInvalidEnvelope, "/payload"},

		`{"id":"e-1","kind":"chat","payload":{"message":"a","text":"b"}}`: {CodeInvalidPayload, "/payload/text"},
	} {
		in, err := decodeFrame([]byte(frame), DialectMEUP01, DefaultContextDepth)
		if want.code == "" {
			if err != nil {
				t.Errorf("%s: %v", frame, err)
			}
			continue
		}
		if err == nil || err.Code != want.code || err.Path != want.path {
			t.Errorf("%s: got %+v, want %s at %q", frame, err, want.code, want.path)
			continue
		}
		if !strings.HasSuffix(err.Message, ".") {
			t.Errorf("%s: %q is not a sentence", frame, err.Message)
		}
		if want := strings.Contains(frame, `"e-1"`); (in.Envelope.ID == "e-1") != want {
			t.Errorf("%s: the answer names %q", frame, in.Envelope.ID)
		}
		in.Envelope.ID, in.Size = "", 0
		if !reflect.DeepEqual(in, &Inbound{}) {
			t.Errorf("%s: what was refused holds more than its id: %+v", frame, in)
		}
	}
}

// TestFoldedNames: a parser that folds the case of names would read another
// envelope than the checked one.
func TestFoldedNames(t *testing.T) {
	for frame, path := range map[string]string{
		`{"kind":"chat","Kind":"mcp.request"}`:                                                      "/Kind",
		`{"kind":"chat","TO":["bob"]}`:                                                              "/TO",
		`{"kind":"chat","correlationid":"x"}`:                                                       "/correlationid",
		`{"kind":"chat","Correlation_ID":["x"]}`:                                                    "/Correlation_ID",
		`{"kind":"chat","\u0049d":"x"}`:                                                             "/Id",
		`{"kind":"chat","ſeq":1}`:                                                                   "/ſeq",
		`{"kind":"chat","payload":{"Message":"x"}}`:                                                 "/payload/Message",
		`{"kind":"chat","payload":{"message":"x","TEXT":""}}`:                                       "/payload/TEXT",
		`{"kind":"mcp.request","payload":{"method":"a","Method":"b"}}`:                              "/payload/Method",
		`{"kind":"mcp.request","payload":{"Params":{}}}`:                                            "/payload/Params",
		`{"kind":"mcp.request","payload":{"params":{"Name":"x"}}}`:                                  "/payload/params/Name",
		`{"kind":"mcp.proposal","payload":{"params":{"URI":"x"}}}`:                                  "/payload/params/URI",
		`{"kind":"mcp.request","payload":{"params":{"x":1,"X":2}}}`:                                 "/payload/params",
		`{"kind":"mcp.request","payload":{"params":{"arguments":{"k/y":[0,{"path":1,"Path":2}]}}}}`: "/payload/params/arguments/k~1y/1",
		`{"kind":"mcp.request","payload":{"params":{"arguments":{"kk":1,"K` + "\u212a" + `":2}}}}`:  "/payload/params/arguments",
		`{"kind":"capability.grant","payload":{"Recipient":"x"}}`:                                   "/payload/Recipient",
		`{"kind":"capability.revoke","payload":{"Grant_id":"x"}}`:                                   "/payload/Grant_id",
		`{"kind":"space.invite","payload":{"Participant_id":"x"}}`:                                  "/payload/Participant_id",
		`{"kind":"space.kick","payload":{"Participant_id":"x"}}`:                                    "/payload/Participant_id",
	} {
		if _, err := refused(t, DialectMEUP01, frame); err.Code != CodeInvalidJSON || err.Path != path {
			t.Errorf("%s: got %s at %q, want it at %q", frame, err.Code, err.Path, path)
		}
	}
	_, err := refused(t, DialectMEUP01, `{"kind":"mcp.request","payload":{"params":{"arguments":{"path":1,"`+strings.Repeat("k", 99)+`":2,"Path":3}}}}`)
	if want := `hold the keys "path" and "Path", which differ by case alone`; !strings.Contains(err.Message, want) {
		t.Errorf("%q, want that they %s", err.Message, want)
	}
	for _, frame := range []string{
		`{"kind":"x.y","payload":{"Message":"x","message":"y"}}`,
		`{"kind":"mcp.request","payload":{"params":{"arguments":{"a":{"x":1},"b":{"X":1}}}}}`,
		`{"kind":"mcp.response","correlationId":"r","payload":{"result":{"a":1,"A":2}}}`,
	} {
		decode(t, DialectMEUP01, frame)
	}
}

// TestDecode_KeyCost: the cost of many or long names is linear in their
// length, not quadratic. The test would otherwise run for minutes.
func TestDecode_KeyCost(t *testing.T) {
	begun := make([]string, 100_000)
	for i := range begun {
		begun[i] = fmt.Sprintf(`"p%d"`, i)
	}
	in := decode(t, DialectMEUP01, `{"kind":"chat","to":[`+strings.Join(begun, ",")+`]}`)
	if len(in.Envelope.To) != len(begun) {
		t.Errorf("%d addressees", len(in.Envelope.To))
	}
	members := strings.Join(begun, ":0,") + ":0"
	long := strings.Repeat("k", 500_000)
	decode(t, DialectMEUP01, `{"kind":"mcp.request","payload":{"method":"m","params":{"`+long+`":{`+members+`}}}}`)
}

func TestDecodeContextDepth(t *testing.T) {
	frame := []byte(`{"kind":"chat","context":"a/b/c"}`)
	if _, err := decodeFrame(frame, DialectMEUP01, 3); err != nil {
		t.Error(err)
	}
	if _, err := decodeFrame(frame, DialectMEUP01, 2); !errors.Is(err, &Error{Code: CodeInvalidContext}) {
		t.Errorf("got %v", err)
	}
}

func TestParseTime(t *testing.T) {
	ts, err := ParseTime(noon.Format(TimeFormat))
	if err != nil || !ts.Equal(noon) {
		t.Errorf("%v, %v", ts, err)
	}
	if ts, err := ParseTime("2026-11-21T13:00:00.123456789+01:00"); err != nil || !ts.Equal(noon.Add(789*time.Nanosecond)) {
		t.Errorf("%v, %v", ts, err)
	}
	if _, err := ParseTime("21.11.2026"); err == nil {
		t.Error("that is no ts")
	}
}
