package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/schemas"
)

// of returns a file whose space has these settings of proposals.
func of(proposals string) string {
	return "spaces: {lab: {proposals: {" + proposals + "}, participants: {a: {token_env: ALICE_TOKEN}, b: {token_env: BOB_TOKEN}, x: {token: 0123456789abcdef-0123456789}}}}"
}

// keys has a file for every key of the schema.
var keys = []string{
	"listen: %s", "metrics_listen: %s", "pprof_listen: %s", "data: %s", "nats: %s", "replicas: %s",
	"tls: {cert: %s, key: x.pem}", "tls: {cert: x.pem, key: %s}", "origins: [%s]", "adapters: [%s]", "log: {level: %s}", "log: {format: %s}",
	"retention: {age: %s}", "retention: {bytes: %s}",
	"safety: {kinds: [%s]}", "safety: {action: %s}", "safety: {actions: {jwt: %s}}", "safety: {actions: {%s: block}}", "safety: {rules: [%s]}",
	"safety: {secret_env: [%s]}", "safety: {max_text: %s}",
	"safety: {policy: {low: %s}}", "safety: {policy: {medium: %s}}", "safety: {policy: {high: %s}}", "safety: {policy: {critical: %s}}",
	"limits: {rate: %s}", "limits: {burst: %s}", "limits: {bytes_per_second: %s}", "limits: {message_bytes: %s}", "limits: {connections: %s}",
	"limits: {open_contexts: %s}", "limits: {context_depth: %s}", "limits: {kinds: %s}",
	"limits: {kinds: [{kind: %s, rate: 1}]}", "limits: {kinds: [{kind: chat, rate: %s}]}", "limits: {kinds: [{kind: chat, rate: 1, burst: %s}]}",
	"max_connections: %s", "idle_timeout: %s", "ping_interval: %s", "handshake_timeout: %s", "drain_timeout: %s",
	"violations: {max: %s}", "violations: {window: %s}", "ring: {entries: %s}", "ring: {bytes: %s}",
	"spaces: {a: {participants: {x: {token_env: ALICE_TOKEN}}}, b: {}}\nadministration: {space: %s}",
	"login_failures: {burst: %s}", "login_failures: {refill: %s}",
	"spaces: {%s: }", "spaces: {lab: {dialect: %s}}", "spaces: {lab: {visibility: %s}}", "spaces: {lab: {proposals: {decide: %s}}}",
	of("human_only: [%s], deciders: [{people: [x]}]"), of("human_only: [{payload: %s}], deciders: [{people: [x]}]"), of("human_only: [{kind: %s}], deciders: [{people: [x]}]"),
	of("deciders: [{rules: %s}]"), of("deciders: [{rules: [%s]}]"), of("deciders: [{rules: [{to: %s}]}]"), of("deciders: [{rules: [{context: %s}]}]"),
	of("deciders: [{rules: [{deny: %s}]}]"), of("deciders: [{rules: [{deny: true, reason: %s}]}]"),
	of("deciders: [{reviewer: %s}, {people: [b]}]"), of("deciders: [{reviewer: a, mode: %s}, {people: [x]}]"), of("deciders: [{reviewer: a, for: [%s]}, {people: [x]}]"),
	of("deciders: [{reviewer: a, promote: %s}, {people: [x]}]"),
	of("deciders: [{reviewer: a, promote: {decisions: %s}}, {people: [x]}]"), of("deciders: [{reviewer: a, promote: {without_miss: %s}}, {people: [x]}]"),
	of("deciders: [{people: [%s]}]"), of("deciders: [{people: [x], after: %s}]"),
	"spaces: {lab: {budget: %s}}", "spaces: {lab: {budget: {tokens: %s}}}", "spaces: {lab: {budget: {cost: %s}}}",
	"spaces: {lab: {budget: {currency: %s}}}", "spaces: {lab: {budget: {calls: %s}}}", "spaces: {lab: {budget: {per: %s}}}",
	"spaces: {lab: {loops: {identical: %s}}}", "spaces: {lab: {loops: {hops: %s}}}",
	"spaces: {lab: {participants: {alice: {token_env: ALICE_TOKEN, budget: {calls: %s}}}}}",
	"spaces: {lab: {jwt: {issuer: https://a, audience: a, budget: {calls: %s}}}}",
	"spaces: {lab: {limits: {burst: %s}}}", "spaces: {lab: {participants: {%s: {token_env: ALICE_TOKEN}}}}",
	"spaces: {lab: {participants: {alice: %s}}}", "spaces: {lab: {participants: {alice: {token: %s}}}}",
	"spaces: {lab: {participants: {alice: {token_env: %s}}}}", "spaces: {lab: {participants: {alice: {token_file: %s}}}}",
	"spaces: {lab: {participants: {alice: {token_sha256: %s}}}}", "spaces: {lab: {participants: {alice: {token_env: ALICE_TOKEN, description: %s}}}}",
	"spaces: {lab: {participants: {alice: {token_env: ALICE_TOKEN, root: %s}}}}",
	"spaces: {lab: {participants: {alice: {token_env: ALICE_TOKEN, capabilities: [%s]}}}}",
	"spaces: {lab: {participants: {alice: {token_env: ALICE_TOKEN, limits: {burst: %s}}}}}",
	"spaces: {lab: {jwt: %s}}",
	"spaces: {lab: {jwt: {issuer: %s, audience: a}}}", "spaces: {lab: {jwt: {issuer: https://a, audience: %s}}}",
	"spaces: {lab: {jwt: {issuer: https://a, audience: a, participant_claim: %s}}}",
	"spaces: {lab: {jwt: {issuer: https://a, audience: a, capabilities: [%s]}}}",
	"spaces: {lab: {jwt: {issuer: https://a, audience: a, limits: {burst: %s}}}}",
}

// values are tried for every key.
var values = []string{
	"~", "true", "0", "1", "1.0", "2", "3", "5", "129", "-1", "1.5", "3e9", "1e300", "99999999999", "99999999999999999999", "[]", "[a]", "{}", "{a: b}",
	`""`, "a", "b", `"0"`, `"5"`, `"0s"`, `"-1s"`, "1s", "+1s", "1.5s", ".5s", `"."`, "1m", "9m", "30d", "1d2h", "1d+2h", "99999d", "200000d", "9999999h", `"s"`,
	"4KiB", "1 MiB", `"1  MB "`, "65MiB", "9999999TiB", "MiB", "1XiB",
	`"a:1"`, `":80"`, `"a b:80"`, `"a:99999"`, `"[::1]:80"`, `"a:b:80"`, "127.0.0.1:8080",
	"nats://a:1", "http://a", "https://a", "https://a/", `"https://*.a:1"`, "https://a:99999", "https://a:x", "https://u@a", `"https://a b"`, "HTTPS://A", `"*"`, `"team-*"`,
	"/abs", "good.toml", "bad.toml", "alice.token", "empty.token", "ALICE_TOKEN", "EMPTY_TOKEN", "SPACED_TOKEN", "NO_TOKEN",
	"debug", "json", "EUR", "USD", "day", "{calls: 5}", "{calls: 6, per: day}", "mcp", "hooks", "mask", "block", "warn", "review", "sanitise", "meup/v0.2", "mew/v0.3", "everyone", "explicit", "decide", "{decisions: 2}", "chat", "reasoning/*", `"!chat"`, `"/(/"`, `"/a/"`,
	"system:a", "a/b", `"a b"`, "a@b", "jwt",
	"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "9f86",
	"{kind: chat}", "{kind: chat, x: 1}", "{issuer: https://a, audience: a}", "{issuer: https://b, audience: a}", "{token_env: ALICE_TOKEN, token: ~}", "{token_env: BOB_TOKEN}", "{token: a, token_env: ALICE_TOKEN}",
}

// weaker are the errors in values that the schema accepts, and the reason.
var weaker = []string{
	`is not a port; it is a number from 0 to 65535$`, // JSON Schema compares no parts of a text
	`is not a host$`,                               // the syntax of addresses
	`is not an address to listen on; `,             // likewise
	`^not the URL of a NATS server; `,              // may be a list
	`^tls needs both cert and key, or neither$`,    // empty texts count as absent
	`^the (certificate|key) cannot be read: `,      // the content of files
	`is not an origin; `,                           // the syntax of URLs
	`^kind pattern "`,                              // the syntax of patterns
	`^capability`,                                  // likewise
	`^the file of rules cannot be read: `,          // the content of files
	`^rule "ours": error parsing regexp: `,         // likewise
	`^not TOML: `,                                  // likewise
	`^no safety rule is called "`,                  // the names are in the program and in files
	`^the bound of a text is from 4KiB to 64MiB; `, // JSON Schema does not compute sizes
	` must be a size such as 65536, 1MiB or 10GiB, and less than 8EiB$`,       // likewise
	` must be a duration such as .*, and shorter than 292 years$`,             // likewise durations
	`^this must be longer than 0s$`,                                           // likewise
	`^a ring without bytes holds nothing; `,                                   // likewise
	`^with ping_interval .*, idle connections are closed after idle_timeout `, // two durations
	`^the environment variable .* is not set; `,                               // the environment
	`^the token in \w+ (is empty|cannot be sent in a header); `,               // likewise
	`^the token's file cannot be read: `,                                      // the content of files
	`^the token in the file (is empty|cannot be sent in a header); `,          // likewise
	`^this is the SHA-256 of nothing; `,                                       // JSON Schema has no reason to exclude it
	`is not an issuer; `,                                                      // the syntax of URLs
	`^spaces has no space `,                                                   // other keys of the file
	`^the administrative space .* needs participants of its own, `,            // likewise
	`^this is the address of `,                                                // two addresses
	`^it matches no call: `,                                                   // the syntax of patterns
	` is no participant of the space; `,                                       // other keys of the file
	` is a reviewer and, by .*, one of the people; `,                          // likewise
}

// TestSchema_CodeRejectsListed checks that the code decodes every key of the
// schema, rejects every value that the schema rejects, and rejects a value that
// the schema accepts only for the listed reasons.
func TestSchema_CodeRejectsListed(t *testing.T) {
	seen := make(map[string]bool)
	for _, template := range keys {
		t.Run(template, func(t *testing.T) {
			var first *config.Config
			decoded := false
			for _, value := range values {
				text := fmt.Sprintf(template, value)
				var file any
				if err := yaml.Unmarshal([]byte(text), &file); err != nil || strings.Contains(text, "{~:") {
					continue // such as a list as a key
				}
				violations := 0
				for _, v := range schemas.Config(file) {
					if v.Schema == nil || !strings.HasSuffix(v.Schema.Location, "/capability") && !strings.HasSuffix(v.Schema.Location, "/call") { // these are left to the code
						violations++
					}
				}
				cfg, faults := parse(text)
				switch {
				case violations > 0 && cfg != nil:
					t.Errorf("%s: the schema rejects it and the code does not", text)
				case cfg != nil:
					decoded = decoded || first != nil && !reflect.DeepEqual(first, cfg)
					first = cfg
				case violations == 0:
					decoded = true
					checkListed(t, text, faults, seen)
				}
			}
			if !decoded {
				t.Error("no value makes a difference")
			}
		})
	}
	for _, pattern := range weaker {
		if !seen[pattern] {
			t.Errorf("no value is rejected with %s", pattern)
		}
	}
}

func checkListed(t *testing.T, text string, faults []config.Diagnostic, seen map[string]bool) {
	t.Helper()
	for _, f := range faults {
		listed := f.Severity == config.Warning
		for _, pattern := range weaker {
			if regexp.MustCompile(pattern).MatchString(f.Message) {
				listed, seen[pattern] = true, true
			}
		}
		if !listed {
			t.Errorf("%s: only the code rejects it: %v", text, f)
		}
	}
}

// TestSchema_Keys checks that keys has every key of the schema, and that each
// is described.
func TestSchema_Keys(t *testing.T) {
	schema := readSchema(t)
	full, err := os.ReadFile("../../../examples/config/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		here := part(t, schema, v)
		properties, _ := here["properties"].(map[string]any)
		if len(properties) > 0 && here["additionalProperties"] != false {
			t.Errorf("%s: the schema lets unknown keys pass", at)
		}
		for name, p := range properties {
			if p, _ := p.(map[string]any); p["description"] == nil && part(t, schema, p)["description"] == nil {
				t.Errorf("%s.%s has no description", at, name)
			}
			if !strings.Contains(strings.Join(keys, "\n"), name+": ") {
				t.Errorf("%s.%s is not in keys", at, name)
			}
			if at == "" && !strings.Contains("\n"+string(full), "\n"+name+":") {
				t.Errorf("%s is not in full.yaml", name)
			}
			walk(at+"."+name, p)
		}
		for _, below := range []string{"additionalProperties", "items"} {
			if s, ok := here[below].(map[string]any); ok {
				walk(at+".*", s)
			}
		}
	}
	walk("", schema)
}

func readSchema(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../../schemas/config.schema.json")
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
	got, faults := parse(string(text))
	want, _ := parse("{}")
	if config.HasErrors(faults) || want == nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the schema's defaults are %s\nthat is  %+v\ndefaults %+v\nfaults %v", text, got, want, faults)
	}
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
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, faults := config.Parse(path, text, env, os.ReadFile); len(faults) > 0 {
				t.Errorf("faults: %v", faults)
			}
		})
	}
}
