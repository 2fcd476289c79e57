package protocol

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// codesOfDecode are the codes that the decoder may return.
var codesOfDecode = []Code{
	CodeInvalidJSON, CodeInvalidEnvelope, CodeInvalidPayload, CodeInvalidContext, CodeUnsupportedProtocol, CodeIdentityMismatch,
}

// FuzzDecode decodes frames in every dialect: an accepted frame is JSON with
// the same payload, and encoding and decoding it again changes nothing.
func FuzzDecode(f *testing.F) {
	f.Add(thought400)
	f.Add([]byte("#0#"))
	f.Add([]byte(`{"kind":"chat","to":["bob","bob"],"correlationId":["a"],"x":1,"payload":{"text":"a"}}`))
	f.Add([]byte(`{"kind":"mcp/request","correlation_id":"a","payload":{"method":"tools/call","params":{"name":"x"}}}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		for _, d := range allDialects {
			in, err := decodeFrame(slices.Clone(frame), d, DefaultContextDepth)
			if err != nil {
				if !slices.Contains(codesOfDecode, err.Code) || err.Message == "" || in.Envelope.Kind != "" {
					t.Fatalf("%s: %+v, %+v", d, err, in)
				}
				continue
			}
			if d == DialectMEW04 && bytes.HasPrefix(frame, []byte("#")) { // #ID#DATA
				if in.Envelope.Kind != KindStreamData || !utf8.Valid(frame) {
					t.Fatalf("%q is %+v", frame, in.Envelope)
				}
				continue
			}
			if !json.Valid(frame) || !utf8.Valid(frame) {
				t.Fatalf("%s accepts what is not JSON: %q", d, frame)
			}
			e := stamped(in)
			samePayload(t, frame, e)
			written := AppendEnvelope(nil, d, e)
			back := through(t, e, d)
			sameEnvelope(t, e, back)
			if again := AppendEnvelope(nil, d, back); string(again) != string(written) {
				t.Fatalf("%s:\n first %s\nsecond %s", d, written, again)
			}
		}
	})
}

// samePayload compares the payload with the result of encoding/json for the
// frame.
func samePayload(t tb, frame []byte, e *Envelope) {
	t.Helper()
	fields, _ := decodeAny(t, frame).(map[string]any)
	want, _ := fields["payload"].(map[string]any)
	if want == nil {
		want = map[string]any{}
	}
	if text, ok := want["text"]; ok && e.Kind == KindChat {
		want["message"] = text
		delete(want, "text")
	}
	if got := decodeAny(t, e.Payload); !reflect.DeepEqual(got, want) {
		t.Fatalf("payload %#v, want %#v", got, want)
	}
}

// FuzzDialects converts an envelope to two dialects in turn and compares the
// result.
func FuzzDialects(f *testing.F) {
	f.Add([]byte(`{"kind":"chat","correlationId":"a","payload":{"message":"a"}}`), uint8(0), uint8(1))
	f.Add([]byte(`{"kind":"x/y.z","correlation_id":["a"],"payload":{"text":1.0},"more":"x"}`), uint8(1), uint8(0))
	f.Fuzz(func(t *testing.T, frame []byte, first, second uint8) {
		d, via := allDialects[int(first)%len(allDialects)], allDialects[int(second)%len(allDialects)]
		in, err := decodeFrame(frame, d, DefaultContextDepth)
		if err != nil {
			return
		}
		e := stamped(in)
		other := through(t, e, via)
		back := through(t, other, d)
		e.Payload, other.Payload = plainText(e), plainText(other)
		sameEnvelope(t, e, other)
		back.Payload = plainText(back)
		sameEnvelope(t, e, back)
	})
}

// plainText is the payload, with the name of a chat's text written without
// escapes.
func plainText(e *Envelope) json.RawMessage {
	if e.Kind != KindChat {
		return e.Payload
	}
	return renameMember(nil, e.Payload, chatText, chatText)
}

var naiveSegment = regexp.MustCompile(`\A[A-Za-z0-9._:-]{1,128}\z`)

// FuzzContextPath compares paths and prefixes with their segments.
func FuzzContextPath(f *testing.F) {
	f.Add("msg-301/x", "msg-3", uint8(5))
	f.Add("a/b/c", "a/b", uint8(2))
	f.Add("a//b", "", uint8(5))
	f.Fuzz(func(t *testing.T, path, prefix string, maxDepth uint8) {
		segments := strings.Split(path, "/")
		want := len(path) <= MaxContextBytes && len(segments) <= int(maxDepth)
		for _, s := range segments {
			want = want && naiveSegment.MatchString(s)
		}
		p, ok := ParseContextPath(path, int(maxDepth))
		if ok != want {
			t.Fatalf("%q is a context: %v", path, ok)
		}
		above, prefixOK := ParseContextPath(prefix, MaxContextBytes)
		if !ok || !prefixOK && prefix != "" {
			return
		}
		if p.Depth() != len(segments) || p.Last() != segments[len(segments)-1] || p.Parent().Child(ID(p.Last())) != p {
			t.Fatalf("%q: depth %d, last %q, parent %q", p, p.Depth(), p.Last(), p.Parent())
		}
		if got := p.Within(above); got != naiveWithin(path, prefix) {
			t.Fatalf("%q within %q: %v", p, above, got)
		}
	})
}

func naiveWithin(path, prefix string) bool {
	return prefix == "" || strings.HasPrefix(path+"/", prefix+"/")
}

// FuzzKindPattern compares patterns with a naive implementation of section 7.
func FuzzKindPattern(f *testing.F) {
	f.Add("reasoning/*", "reasoning.start")
	f.Add("!reasoning/step", "reasoning/thought")
	f.Add("x.a*b**c", "x/abc")
	f.Add(`/^mcp\.re/`, "mcp.request")
	f.Fuzz(func(t *testing.T, pattern, kind string) {
		k, ok := ParseKind(kind)
		p, err := ParseKindPattern(pattern)
		if err != nil || !ok {
			return
		}
		if got := p.Match(k); got != naiveMatch(pattern, string(k)) {
			t.Fatalf("%q matches %q: %v", pattern, k, got)
		}
		if p.String() != pattern {
			t.Fatalf("%q is written %q", pattern, p.String())
		}
		slashed, err := ParseKindPattern(p.Slash())
		if err != nil || slashed.Match(k) != p.Match(k) {
			t.Fatalf("%q and %q differ on %q: %v", pattern, p.Slash(), k, err)
		}
		if only, ok := p.Literal(); ok && p.Match(k) != (k == only) {
			t.Fatalf("%q is literally %q and matches %q: %v", pattern, only, k, p.Match(k))
		}
	})
}

func naiveMatch(pattern, kind string) bool {
	if body, negated := strings.CutPrefix(pattern, "!"); negated {
		return !naiveMatch(body, kind)
	}
	if len(pattern) > 2 && pattern[0] == '/' && pattern[len(pattern)-1] == '/' {
		re := regexp.MustCompile(pattern[1 : len(pattern)-1])
		return re.MatchString(kind) || re.MatchString(strings.Replace(kind, ".", "/", 1))
	}
	if pattern == "*" || pattern == "**" {
		return true
	}
	left, right := naiveSplit(pattern), naiveSplit(kind)
	if strings.Join(left, ".") == "reasoning.step" {
		return right[0] == "reasoning" && len(right) == 2 && right[1] != "start" && right[1] != "conclusion" && right[1] != "cancel"
	}
	if len(left) != len(right) {
		return false
	}
	for i := range left {
		re := regexp.MustCompile(`\A` + strings.ReplaceAll(regexp.QuoteMeta(left[i]), `\*`, `.*`) + `\z`)
		if !re.MatchString(right[i]) {
			return false
		}
	}
	return true
}

// naiveSplit splits at the first dot or slash.
func naiveSplit(s string) []string {
	if i := strings.IndexAny(s, "./"); i >= 0 {
		return []string{s[:i], s[i+1:]}
	}
	return []string{s}
}

// FuzzFilter compares filters with a naive implementation of section 6, and
// parses their own output.
func FuzzFilter(f *testing.F) {
	f.Add([]byte(`{"contexts":["r3",""],"exclude_contexts":["r3/x"],"depth":1}`), "alice", "reasoning.start", "r3/x")
	f.Add([]byte(`{"kinds":["reasoning/*","!chat"],"from":["bob"],"conclusions_only":true}`), "bob", "reasoning.conclusion", "a")
	f.Fuzz(func(t *testing.T, payload []byte, from, kind, context string) {
		doc, err := ParseJSON(payload, MaxDepth)
		if err != nil {
			return
		}
		filter, refused := ParseFilter(doc.Root())
		if refused != nil {
			return
		}
		m, refused := filter.Compile()
		if refused != nil {
			return
		}
		shown, err := json.Marshal(filter)
		if err != nil {
			t.Fatal(err)
		}
		again, refused := ParseFilter(parse(t, string(shown)))
		if refused != nil || again.String() != filter.String() {
			t.Fatalf("%s is shown as %s: %v", payload, shown, refused)
		}
		k, kindOK := ParseKind(kind)
		c, contextOK := ParseContextPath(context, DefaultContextDepth)
		if !kindOK || !contextOK && context != "" {
			return
		}
		e := &Envelope{From: ParticipantID(from), Kind: k, Context: c}
		if got, want := m.Match(e), naiveFilter(filter, e); got != want {
			t.Fatalf("%s lets through %s of %q in %q: %v", shown, k, from, c, got)
		}
	})
}

func naiveFilter(f Filter, e *Envelope) bool {
	in := string(e.Context)
	for _, p := range f.ExcludeContexts {
		if p == "" && in == "" || p != "" && naiveWithin(in, p) {
			return false
		}
	}
	included := f.Contexts
	if len(included) == 0 && f.Depth != nil {
		included = []string{""}
	}
	if len(included) > 0 && !slices.ContainsFunc(included, func(p string) bool { return naiveIncluded(in, p, f.Depth) }) {
		return false
	}
	if len(f.From) > 0 && !slices.Contains(f.From, e.From) {
		return false
	}
	if f.ConclusionsOnly && in != "" && e.Kind != KindReasoningStart && e.Kind != KindReasoningConclusion {
		return false
	}
	return len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds, func(s string) bool {
		return naiveMatch(s, string(e.Kind))
	})
}

func naiveIncluded(path, prefix string, depth *int) bool {
	segments := func(s string) int { return len(strings.FieldsFunc(s, func(r rune) bool { return r == '/' })) }
	switch {
	case !naiveWithin(path, prefix):
		return false
	case depth != nil:
		return segments(path)-segments(prefix) <= *depth
	}
	return prefix != "" || path == ""
}
