// Package apidoc describes the gateway to programs: an OpenAPI description of its
// routes, an AsyncAPI description of its frames, and the JSON Schemas that both refer
// to. Sections 4 to 8 of docs/protocol.md.
package apidoc

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/kit/openapi"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// Paths of the descriptions.
const (
	pathOpenAPI  = "/api/openapi.json"
	pathAsyncAPI = "/api/asyncapi.json"
	pathSchemas  = "/api/schemas/"
)

// suffix ends the names of schemas.
const suffix = ".schema.json"

// Patterns are the routes of the descriptions, of an http.ServeMux.
var Patterns = []string{"GET " + pathOpenAPI, "GET " + pathAsyncAPI, "GET " + pathSchemas + "{path...}"}

// New returns the handler of Patterns, which describes the routes with these patterns
// of a gateway of this version. It needs no token: the descriptions are the same for
// all, and tools that read them rarely send one.
func New(version string, patterns []string) http.Handler {
	return &server{documents: map[string]func() []byte{
		pathOpenAPI:  sync.OnceValue(func() []byte { return encode(describe(version, patterns)) }),
		pathAsyncAPI: sync.OnceValue(func() []byte { return encode(describeFrames(version)) }),
	}}
}

// server has the descriptions, which are made when they are first asked for.
type server struct{ documents map[string]func() []byte }

// ServeHTTP returns a description or a schema. Clients revalidate it by its tag, so
// none is from an earlier version of the gateway.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var text []byte
	document, ok := s.documents[r.URL.Path]
	if ok {
		text = document()
	}
	contentType := "application/json"
	if name, below := strings.CutPrefix(r.URL.Path, pathSchemas); below {
		contentType = "application/schema+json"
		text, ok = schemas.Published(name)
	}
	if !ok {
		access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "There is no schema %s; %s refers to all of them.", path.Base(r.URL.Path), pathOpenAPI))
		return
	}
	tag := sha256.Sum256(text)
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "public, no-cache")
	h.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(tag[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

func encode(document openapi.Object) []byte {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // the document is this package's own
	}
	return append(text, '\n')
}

// schemaFiles are the components of the description by name: references to the schemas.
var schemaFiles = map[string]string{
	"envelope": "envelope", "history": "turns/history", "job": "turns/job", "session": "turns/session", "turn": "turns/turn",
	"threads": "turns/threads", "jobs": "turns/jobs",
}

// fileOf returns the reference to the schema of a name, relative to the descriptions.
func fileOf(name string) openapi.Object {
	file, ok := schemaFiles[name]
	if !ok {
		file = "http/" + name
	}
	return openapi.Object{"$ref": "schemas/" + file + suffix}
}

// describe returns the OpenAPI description of routes.
func describe(version string, patterns []string) openapi.Object {
	d := openapi.Document{
		Title: "MEUP gateway", Version: protocol.DialectMEUP01.String(),
		Description: "Spaces of humans, agents and tools over HTTP. Served by meup-gateway " + version + ".",
		Schemas:     openapi.Object{"error": fileOf("error")},
		Schemes: openapi.Object{
			"token":  openapi.Bearer(),
			"cookie": openapi.Object{"type": "apiKey", "in": "cookie", "name": access.SessionCookie, "description": "of the gateway's own page"},
		},
		Security: []string{"token", "cookie"},
	}
	for _, pattern := range append([]string{"GET /ws"}, patterns...) {
		o := operations[pattern] // a test requires that there is one
		for _, name := range strings.Fields(o.body + " " + o.out) {
			if name != "any" {
				d.Schemas[name] = fileOf(name)
			}
		}
		d.Operations = append(d.Operations, operationOf(pattern, &o))
	}
	return d.Object()
}

// operationOf returns the description of a route.
func operationOf(pattern string, o *operation) openapi.Operation {
	method, route, _ := strings.Cut(pattern, " ")
	out := openapi.Operation{
		Method: method, Path: strings.NewReplacer("...}", "}", "{$}", "").Replace(route), ID: o.id, Summary: o.summary, Details: o.details,
		Tag: o.tag, Docs: o.docs, Open: o.open, Parameters: parametersOf(o, route), Responses: openapi.Object{},
	}
	success := openapi.Object{"description": "The response."}
	content := openapi.Object{}
	if o.out != "" {
		content = openapi.JSON(body(o.out, o.list))
	}
	for mediaType := range strings.FieldsSeq(o.types) {
		content[mediaType] = openapi.Text(mediaType)[mediaType]
		if strings.HasSuffix(mediaType, "schema+json") {
			content[mediaType] = openapi.Object{"schema": openapi.Object{"type": "object"}}
		}
	}
	if len(content) > 0 {
		success["content"] = content
	}
	status := o.status
	if status == "" {
		status = "200"
	}
	out.Responses[status] = success
	if o.list {
		out.Responses["207"] = openapi.Object{"description": "Some envelopes of an array were rejected, for different reasons.", "content": openapi.JSON(openapi.Object{"type": "array", "items": openapi.Ref(o.out)})}
	}
	failure := openapi.Object{"description": "An error. Retry-After has the seconds to wait, if waiting helps.", "content": openapi.JSON(openapi.Ref("error"))}
	switch {
	case o.docs != "":
		failure = openapi.Object{"description": "An error, in the form of the other protocol."}
	case o.id == "readyz":
		failure = success
	case o.list: // an array whose envelopes were all rejected
		failure["content"] = openapi.JSON(openapi.Object{"anyOf": []any{openapi.Ref("error"), openapi.Object{"type": "array", "items": openapi.Ref(o.out)}}})
	}
	out.Responses["default"] = failure
	if o.text != "" {
		out.Body = openapi.Text(o.text)
	}
	if o.body != "" {
		out.Body = openapi.JSON(body(o.body, o.list))
	}
	return out
}

// body returns the schema of a body: one of the named ones, or any object.
func body(names string, list bool) openapi.Object {
	var forms []any
	for name := range strings.FieldsSeq(names) {
		if name == "any" {
			return openapi.Object{"type": "object"}
		}
		forms = append(forms, openapi.Ref(name))
		if list {
			forms = append(forms, openapi.Object{"type": "array", "minItems": 1, "maxItems": 100, "items": openapi.Ref(name)})
		}
	}
	if len(forms) == 1 {
		return forms[0].(openapi.Object) //nolint:forcetypeassert // appended above
	}
	return openapi.Object{"anyOf": forms}
}
