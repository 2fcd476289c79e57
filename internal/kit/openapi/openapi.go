// Package openapi builds OpenAPI 3.1 descriptions.
package openapi

import (
	"maps"
	"strings"
)

// Object is a JSON object.
type Object = map[string]any

// Document is the description of a service.
type Document struct {
	Title, Version, Description string
	// Schemas are the components that Ref names.
	Schemas Object
	// Schemes are the ways to authenticate. Every operation that is not open needs
	// one of Security, which may be empty.
	Schemes    Object
	Security   []string
	Operations []Operation
}

// Operation describes a method of a path.
type Operation struct {
	Method, Path         string // a path may have parameters in braces
	ID, Summary, Details string
	Tag                  string // the group; optional
	Docs                 string // address of another description; optional
	Open                 bool   // needs no authentication
	Parameters           []any
	Body                 Object // content of the request, by media type; nil: none
	Responses            Object // by status, or default
}

// Object returns the description as a document.
func (d *Document) Object() Object {
	paths := Object{}
	for i := range d.Operations {
		o := &d.Operations[i]
		item, ok := paths[o.Path].(Object)
		if !ok {
			item = Object{}
			paths[o.Path] = item
		}
		item[strings.ToLower(o.Method)] = o.object()
	}
	out := Object{
		"openapi": "3.1.0", "servers": []any{Object{"url": "/"}}, "paths": paths,
		"info":       Object{"title": d.Title, "version": d.Version, "description": d.Description},
		"components": Object{"schemas": d.Schemas, "securitySchemes": d.Schemes},
	}
	if len(d.Security) > 0 {
		schemes := []any{}
		for _, scheme := range d.Security {
			schemes = append(schemes, Object{scheme: []any{}})
		}
		out["security"] = schemes
	}
	return out
}

func (o *Operation) object() Object {
	out := Object{"operationId": o.ID, "summary": o.Summary, "responses": maps.Clone(o.Responses)}
	if o.Details != "" {
		out["description"] = o.Details
	}
	if o.Tag != "" {
		out["tags"] = []any{o.Tag}
	}
	if o.Docs != "" {
		out["externalDocs"] = Object{"url": o.Docs}
	}
	if o.Open {
		out["security"] = []any{}
	}
	if o.Parameters != nil {
		out["parameters"] = o.Parameters
	}
	if o.Body != nil {
		out["requestBody"] = Object{"required": true, "content": o.Body}
	}
	return out
}

// Ref refers to a schema of the components.
func Ref(schema string) Object { return Object{"$ref": "#/components/schemas/" + schema} }

// JSON is content of the type application/json.
func JSON(schema Object) Object { return Object{"application/json": Object{"schema": schema}} }

// Text is content of another type, which has no structure in the description.
func Text(mediaType string) Object {
	return Object{mediaType: Object{"schema": Object{"type": "string"}}}
}

// Bearer is the scheme of bearer tokens.
func Bearer() Object { return Object{"type": "http", "scheme": "bearer"} }
