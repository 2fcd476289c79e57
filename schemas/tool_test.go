package schemas

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestTool_Check(t *testing.T) {
	const write = `{"type":"object","properties":{"path":{"type":"string","description":"where"},"mode":{"enum":["a","w"]},"n":{"type":"integer","minimum":1},
		"to":{"type":"array","items":{"type":"object","required":["id"],"properties":{"id":{"type":"string","pattern":"^[a-z]+$"}}}}},"required":["path"],"additionalProperties":false}`
	for name, c := range map[string]struct{ schema, arguments, path, detail string }{
		"fits":              {write, `{"path":"a","n":2,"to":[{"id":"x"}]}`, "", ""},
		"type":              {write, `{"path":7}`, "/path", "expected string, but got number"},
		"missing":           {write, `{"n":1}`, "/path", "path is missing"},
		"absent":            {write, ``, "/path", "path is missing"},
		"null":              {write, `null`, "/path", "path is missing"},
		"unknown":           {write, `{"path":"a","pth":"b"}`, "", "additionalProperties 'pth' not allowed"},
		"choice":            {write, `{"path":"a","mode":"x"}`, "/mode", `value must be one of "a", "w"`},
		"bound":             {write, `{"path":"a","n":0}`, "/n", "must be >= 1 but found 0"},
		"within a list":     {write, `{"path":"a","to":[{"id":"x"},{}]}`, "/to/1/id", "id is missing"},
		"pattern":           {write, `{"path":"a","to":[{"id":"X"}]}`, "/to/0/id", "does not match pattern '^[a-z]+$'"},
		"not an object":     {write, `[1]`, "", "expected object, but got array"},
		"alternatives":      {`{"anyOf":[{"required":["a"]},{"properties":{"b":{"type":"null"}},"required":["b"]}]}`, `{"b":1}`, "", "missing properties: 'a', or /b: expected null, but got number"},
		"one too many":      {`{"oneOf":[{},{}]}`, `{}`, "", "valid against schemas at indexes 0 and 1"},
		"reference":         {`{"properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"boolean"}}}`, `{"a":1}`, "/a", "expected boolean, but got number"},
		"recursive":         {`{"properties":{"a":{"$ref":"#"},"n":{"type":"null"}}}`, `{"a":{"a":{"n":1}}}`, "/a/a/n", "expected null, but got number"},
		"draft 4":           {`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"minimum":1,"exclusiveMinimum":true}}}`, `{"n":1}`, "/n", "must be > 1 but found 1"},
		"draft 7":           {`{"$schema":"http://json-schema.org/draft-07/schema#","if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "", "missing properties: 'b'"},
		"draft 2019-09":     {`{"$schema":"https://json-schema.org/draft/2019-09/schema","dependentRequired":{"a":["b"]}}`, `{"a":1}`, "", "property 'b' is required, if 'a' property exists"},
		"draft 2020-12":     {`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":{"prefixItems":[{"type":"null"}]}}}`, `{"a":[1]}`, "/a/0", "expected null, but got number"},
		"propertyNames":     {`{"allOf":[{"propertyNames":{"maxLength":1}}]}`, `{"":1,"ab":2}`, "/ab", "length must be <= 1, but got 2"},
		"named like it":     {`{"properties":{"propertyNames":{"type":"null"},"format":{"type":"null"},"enum":{"type":"null"}}}`, `{"propertyNames":1}`, "/propertyNames", "expected null, but got number"},
		"of a key with / ~": {`{"properties":{"a/b~c %":{"type":"null"}}}`, `{"a/b~c %":1}`, "/a~1b~0c %", "expected null, but got number"},
		"never":             {`false`, `{}`, "", "not allowed"},
		"unique":            {`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,1]}`, "/a", "items at index 0 and 1 are equal"},
		"lists of values":   {`{"properties":{"a":{"enum":[["x"],{"y":1}],"default":["x"],"examples":[["x"]]}}}`, `{"a":["y"]}`, "/a", ""},
		"long":              {`{"properties":{"a":{"enum":["` + strings.Repeat("x", 900) + `"]}}}`, `{"a":1}`, "/a", ""},

		// Not checked.
		"no schema":            {`7`, `{"a":1}`, "ok", ""},
		"no JSON":              {`{"type":`, `{}`, "ok", ""},
		"no keyword":           {`{"type":"objekt"}`, `{}`, "ok", ""},
		"another document":     {`{"$ref":"https://example.com/x.json"}`, `{}`, "ok", ""},
		"a file":               {`{"allOf":[{"$ref":"file:///etc/passwd"}]}`, `{}`, "ok", ""},
		"an unknown draft":     {`{"$schema":"https://example.com/x.json","type":"null"}`, `{}`, "ok", ""},
		"refers to itself":     {`{"$ref":"#","type":"null"}`, `{}`, "ok", ""},
		"in a circle":          {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{}`, "ok", ""},
		"a Perl pattern":       {`{"patternProperties":{"(?!a)":false}}`, `{"b":1}`, "ok", ""},
		"large patterns":       {`{"properties":{"a":{"pattern":"(a{100}){100}"}}}`, `{"a":"b"}`, "ok", ""},
		"a large schema":       {`{"enum":[` + strings.Repeat("1,", maxToolValues) + `1]}`, `{}`, "ok", ""},
		"a format":             {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"uri"},"b":{"not":{"format":"date"}}}}`, `{"a":"%"}`, "ok", ""},
		"many values":          {`{"type":"null"}`, `{"a":[` + strings.Repeat("1,", maxArguments) + `1]}`, "ok", ""},
		"long arguments":       {`{"type":"null"}`, `{"a":"` + strings.Repeat("a", maxToolArguments) + `"}`, "ok", ""},
		"long, with patterns":  {`{"properties":{"a":{"pattern":"b"}}}`, `{"a":"` + strings.Repeat("a", maxMatched) + `"}`, "ok", ""},
		"many unique":          {`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Repeat("1,", maxUnique) + `1]}`, "ok", ""},
		"deep arguments":       {`{"type":"null"}`, strings.Repeat(`{"a":`, maxArgumentDepth+1) + "{}" + strings.Repeat("}", maxArgumentDepth+1), "ok", ""},
		"patterns in examples": {`{"properties":{"a":{"$ref":"#/examples/0"}},"examples":[{"pattern":"a{600}a{600}"}]}`, `{"a":"b"}`, "ok", ""},
		"patterns in defaults": {`{"properties":{"a":{"$ref":"#/default/0"}},"default":[{"pattern":"a{600}a{600}"}]}`, `{"a":"b"}`, "ok", ""},
		"patterns in values":   {`{"properties":{"a":{"$ref":"#/properties/b/enum/0"},"b":{"enum":[{"pattern":"a{600}a{600}"}]}}}`, `{"a":"b"}`, "ok", ""},
		"a format in a value":  {`{"properties":{"a":{"enum":[{"format":"png"}]}}}`, `{"a":1}`, "ok", ""},
		"a huge number":        {`{"properties":{"a":{"type":"null"}}}`, `{"a":1e99999999}`, "ok", ""},
		"a huge bound":         {`{"properties":{"a":{"type":"null","maximum":1e99999999}}}`, `{"a":1}`, "ok", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var arguments protocol.Value
			if c.arguments != "" {
				arguments = parse(t, c.arguments)
			}
			tool := NewTool([]byte(c.schema))
			for range 2 { // compiled, and again
				_, refused := tool.Check(arguments)
				err := protocol.AsError(refused)
				if (err == nil) != (c.path == "ok" || name == "fits") {
					t.Fatalf("%v", err)
				}
				if err == nil {
					continue
				}
				if err.Path != "/payload/params/arguments"+c.path || c.detail != "" && err.Detail != c.detail || len(err.Message) > 700 || !strings.Contains(err.Message, err.Detail) {
					t.Errorf("%s: %s (%s)", err.Path, err.Detail, err.Message)
				}
			}
		})
	}
}

// TestTool_Steps: a check that would take exponential time ends, and is not begun again.
func TestTool_Steps(t *testing.T) {
	chain := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 60 {
		chain += fmt.Sprintf(`"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, "allOf", i+1, i+1)
	}
	for name, c := range map[string]struct{ schema, arguments string }{
		"doubled":     {chain + `"d60":{"title":"end"}}}`, `{}`},
		"by depth":    {`{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["x"]},{"properties":{"a":{"$ref":"#"}},"required":["y"]}]}`, strings.Repeat(`{"a":`, maxArgumentDepth) + "{}" + strings.Repeat("}", maxArgumentDepth)},
		"by items":    {`{"properties":{"a":{"items":{"allOf":[` + strings.Repeat(`{"not":{"const":2}},`, 150) + `true]}}}}`, `{"a":[` + strings.Repeat("1,", 900) + `1]}`},
		"by patterns": {`{"definitions":{"x":{"pattern":"(?:a?){450}b"}},"properties":{"a":{"allOf":[` + strings.Repeat(`{"$ref":"#/definitions/x"},`, 600) + `true]}}}`, `{"a":"` + strings.Repeat("a", 15_000) + `"}`},
		"by names":    {`{"definitions":{"x":{"patternProperties":{"(?:a?){450}b":true}}},"allOf":[` + strings.Repeat(`{"$ref":"#/definitions/x"},`, 600) + `true]}`, `{"` + strings.Repeat("a", 15_000) + `":1}`},
		"by length":   {`{"properties":{"a":{"allOf":[` + strings.Repeat(`{"minLength":1},`, 150) + `true]}}}`, `{"a":"` + strings.Repeat("a", 200_000) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			tool := NewTool([]byte(c.schema))
			work, err := tool.Check(parse(t, c.arguments))
			if err != nil || tool.compiled != nil {
				t.Errorf("%v, still there: %v", err, tool.compiled != nil)
			}
			if work < workPerStep*maxToolSteps {
				t.Errorf("work of %d bytes", work)
			}
			if again, err := tool.Check(parse(t, c.arguments)); again != 0 || err != nil {
				t.Errorf("again: work of %d bytes, %v", again, err)
			}
		})
	}
}
