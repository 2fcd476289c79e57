package apidoc

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/openapi"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

type object = openapi.Object

// schemaFormat is the dialect of the schemas. AsyncAPI assumes another one.
const schemaFormat = "application/schema+json;version=2020-12"

// Versions of the bindings.
const (
	wsBinding   = "0.1.0"
	httpBinding = "0.3.0"
)

// describeFrames returns the AsyncAPI description of the WebSocket connections and the
// event streams. Its actions are the gateway's: it receives from clients.
func describeFrames(version string) object {
	messages, sent, both := frames()
	events := map[string]object{
		"envelope":         event("An envelope; id is its seq.", "envelope"),
		"presence":         event("A system.presence.", "envelope"),
		"system":           event("A frame for this stream alone: the welcome, or cursor_expired.", "envelope"),
		"reasoning_update": event("A step of an agent in a turn has ended.", "turns/reasoning_update"),
		"job_reasoning":    event("A step of reasoning that no chat asked for has ended.", "turns/job_reasoning"),
	}
	var eventRefs []any
	eventMessages := object{}
	for _, name := range []string{"envelope", "presence", "system", "reasoning_update", "job_reasoning"} {
		messages["event."+name] = events[name]
		eventMessages[name] = component("messages", "event."+name)
		eventRefs = append(eventRefs, object{"$ref": "#/channels/events/messages/" + name})
	}
	mew := object{"join": component("messages", "system.join"), "data": component("messages", "raw")}
	spaceMessages := object{}
	for _, name := range append(append([]string{}, sent...), both...) {
		spaceMessages[name] = component("messages", name)
	}
	spaceMessages["system.subscribe"] = component("messages", "system.subscribe")
	connect, stream := operations["GET /ws"], operations["GET /api/spaces/{space}/events"]
	return object{
		"asyncapi": "3.0.0", "defaultContentType": "application/json",
		"info": object{
			"title": "MEUP gateway", "version": protocol.DialectMEUP01.String(),
			"description": "The frames of spaces of humans, agents and tools, one JSON object in each. Served by meup-gateway " + version + ". Applications can add kinds of their own (x.*).",
		},
		"servers": object{"ws": serverOf("ws"), "http": serverOf("http")},
		"channels": object{
			"space": object{
				"address": "/ws", "servers": []any{object{"$ref": "#/servers/ws"}}, "messages": spaceMessages, "description": connect.summary + " " + closing,
				"bindings": object{"ws": object{"bindingVersion": wsBinding, "method": "GET", "query": query(&connect)}},
			},
			"events": object{
				"address": "/api/spaces/{space}/events", "servers": []any{object{"$ref": "#/servers/http"}}, "messages": eventMessages, "description": "The same as server-sent events. The name of a message is the event, its payload the data.",
				"parameters": object{"space": object{"description": "the space"}},
			},
			"mew": object{"address": "/", "servers": []any{object{"$ref": "#/servers/ws"}}, "messages": mew, "description": "A MEW client: any path without the parameter space. Its first frame is its join, within 10 s; all frames have the dialect mew/v0.4."},
		},
		"operations": object{
			"receive": object{"action": "receive", "channel": object{"$ref": "#/channels/space"}, "summary": "Envelopes from clients.", "messages": refs("space", both)},
			"subscribe": object{"action": "receive", "channel": object{"$ref": "#/channels/space"}, "summary": "Changes the filter of the connection.", "messages": refs("space", []string{"system.subscribe"}),
				"reply": object{"channel": object{"$ref": "#/channels/space"}, "messages": refs("space", []string{"system.subscribed"})}},
			"deliver": object{"action": "send", "channel": object{"$ref": "#/channels/space"}, "summary": "Envelopes of the space, and frames for this connection.", "messages": refs("space", append(sent, both...))},
			"stream": object{"action": "send", "channel": object{"$ref": "#/channels/events"}, "summary": "Events of the space.", "messages": eventRefs,
				"bindings": object{"http": object{"bindingVersion": httpBinding, "method": "GET", "query": query(&stream)}}},
			"join": object{"action": "receive", "channel": object{"$ref": "#/channels/mew"}, "summary": "A MEW client joins, and writes into streams.", "messages": refs("mew", []string{"join", "data"})},
		},
		"components": object{"messages": messages, "securitySchemes": object{"token": openapi.Bearer()}},
	}
}

func serverOf(scheme string) object {
	return object{"host": "{host}", "protocol": scheme, "description": scheme + ", or with TLS " + scheme + "s", "security": []any{component("securitySchemes", "token")},
		"variables": object{"host": object{"default": "127.0.0.1:8080"}}}
}

const closing = "Close codes: 1000 normal, 1001 connect again with since and log, 1008 too many rejected envelopes, 1009 frame too large, 1011 internal, 4001 token not valid any more, 4003 kicked, 4008 idle."

// frames returns the messages of a connection by name: the ones that only the gateway
// sends, and the ones that clients send too.
func frames() (messages object, sent, both []string) {
	messages = object{"raw": object{"title": "Stream data of MEW clients", "contentType": "text/plain", "payload": object{"type": "string", "pattern": "^#[^#]*#"}, "summary": "#ID#DATA: data of an open stream, in both directions."}}
	for _, folder := range []string{"payload", "frames"} {
		for _, file := range schemas.Files(folder) {
			kind := strings.TrimSuffix(path.Base(file), suffix)
			messages[kind] = message(kind, file)
			switch {
			case folder == "payload":
				both = append(both, kind)
			case kind != string(protocol.KindSystemJoin) && kind != string(protocol.KindSystemSubscribe):
				sent = append(sent, kind)
			}
		}
	}
	for _, kind := range []protocol.Kind{protocol.KindStreamWriteGranted, protocol.KindStreamWriteRevoked, protocol.KindStreamTransferred} {
		messages[string(kind)] = object{"name": kind, "title": kind, "summary": "The writers of a stream have changed.", "payload": schema(envelopeOf(string(kind), nil))}
		sent = append(sent, string(kind))
	}
	return messages, sent, both
}

// message describes the envelopes of a kind, whose payloads have this schema.
func message(kind, file string) object {
	text, _ := schemas.Published(file)
	var head struct {
		Description string
		Examples    []json.RawMessage
	}
	if err := json.Unmarshal(text, &head); err != nil {
		panic(err) // a test parses all of them
	}
	m := object{"name": kind, "title": kind, "summary": head.Description, "payload": schema(envelopeOf(kind, object{"$ref": "schemas/" + file})),
		"correlationId": object{"location": "$message.payload#/correlationId", "description": "the envelopes that this one answers or builds on"}}
	var examples []any
	for _, payload := range head.Examples {
		example := object{"kind": kind, "payload": payload}
		if protocol.Kind(kind).NeedsCorrelation() {
			example["correlationId"] = "msg-1"
		}
		examples = append(examples, object{"payload": example})
	}
	m["examples"] = examples
	return m
}

// envelopeOf returns the schema of envelopes of a kind; payload may be nil.
func envelopeOf(kind string, payload object) object {
	properties := object{"kind": object{"const": kind}}
	if payload != nil {
		properties["payload"] = payload
	}
	return object{"allOf": []any{object{"$ref": "schemas/envelope" + suffix}}, "properties": properties}
}

func schema(s object) object { return object{"schemaFormat": schemaFormat, "schema": s} }

// event describes a server-sent event whose data has this schema.
func event(summary, file string) object {
	return object{"summary": summary, "payload": schema(object{"$ref": "schemas/" + file + suffix})}
}

func component(group, name string) object {
	return object{"$ref": "#/components/" + group + "/" + name}
}

func refs(channel string, names []string) []any {
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = object{"$ref": "#/channels/" + channel + "/messages/" + name}
	}
	return list
}

// query returns the schema of the query of an operation.
func query(o *operation) object {
	properties, required := object{}, []any{}
	for _, name := range strings.Fields(o.params) {
		p := find(o, name)
		if p.in != "" {
			continue
		}
		property := object{"description": p.text}
		for key, value := range p.schema {
			property[key] = value
		}
		properties[name] = property
		if p.required {
			required = append(required, name)
		}
	}
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}
