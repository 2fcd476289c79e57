package apidoc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/internal/gateway/apidoc"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// service is a running gateway with its descriptions.
type service struct {
	t        *testing.T
	g        *meuptest.Gateway
	compiler *jsonschema.Compiler
	openapi  map[string]any
	asyncapi map[string]any
}

func start(t *testing.T, yaml string) *service {
	t.Helper()
	s := &service{t: t, g: meuptest.Start(t, yaml), compiler: jsonschema.NewCompiler()}
	s.compiler.Draft = jsonschema.Draft2020
	s.compiler.AssertFormat = true
	s.compiler.LoadURL = func(url string) (io.ReadCloser, error) { // all references lead to this gateway
		path, own := strings.CutPrefix(url, s.g.HTTP())
		resp, body := s.ask(http.MethodGet, path, "", "")
		if !own || resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s: %s", url, resp.Status)
		}
		return io.NopCloser(strings.NewReader(body)), nil
	}
	s.openapi, s.asyncapi = s.document("/api/openapi.json"), s.document("/api/asyncapi.json")
	return s
}

// ask sends a request as a participant; without one, without a token.
func (s *service) ask(method, path, who, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.g.HTTP()+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+who+"-token")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(text)
}

func (s *service) document(path string) map[string]any {
	s.t.Helper()
	resp, text := s.ask(http.MethodGet, path, "", "")
	out, ok := parse(s.t, text).(map[string]any)
	if !ok || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %.200s", path, resp.Status, text)
	}
	if err := s.compiler.AddResource(s.g.HTTP()+path, strings.NewReader(text)); err != nil {
		s.t.Fatal(err)
	}
	return out
}

func parse(t *testing.T, text string) (out any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%v: %.500s", err, text)
	}
	return out
}

// schema compiles the schema at a pointer of a description.
func (s *service) schema(document string, pointer ...string) *jsonschema.Schema {
	s.t.Helper()
	url := s.g.HTTP() + "/api/" + document + "#"
	for _, segment := range pointer {
		url += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(segment)
	}
	compiled, err := s.compiler.Compile(url)
	if err != nil {
		s.t.Fatalf("%#v", err)
	}
	return compiled
}

// at follows a path of names in a JSON value.
func at(x any, names ...string) any {
	for _, name := range names {
		m, _ := x.(map[string]any)
		x = m[name]
	}
	return x
}

// routes calls f for every operation of the OpenAPI description.
func (s *service) routes(f func(method, path string, operation map[string]any)) {
	for path, item := range s.openapi["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			f(strings.ToUpper(method), path, operation.(map[string]any))
		}
	}
}

// Every registered route has a description, and every description a route.
func TestOpenAPI_Routes(t *testing.T) {
	s := start(t, meuptest.Config)
	ids, described := map[any]string{}, 0
	s.routes(func(method, path string, operation map[string]any) {
		described++
		id, _ := operation["operationId"].(string)
		if summary, _ := operation["summary"].(string); id == "" || !strings.HasSuffix(summary, ".") {
			t.Errorf("%s %s has no description in internal/gateway/apidoc", method, path)
			return
		}
		if ids[id] != "" {
			t.Errorf("%s %s and %s have one operationId", method, path, ids[id])
		}
		ids[id] = method + " " + path
		if path == "/ws" {
			return
		}
		if resp, body := s.ask(method, strings.NewReplacer("{", "", "}", "").Replace(path), "alice", "{}"); resp.StatusCode == http.StatusMethodNotAllowed ||
			strings.Contains(body, "Not found: ") && path != "/assets/{file}" { // the page has no such file
			t.Errorf("%s %s is not served: %d %s", method, path, resp.StatusCode, body)
		}
	})
	if described != apidoc.Operations() {
		t.Errorf("%d of %d described operations are served", described, apidoc.Operations())
	}
	if orphans := apidoc.Orphans(); len(orphans) > 0 {
		t.Errorf("no operation has the parameters %v", orphans)
	}

	other := start(t, meuptest.Config+"adapters: []\n")
	other.routes(func(method, path string, _ map[string]any) {
		if strings.HasPrefix(path, "/mcp") {
			t.Errorf("%s %s is described and not served", method, path)
		}
	})
}

// metaSchema compiles a schema of testdata.
func metaSchema(t *testing.T, name string, draft *jsonschema.Draft) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.Draft = draft
	c.LoadURL = func(url string) (io.ReadCloser, error) { return nil, fmt.Errorf("%s is not in testdata", url) }
	if err := c.AddResource("mem:///"+name, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("mem:///" + name)
	if err != nil {
		t.Fatalf("%#v", err)
	}
	return schema
}

// The descriptions are valid by the schemas of their specifications, and a mistake in
// them would be found.
func TestDescriptions_Valid(t *testing.T) {
	s := start(t, meuptest.Config)
	for _, c := range []struct {
		name     string
		meta     *jsonschema.Schema
		document map[string]any
		mistake  func()
	}{
		{"OpenAPI", metaSchema(t, "openapi-3.1.schema.json", jsonschema.Draft2020), s.openapi, func() {
			at(s.openapi, "paths", "/api/spaces", "get").(map[string]any)["responses"] = "200"
		}},
		{"AsyncAPI", metaSchema(t, "asyncapi-3.0.schema.json", jsonschema.Draft7), s.asyncapi, func() {
			at(s.asyncapi, "operations", "deliver").(map[string]any)["action"] = "publish"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.meta.Validate(c.document); err != nil {
				t.Errorf("%#v", err)
			}
			if c.mistake(); c.meta.Validate(c.document) == nil {
				t.Error("a mistake is valid too")
			}
		})
	}
}

// All references lead to schemas of this gateway, and the examples of messages are
// valid.
func TestDescriptions_ReferencesAndExamples(t *testing.T) {
	s := start(t, meuptest.Config)
	components := at(s.openapi, "components", "schemas").(map[string]any)
	for name := range components {
		s.schema("openapi.json", "components", "schemas", name)
	}
	messages, examples := at(s.asyncapi, "components", "messages").(map[string]any), 0
	for name, message := range messages {
		if name == "raw" {
			continue
		}
		schema := s.schema("asyncapi.json", "components", "messages", name, "payload", "schema")
		list, _ := at(message, "examples").([]any)
		for _, example := range list {
			examples++
			if err := schema.Validate(at(example, "payload")); err != nil {
				t.Errorf("%s: %#v", name, err)
			}
		}
	}
	if len(components) < 15 || len(messages) < 40 || examples < 40 {
		t.Errorf("%d schemas, %d messages, %d examples", len(components), len(messages), examples)
	}
	var follow func(document any, x any)
	follow = func(document, x any) {
		switch x := x.(type) {
		case map[string]any:
			if ref, ok := x["$ref"].(string); ok && strings.HasPrefix(ref, "#/") {
				if at(document, strings.Split(ref[2:], "/")...) == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, value := range x {
				follow(document, value)
			}
		case []any:
			for _, value := range x {
				follow(document, value)
			}
		}
	}
	follow(s.openapi, s.openapi)
	follow(s.asyncapi, s.asyncapi)
}

// Descriptions and schemas need no token, are revalidated by their tag, and are
// refused under a foreign host.
func TestDescriptions_Cached(t *testing.T) {
	s := start(t, meuptest.Config)
	for path, contentType := range map[string]string{
		"/api/openapi.json": "application/json", "/api/asyncapi.json": "application/json", "/api/schemas/payload/chat.schema.json": "application/schema+json",
	} {
		resp, body := s.ask(http.MethodGet, path, "", "")
		tag := resp.Header.Get("ETag")
		if resp.StatusCode != http.StatusOK || tag == "" || resp.Header.Get("Cache-Control") != "public, no-cache" || resp.Header.Get("Content-Type") != contentType {
			t.Fatalf("%s: %s %v", path, resp.Status, resp.Header)
		}
		parse(t, body)
		if resp, body := s.ask(http.MethodGet, path, "", "", "If-None-Match: "+tag); resp.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("%s with its tag: %s", path, resp.Status)
		}
		if resp, body := s.ask(http.MethodHead, path, "", ""); resp.StatusCode != http.StatusOK || body != "" || resp.Header.Get("ETag") != tag {
			t.Errorf("HEAD %s: %s", path, resp.Status)
		}
		if resp, _ := s.ask(http.MethodPost, path, "", ""); resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %s", path, resp.Status)
		}
	}
	for _, path := range []string{"/api/schemas/", "/api/schemas/absent.schema.json", "/api/schemas/schemas.go", "/api/schemas/payload/chat", "/api/schemas/payload"} {
		if resp, body := s.ask(http.MethodGet, path, "", ""); resp.StatusCode != http.StatusNotFound || at(parse(t, body), "error") != "not_found" {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}

// validate checks a response against its operation, and returns the body.
func (s *service) validate(method, template string, resp *http.Response, body string) any {
	s.t.Helper()
	responses := at(s.openapi, "paths", template, strings.ToLower(method), "responses")
	status := strconv.Itoa(resp.StatusCode)
	if at(responses, status) == nil {
		status = "default"
		if resp.StatusCode < 400 {
			s.t.Errorf("%s %s: %d is not described: %s", method, template, resp.StatusCode, body)
			return nil
		}
	}
	mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if at(responses, status, "content", mediaType) == nil {
		s.t.Errorf("%s %s: %d as %s is not described: %.300s", method, template, resp.StatusCode, mediaType, body)
		return nil
	}
	if mediaType != "application/json" {
		return nil
	}
	parsed := parse(s.t, body)
	schema := s.schema("openapi.json", "paths", template, strings.ToLower(method), "responses", status, "content", mediaType, "schema")
	if err := schema.Validate(parsed); err != nil {
		s.t.Errorf("%s %s: %d %.1000s: %#v", method, template, resp.StatusCode, body, err)
	}
	return parsed
}
