package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/kit/openapi"
	"github.com/meup-protocol/meup/schemas"
)

// schemaDocuments returns the schemas of the API by name, without $schema and
// $id, so that documents can contain them.
var schemaDocuments = sync.OnceValue(func() map[string]any {
	all := map[string]any{}
	for name, text := range schemas.Reasoner() {
		var one openapi.Object
		if err := json.Unmarshal(text, &one); err != nil {
			panic(err) // it was compiled
		}
		delete(one, "$schema")
		delete(one, "$id")
		all[name] = one
	}
	return all
})

// parameterDocs describes the parameters of queries.
var parameterDocs = map[string]openapi.Object{
	"session_id":     {"type": "string", "description": "only records of this session, or of this run of a workflow"},
	"intent_id":      {"type": "string", "description": "only the record of this decision"},
	"correlation_id": {"type": "string", "description": "only records of requests with this correlation_id"},
	"since":          {"type": "string", "format": "date-time", "description": "only records from this time on"},
	"until":          {"type": "string", "format": "date-time", "description": "only records before this time"},
	"limit":          {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100, "description": "the maximum number of records"},
	"cursor":         {"type": "string", "description": "next_cursor of the previous page"},
}

// describe returns the OpenAPI description of the routes.
func describe(routes map[string]route, o *Options) openapi.Object {
	d := openapi.Document{
		Title: "Reasoning API", Version: wire.Version,
		Description: "Decides the next action of agents. Served by meup-reasoner " + o.Version + ".",
		Schemas:     schemaDocuments(), Schemes: openapi.Object{"token": openapi.Bearer()},
	}
	if len(o.Tokens) > 0 {
		d.Security = []string{"token"}
	}
	for path, r := range routes {
		status := "200"
		if r.doc.status == 202 {
			status = "202"
		}
		success := openapi.Object{"type": "object"}
		if r.doc.response != "" {
			success = openapi.Ref(r.doc.response)
		}
		op := openapi.Operation{
			Method: r.method, Path: path, ID: strings.Trim(strings.ReplaceAll(path, ".", "_"), "/"), Summary: r.doc.summary, Open: r.open,
			Responses: openapi.Object{
				status:    openapi.Object{"description": "The response.", "content": openapi.JSON(success)},
				"default": openapi.Object{"description": "An error.", "content": openapi.JSON(openapi.Ref("error"))},
			},
		}
		if r.doc.request != "" {
			op.Body = openapi.JSON(openapi.Ref(r.doc.request))
		}
		for _, name := range r.doc.parameters {
			op.Parameters = append(op.Parameters, openapi.Object{"name": name, "in": "query", "schema": parameterDocs[name]})
		}
		if !r.open {
			op.Parameters = append(op.Parameters, openapi.Object{"name": "Accept-Version", "in": "header", "schema": openapi.Object{"type": "string"},
				"description": wire.Version + ", the default"})
		}
		d.Operations = append(d.Operations, op)
	}
	if o.Metrics != nil {
		d.Operations = append(d.Operations, openapi.Operation{
			Method: http.MethodGet, Path: "/metrics", ID: "metrics", Summary: "Returns metrics for Prometheus.", Open: true,
			Responses: openapi.Object{"200": openapi.Object{"description": "OK", "content": openapi.Text("text/plain")}},
		})
	}
	return d.Object()
}
