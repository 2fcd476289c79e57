package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

const schemaPath = "../../../schemas/config.schema.json"

func readSchema(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

// part returns one schema inside the file, with its $ref followed.
func part(t *testing.T, root map[string]any, v any) map[string]any {
	t.Helper()
	p, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%v is no schema", v)
	}
	ref, ok := p["$ref"].(string)
	if !ok {
		return p
	}
	defs, _ := root["$defs"].(map[string]any)
	return part(t, root, defs[strings.TrimPrefix(ref, "#/$defs/")])
}

// sameKeys compares a struct of shape.go to a schema.
func sameKeys(t *testing.T, root map[string]any, at string, shape reflect.Type, v any) {
	schema := part(t, root, v)
	switch {
	case reflect.PointerTo(shape).Implements(reflect.TypeFor[decoder]()):
		items, isList := shape.FieldByName("items")
		entries, isTable := shape.FieldByName("entries")
		if isList {
			sameKeys(t, root, at+"[]", items.Type.Elem(), schema["items"])
		}
		if isTable {
			value, _ := entries.Type.Elem().FieldByName("value")
			sameKeys(t, root, at+".*", value.Type, schema["additionalProperties"])
		}
		return
	case schema["additionalProperties"] != false:
		t.Errorf("%s: the schema lets unknown keys pass", at)
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, key := range keysOf(shape) {
		property, ok := properties[key.name]
		if !ok {
			t.Errorf("%s.%s is not in the schema", at, key.name)
			continue
		}
		if p, _ := property.(map[string]any); p["description"] == nil && part(t, root, property)["description"] == nil {
			t.Errorf("%s.%s has no description", at, key.name)
		}
		sameKeys(t, root, at+"."+key.name, shape.Field(key.field).Type, property)
	}
	for name := range properties {
		if indexOf(keysOf(shape), name) < 0 {
			t.Errorf("%s.%s is in the schema and nowhere else", at, name)
		}
	}
}

func TestSchema_MatchesShape(t *testing.T) {
	schema := readSchema(t)
	sameKeys(t, schema, "", reflect.TypeFor[fileShape](), schema)
}

// defaults collects the defaults of a schema as a file would contain them.
func defaults(t *testing.T, root map[string]any, v any) any {
	here, _ := v.(map[string]any)
	if d, ok := here["default"]; ok {
		return d
	}
	properties, _ := part(t, root, v)["properties"].(map[string]any)
	all := map[string]any{}
	for name, p := range properties {
		if d := defaults(t, root, p); d != nil {
			all[name] = d
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func TestSchema_Defaults(t *testing.T) {
	schema := readSchema(t)
	text, err := json.Marshal(defaults(t, schema, schema))
	if err != nil {
		t.Fatal(err)
	}
	got, faults := Parse("meup.yaml", text, os.LookupEnv, os.ReadFile)
	want, _ := Parse("meup.yaml", []byte("{}"), os.LookupEnv, os.ReadFile)
	if HasErrors(faults) || want == nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the schema's defaults are %s\nthat is  %+v\ndefaults %+v\nfaults %v", text, got, want, faults)
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.Compile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate checks a file's text against the schema.
func validate(t *testing.T, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	tree := readTree(&report{invalidAt: map[place]bool{}}, text)
	if tree == nil {
		t.Fatal("not YAML")
	}
	raw, err := appendJSON(nil, tree)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(v)
}

func TestExamples_Valid(t *testing.T) {
	paths, err := filepath.Glob("../../../examples/config/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	env := func(name string) (string, bool) {
		return "of-" + name + "-0123456789", strings.HasSuffix(name, "_TOKEN")
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, faults := Parse(path, text, env, os.ReadFile); len(faults) > 0 {
			t.Errorf("faults: %v", faults)
		}
		if err := validate(t, compileSchema(t), text); err != nil {
			t.Errorf("%s: %#v", path, err)
		}
	}
}

func TestFullExample_EveryKey(t *testing.T) {
	text, err := os.ReadFile("../../../examples/config/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tree := readTree(&report{invalidAt: map[place]bool{}}, text)
	for _, key := range keysOf(reflect.TypeFor[fileShape]()) {
		if tree.get(key.name) == nil {
			t.Errorf("%s is missing", key.name)
		}
	}
}

func TestSchema_EditorDiagnostics(t *testing.T) {
	schema := compileSchema(t)
	const head = "spaces: {lab: {participants: {alice: {token_env: A, capabilities: [chat]}}}}\n"
	good := []string{
		"", "retention: {age: 30d, bytes: 10GiB}", "retention: {age: 1d12h30m}", "idle_timeout: 0", "nats: ~",
		"origins: ['https://*.example.org:8443', '*']", "limits: {rate: 0.5, kinds: []}",
		"safety: {actions: {jwt: block}, policy: {low: review, high: ~}, max_text: 1MiB, secret_env: [A], rules: []}",
	}
	bad := []string{
		"listn: x", "listen: 8080", "retention: {age: 30 days}", "retention: {age: 30}", "replicas: 2", "origins: [x]",
		"limits: {rate: -1}", "limits: {kinds: [{kind: chat}]}", "safety: {action: x}", "safety: {policy: {low: mask}}",
		"safety: {policy: {lowest: warn}}", "safety: {actions: {jwt: review}}", "safety: {secret_env: [a-b]}", "safety: {max_text: lots}", "log: {level: loud}",
	}
	for _, line := range good {
		if err := validate(t, schema, []byte(head+line)); err != nil {
			t.Errorf("%s: %#v", line, err)
		}
	}
	for _, line := range bad {
		if validate(t, schema, []byte(head+line)) == nil {
			t.Errorf("%s passes the schema", line)
		}
		if cfg, _ := Parse("x", []byte(head+line), func(string) (string, bool) { return "a-0123456789abcdef", true }, os.ReadFile); cfg != nil {
			t.Errorf("%s passes Parse", line)
		}
	}
}
