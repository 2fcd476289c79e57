package protocol_test

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestStreamFrame_RoundTrip(t *testing.T) {
	for _, c := range []struct{ name, id, data string }{
		{"plain", "s-1", "one"},
		{"empty data", "s-1", ""},
		{"more separators", "s-1", "#a#b#"},
		{"JSON", "s-1", `{"a":"\"\\"}`},
		{"control characters", "s-1", "\x00\x1f\r\n\t"},
		{"other scripts", "ß", "日本\U0001f600"},
		{"id with quotes", `a"b\`, "x"},
		{"long", strings.Repeat("i", 1000), strings.Repeat("d", 100_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			frame := "#" + c.id + "#" + c.data
			in, err := protocol.Decode([]byte(frame), protocol.DialectMEW04, 5)
			if err != nil {
				t.Fatal(err)
			}
			e := in.Envelope
			if e.Kind != protocol.KindStreamData || in.Payload.Get("stream_id").Text() != c.id || in.Payload.Get("data").Text() != c.data {
				t.Errorf("read as %s %s", e.Kind, e.Payload)
			}
			if in.Size < len(frame) {
				t.Errorf("charged as %d bytes of %d", in.Size, len(frame))
			}
			back, ok := protocol.AppendStreamFrame([]byte("before"), e.Payload)
			if !ok || string(back) != "before"+frame {
				t.Errorf("written as %q", back)
			}
		})
	}
}

func TestStreamFrame_Refused(t *testing.T) {
	for _, c := range []struct {
		name, frame string
		dialect     protocol.Dialect
	}{
		{"no second separator", "#s", protocol.DialectMEW04},
		{"separator alone", "#", protocol.DialectMEW04},
		{"no UTF-8 in the data", "#s#\xff", protocol.DialectMEW04},
		{"no UTF-8 in the id", "#\xc3#x", protocol.DialectMEW04},
		{"surrogate", "#s#\xed\xa0\x80", protocol.DialectMEW04},
		{"another dialect", "#s#x", protocol.DialectMEUP01},
		{"another dialect", "#s#x", protocol.DialectMEUP02},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, err := protocol.Decode([]byte(c.frame), c.dialect, 5)
			if protocol.AsError(err) == nil || protocol.AsError(err).Code != protocol.CodeInvalidJSON || in == nil || in.Size != len(c.frame) {
				t.Errorf("%v %v", in, err)
			}
		})
	}
}

func TestAppendStreamFrame_NoRawForm(t *testing.T) {
	for _, payload := range []string{`{"stream_id":"a#b","data":"x"}`, `{"stream_id":"","data":"x"}`, `{"data":"x"}`, `{"stream_id":1,"data":"x"}`} {
		if out, ok := protocol.AppendStreamFrame(nil, []byte(payload)); ok || len(out) > 0 {
			t.Errorf("%s became %q", payload, out)
		}
	}
}
