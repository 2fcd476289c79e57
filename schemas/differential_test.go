package schemas

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/protocol"
)

// agree fails if the acceptor accepts a payload that the schema rejects, or if
// the schema library cannot process a payload.
func agree(t interface{ Fatalf(string, ...any) }, kind protocol.Kind, payload protocol.Value) {
	schema, ok := payloads()[string(kind)]
	if !ok {
		t.Fatalf("%s has no schema", kind)
	}
	err := schema.Validate(instance(payload))
	if err != nil && fastAccept(kind, payload) {
		t.Fatalf("%s %s: accepted in spite of %v", kind, payload.Raw(), err)
	}
	if refused := Payload(kind, payload); (refused != nil) != (err != nil) {
		t.Fatalf("%s %s: got %v, the schema says %v", kind, payload.Raw(), refused, err)
	}
}

// values are field values, valid and invalid.
var values = []string{
	`"text"`, `""`, `"plain"`, `"markdown"`, `"m\u0061rkdown"`, `"not an id"`, `"bob"`, `"` + strings.Repeat("i", 129) + `"`,
	`0`, `1`, `-1`, `-0`, `0.5`, `1.5`, `1.0`, `1e0`, `1e400`, `-1e99999999999`, `0.00000000000000000000000001`, `9999999999`,
	`true`, `null`, `{}`, `[]`, `["a"]`, `["a",1]`, `["a b"]`, `[{}]`, `[""]`,
	`{"code":1,"message":"m"}`, `{"code":1.5,"message":"m"}`, `{"code":1}`, `{"c\u006fde":"x","code2":1,"message":"m"}`,
	`{"confidence":0.5}`, `{"confidence":2}`, `{"approach":1}`, `{"estimated_duration":[]}`,
}

// TestAcceptorAgreesWithSchema generates payloads from the fields of the
// schemas.
func TestAcceptorAgreesWithSchema(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(payloads()))
	fields := map[string]bool{"x": true}
	for _, s := range payloads() {
		for name := range s.Properties {
			fields[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(fields))
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		pool := append(slices.Sorted(maps.Keys(payloads()[kind].Properties)), rapid.SampledFrom(names).Draw(t, "other"))
		var members []string
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 0, 4, rapid.ID[string]).Draw(t, "fields") {
			members = append(members, `"`+name+`":`+rapid.SampledFrom(values).Draw(t, name))
		}
		doc, err := protocol.ParseJSON([]byte("{"+strings.Join(members, ",")+"}"), protocol.MaxDepth)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, protocol.Kind(kind), doc.Root())
	})
}

func FuzzPayload(f *testing.F) {
	for _, c := range valid {
		f.Add(string(c.kind), []byte(c.text))
	}
	for _, c := range invalid {
		f.Add(string(c.kind), []byte(c.text))
	}
	f.Fuzz(func(t *testing.T, kind string, payload []byte) {
		doc, err := protocol.ParseJSON(payload, protocol.MaxDepth)
		if _, known := payloads()[kind]; err != nil || !known {
			return
		}
		agree(t, protocol.Kind(kind), doc.Root())
	})
}
