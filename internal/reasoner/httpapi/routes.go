package httpapi

import (
	"encoding/json"
	"net/http"
	"runtime"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/kit/openapi"
	"github.com/meup-protocol/meup/internal/reasoner"
)

// route is one endpoint. serve returns a status and a body, or an error.
type route struct {
	method string
	open   bool // needs no token, version, body or slot
	query  bool // needs no body
	health bool // accessible to every client, under any Host
	serve  func(r *http.Request, raw []byte) (status int, body any, err error)
	doc    doc
}

// doc describes a route in the OpenAPI description.
type doc struct {
	summary           string
	request, response string // names of schemas; empty: no body, any object
	status            int    // of success; 0: 200
	parameters        []string
}

// newRoutes returns the endpoints that the options enable.
func (h *handler) newRoutes() map[string]route {
	version := map[string]string{"version": h.o.Version, "api": wire.Version, "go": runtime.Version()}
	routes := map[string]route{
		"/healthz": constant("Reports that the service runs.", map[string]string{"status": "ok"}),
		"/version": constant("Returns the versions of the service, the API and Go.", version),
	}
	healthy := routes["/healthz"]
	healthy.health = true
	routes["/healthz"], routes["/health"] = healthy, healthy
	if h.o.Logs != nil {
		routes["/reasoning_logs"] = route{method: http.MethodGet, query: true, serve: h.reasoningLogs, doc: doc{
			summary: "Returns records of decisions, the newest first.", response: "reasoning_logs.response", parameters: pageParameters,
		}}
		routes["/reasoning_diagnostics"] = route{method: http.MethodGet, query: true, serve: h.reasoningDiagnostics, doc: doc{
			summary: "Summarizes the service and its decisions.", response: "reasoning_diagnostics.response", parameters: filterParameters,
		}}
	}
	if h.o.Service != nil {
		routes["/agent_intent"] = route{method: http.MethodPost, serve: decision(reasoner.DecodeAgentIntent, h.o.Service.Decide), doc: doc{
			summary: "Decides the next action of an agent.", request: "agent_intent.request", response: "agent_intent.response",
		}}
		routes["/agent_intent_async"] = route{method: http.MethodPost, serve: h.agentIntentAsync, doc: doc{
			summary: "Decides later, and posts the result to callback_url.", request: "agent_intent.request", response: "agent_intent.accepted", status: http.StatusAccepted,
		}}
		routes["/agent_intent_cancel"] = route{method: http.MethodPost, serve: h.agentIntentCancel, doc: doc{
			summary: "Cancels asynchronous decisions.", request: "agent_intent_cancel.request", response: "agent_intent_cancel.response",
		}}
		routes["/workflow_intent"] = route{method: http.MethodPost, serve: decision(reasoner.DecodeWorkflow, h.o.Service.Workflow), doc: doc{
			summary: "Decides the next node of a workflow.", request: "workflow_intent.request", response: "workflow_intent.response",
		}}
		routes["/schema"] = constant("Returns the JSON Schemas of all bodies, in $defs.", openapi.Object{
			"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Reasoning API " + wire.Version,
			"description": "The bodies of requests and responses, by name.", "$defs": schemaDocuments(),
		})
	}
	routes["/openapi.json"] = constant("Returns this description.", nil)
	routes["/openapi.json"] = constant(routes["/openapi.json"].doc.summary, describe(routes, &h.o))
	return routes
}

// constant returns a route with a constant response, which needs no token.
func constant(summary string, body any) route {
	raw, err := json.Marshal(body) // once
	if err != nil {
		panic(err) // the bodies are this package's own
	}
	return route{method: http.MethodGet, open: true, doc: doc{summary: summary}, serve: func(*http.Request, []byte) (int, any, error) {
		return http.StatusOK, json.RawMessage(raw), nil
	}}
}
