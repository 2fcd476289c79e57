package httpapi

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/schemas"
)

type object = map[string]any

// schemaDocuments returns the schemas of the API by name, without $schema and
// $id, so that documents can contain them.
var schemaDocuments = sync.OnceValue(func() map[string]any {
	all := map[string]any{}
	for name, text := range schemas.Reasoner() {
		var one object
		if err := json.Unmarshal(text, &one); err != nil {
			panic(err) // it was compiled
		}
		delete(one, "$schema")
		delete(one, "$id")
		all[name] = one
	}
	return all
})

// bundle returns all schemas as one document.
func bundle() object {
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Reasoning API " + wire.Version,
		"description": "The bodies of requests and responses, by name.", "$defs": schemaDocuments(),
	}
}

// parameterDocs describes the parameters of queries.
var parameterDocs = map[string]object{
	"session_id":     {"type": "string", "description": "only records of this session, or of this run of a workflow"},
	"intent_id":      {"type": "string", "description": "only the record of this decision"},
	"correlation_id": {"type": "string", "description": "only records of requests with this correlation_id"},
	"since":          {"type": "string", "format": "date-time", "description": "only records from this time on"},
	"until":          {"type": "string", "format": "date-time", "description": "only records before this time"},
	"limit":          {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100, "description": "the maximum number of records"},
	"cursor":         {"type": "string", "description": "next_cursor of the previous page"},
}

// describe returns the OpenAPI description of the routes.
func describe(routes map[string]route, o *Options) object {
	paths := object{}
	for path, r := range routes {
		paths[path] = object{strings.ToLower(r.method): operation(path, &r)}
	}
	if o.Metrics != nil {
		paths["/metrics"] = object{"get": object{
			"operationId": "metrics", "summary": "Returns metrics for Prometheus.", "security": []any{},
			"responses": object{"200": object{"description": "OK", "content": object{"text/plain": object{"schema": object{"type": "string"}}}}},
		}}
	}
	out := object{
		"openapi": "3.1.0", "servers": []any{object{"url": "/"}}, "paths": paths,
		"info": object{
			"title": "Reasoning API", "version": wire.Version,
			"description": "Decides the next action of agents. Served by meup-reasoner " + o.Version + ".",
		},
		"components": object{
			"schemas":         schemaDocuments(),
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
	}
	if len(o.Tokens) > 0 {
		out["security"] = []any{object{"token": []any{}}}
	}
	return out
}

// operation describes a route.
func operation(path string, r *route) object {
	status := "200"
	if r.doc.status == 202 {
		status = "202"
	}
	success := object{"type": "object"}
	if r.doc.response != "" {
		success = reference(r.doc.response)
	}
	op := object{
		"operationId": strings.Trim(strings.ReplaceAll(path, ".", "_"), "/"), "summary": r.doc.summary,
		"responses": object{
			status:    object{"description": "The response.", "content": jsonContent(success)},
			"default": object{"description": "An error. Its form depends on Accept-Version.", "content": jsonContent(object{"anyOf": []any{reference("error"), reference("error.v1")}})},
		},
	}
	if r.open {
		op["security"] = []any{}
	}
	if r.doc.request != "" {
		op["requestBody"] = object{"required": true, "content": jsonContent(reference(r.doc.request))}
	}
	var parameters []any
	for _, name := range r.doc.parameters {
		parameters = append(parameters, object{"name": name, "in": "query", "schema": parameterDocs[name]})
	}
	if !r.open {
		parameters = append(parameters, object{"name": "Accept-Version", "in": "header", "schema": object{"type": "string"},
			"description": wire.Version + ": errors have the form error.v1; otherwise error"})
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	return op
}

func reference(schema string) object { return object{"$ref": "#/components/schemas/" + schema} }

func jsonContent(schema object) object { return object{"application/json": object{"schema": schema}} }
