package schemas

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// valid are valid payloads; fast: accepted without the schema.
var valid = []struct {
	kind protocol.Kind
	text string
	fast bool
}{
	{"chat", `{"message":"hello"}`, true},
	{"chat", `{"text":"hello","format":"markdown","x":{"deep":[1]}}`, true},
	{"chat", `{"message":""}`, true},
	{"chat.acknowledge", `{}`, true},
	{"chat.cancel", `{"reason":"solved"}`, true},
	{"feedback", `{"value":"up"}`, false},
	{"feedback", `{"value":"down","note":"` + strings.Repeat("é", 2048) + `"}`, false},
	{"feedback", `{"value":"none"}`, false},
	{"mcp.request", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{}}}`, true},
	{"mcp.request", `{"method":"notifications/progress","params":[1]}`, true},
	{"mcp.proposal", `{"method":"tools/call"}`, true},
	{"mcp.proposal", `{"method":"tools/call","expires_at":"2026-01-02T03:04:05.6Z"}`, true},
	{"mcp.proposal", `{"method":"tools/call","expires_at":"2026-01-02t03:04:05.60+01:00"}`, false},
	{"mcp.response", `{"id":"a","result":null}`, true},
	{"mcp.response", `{"id":null,"error":{"code":-32600,"message":"no"}}`, true},
	{"mcp.withdraw", `{"reason":"no_longer_needed"}`, true},
	{"mcp.reject", `{"reason":"my own word"}`, true},
	{"reasoning.start", `{}`, true},
	{"reasoning.start", `{"message":"m","references":["msg-1"],"metadata":{"approach":"a","estimated_duration":"30s","confidence":0.7,"free":[]}}`, true},
	{"reasoning.thought", `{"message":"m","tool_name":"t","parallel_group":0}`, true},
	{"reasoning.thought", `{"content":"m"}`, true},
	{"reasoning.observation", `{"content":"c","severity":"high","components":["a"]}`, true},
	{"reasoning.hypothesis", `{"hypothesis":"h","confidence":0.85,"evidence":["e"]}`, true},
	{"reasoning.question", `{"questions":["q"]}`, true},
	{"reasoning.conclusion", `{}`, true},
	{"reasoning.conclusion", `{"decision":true,"confidence":1,"key_factors":["a"],"recommendation":"r"}`, true},
	{"reasoning.cancel", `{}`, true},
	{"stream.data", `{"stream_id":"s","data":""}`, true},

	{"chat", `{"m\u0065ssage":"hello"}`, false},
	{"reasoning.thought", `{"message":"m","parallel_group":1.0}`, false},
	{"reasoning.thought", `{"message":"m","parallel_group":1e2}`, false},
	{"reasoning.thought", `{"message":"m","parallel_group":99999999999999999999999999}`, false},
	{"reasoning.hypothesis", `{"message":"m","confidence":1e-9999999}`, false},
	{"reasoning.hypothesis", `{"message":"m","confidence":10e-1}`, false},
	{"mcp.response", `{"result":1,"id":1e99999999}`, true},
	{"capability.grant", `{"recipient":"bob@example.org","capabilities":["chat",{"kind":"mcp.request","deny":true}],"ttl_seconds":0.5,"reason":"r"}`, false},
	{"capability.revoke", `{"recipient":"bob","grant_id":"g"}`, false},
	{"capability.revoke", `{"recipient":"bob","capabilities":["chat"]}`, false},
	{"capability.grant-ack", `{"status":"accepted"}`, false},
	{"space.invite", `{"participant_id":"bob","initial_capabilities":[],"ttl_seconds":60}`, false},
	{"space.kick", `{"participant_id":"bob"}`, false},
	{"participant.pause", `{"reason":5}`, false},
	{"participant.status", `{"tokens":1}`, true},
	{"stream.request", `{"target":["bob"],"description":"d"}`, false},
	{"stream.open", `{"stream_id":"s","content_type":"text/plain","target":"bob"}`, false},
	{"stream.close", `{"stream_id":"s"}`, false},
	{"x.anything", `{"at":"all"}`, false},
	{"system.subscribe", `{}`, false},
}

func TestValidPayloads(t *testing.T) {
	for _, c := range valid {
		payload := parse(t, c.text)
		if err := Payload(c.kind, payload); err != nil {
			t.Errorf("%s %s: %v", c.kind, c.text, err)
		}
		if got := fastAccept(c.kind, payload); got != c.fast {
			t.Errorf("%s %s: accepted without the schema: %v, want %v", c.kind, c.text, got, c.fast)
		}
	}
}

var invalid = []struct {
	kind                protocol.Kind
	text, path, message string // the message contains this
}{
	{"chat", `{}`, "/payload/message", "lacks message or text: add the text that is said"},
	{"chat", `{"message":3}`, "/payload/message", "expected a string, got number"},
	{"chat", `{"message":"a","text":null}`, "/payload/text", "expected a string, got null"},
	{"chat", `{"message":"a","format":"html"}`, "/payload/format", "plain or markdown"},
	{"chat.cancel", `{"reason":[]}`, "/payload/reason", "string"},
	{"feedback", `{"note":"good"}`, "/payload/value", "lacks value"},
	{"feedback", `{"value":"good"}`, "/payload/value", "up or down or none"},
	{"feedback", `{"value":1}`, "/payload/value", "a string, got number"},
	{"feedback", `{"value":"up","note":"` + strings.Repeat("a", 2049) + `"}`, "/payload/note", "at most 2048 characters"},
	{"mcp.request", `{}`, "/payload/method", "lacks method"},
	{"mcp.request", `{"method":""}`, "/payload/method", "not empty"},
	{"mcp.request", `{"method":"m","params":"p"}`, "/payload/params", "an object or an array"},
	{"mcp.request", `{"method":"m","id":null}`, "/payload/id", "a string or a number"},
	{"mcp.proposal", `{"params":{}}`, "/payload/method", "lacks method"},
	{"mcp.proposal", `{"method":"m","expires_at":1}`, "/payload/expires_at", "a string"},
	{"mcp.proposal", `{"method":"m","expires_at":"tomorrow"}`, "/payload/expires_at", "RFC 3339"},
	{"mcp.proposal", `{"method":"m","expires_at":"2026-13-01T00:00:00Z"}`, "/payload/expires_at", "RFC 3339"},
	{"mcp.response", `{"id":1}`, "/payload/result", "lacks result or error"},
	{"mcp.response", `{"result":1,"error":{"code":1,"message":"m"}}`, "/payload", "not both"},
	{"mcp.response", `{"error":"no"}`, "/payload/error", "an object"},
	{"mcp.response", `{"error":{"code":1}}`, "/payload/error/message", "lacks message"},
	{"mcp.response", `{"error":{"code":1.5,"message":"m"}}`, "/payload/error/code", "an integer"},
	{"mcp.response", `{"error":{"code":1e-999999999,"message":"m"}}`, "/payload/error/code", "an integer"},
	{"mcp.withdraw", `{}`, "/payload/reason", "lacks reason"},
	{"mcp.reject", `{"reason":1}`, "/payload/reason", "a string"},
	{"reasoning.start", `{"references":"msg-1"}`, "/payload/references", "an array"},
	{"reasoning.start", `{"references":["ok","not ok"]}`, "/payload/references/1", "the id of an envelope"},
	{"reasoning.start", `{"metadata":{"confidence":1.1}}`, "/payload/metadata/confidence", "from 0 to 1"},
	{"reasoning.thought", `{}`, "/payload/message", "lacks message or content"},
	{"reasoning.thought", `{"message":"m","parallel_group":-1}`, "/payload/parallel_group", "at least 0"},
	{"reasoning.thought", `{"message":"m","parallel_group":-1e99999999999999999999}`, "/payload/parallel_group", "at least 0"},
	{"reasoning.thought", `{"message":"m","parallel_group":0.5}`, "/payload/parallel_group", "an integer"},
	{"reasoning.question", `{"questions":[]}`, "/payload/questions", "not empty"},
	{"reasoning.question", `{"questions":[1]}`, "/payload/questions/0", "a string"},
	{"reasoning.hypothesis", `{"confidence":0.5}`, "/payload/message", "message or content or hypothesis or questions"},
	{"reasoning.conclusion", `{"confidence":"high"}`, "/payload/confidence", "a number, got string"},
	{"capability.grant", `{"recipient":"bob"}`, "/payload/capabilities", "lacks capabilities"},
	{"capability.grant", `{"recipient":"bob","capabilities":[]}`, "/payload/capabilities", "not empty"},
	{"capability.grant", `{"recipient":"b b","capabilities":["chat"]}`, "/payload/recipient", "the id of a participant"},
	{"capability.grant", `{"recipient":"bob","capabilities":["chat"],"ttl_seconds":0}`, "/payload/ttl_seconds", "greater than 0"},
	{"capability.grant", `{"recipient":"bob","capabilities":["chat"],"ttl_seconds":-1e9999999}`, "/payload/ttl_seconds", "greater than 0"},
	{"capability.revoke", `{"recipient":"bob"}`, "/payload/grant_id", "grant_id or capabilities"},
	{"capability.revoke", `{"recipient":"bob","grant_id":"g","capabilities":["chat"]}`, "/payload", "not both"},
	{"space.invite", `{"ttl_seconds":1}`, "/payload/participant_id", "lacks participant_id"},
	{"space.kick", `{"participant_id":["bob"]}`, "/payload/participant_id", "a string, got array"},
	{"stream.data", `{"stream_id":"s"}`, "/payload/data", "lacks data"},
	{"stream.data", `{"data":"d"}`, "/payload/stream_id", "lacks stream_id"},
}

func TestInvalidPayloads(t *testing.T) {
	for _, c := range invalid {
		err := protocol.AsError(Payload(c.kind, parse(t, c.text)))
		if err == nil {
			t.Errorf("%s %s: accepted", c.kind, c.text)
			continue
		}
		if err.Code != protocol.CodeInvalidPayload || err.Path != c.path || err.Detail == "" || !strings.Contains(err.Message, c.message) {
			t.Errorf("%s %s: got path %s, %s", c.kind, c.text, err.Path, err.Message)
		}
	}
}

// TestFault_Deterministic: of several faults the same one is always reported.
func TestFault_Deterministic(t *testing.T) {
	payload := parse(t, `{"recipient":5,"capabilities":{},"ttl_seconds":"x","reason":5}`)
	first := Payload(protocol.KindCapabilityGrant, payload)
	for range 50 {
		if again := Payload(protocol.KindCapabilityGrant, payload); again.Error() != first.Error() {
			t.Fatalf("got %q, and before %q", again, first)
		}
	}
}

func TestBoundNumber(t *testing.T) {
	cases := map[string]string{
		"0e999999999": "0", "-0.0e-999999999999999999999": "-0",
		"1e5": "1e5", "0.25": "0.25",
		"1e1000": "1e100", "-7.5e+1000": "-1e100", "1e-1000": "1e-100",
		"0." + strings.Repeat("0", 500) + "1e501":  "0.1e1",
		"1" + strings.Repeat("0", 50):              "0.1e51",
		strings.Repeat("9", 150) + ".5":            "1" + strings.Repeat("0", 99) + ".5",
		"0.5" + strings.Repeat("0", 300) + "1":     "0.5" + strings.Repeat("0", 197) + "1e0",
		"1e99999999999999999999999999999999999999": "1e100",
	}
	for in, want := range cases {
		if got := boundNumber(in); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

const typicalThought = `{"message":"The test report names two failures in token expiration. ` +
	`Before anything else I want to see whether the rollback plan covers sessions that were opened with the new ` +
	`validation code, because those would otherwise stay valid. I will ask the deployment server for the plan and ` +
	`compare it with the list of changed components.","tool_name":"check_rollback_plan","parallel_group":1,"tags":["auth","deploy"]}`

func TestTypicalThoughtAllocatesNothing(t *testing.T) {
	payload := parse(t, typicalThought)
	n := testing.AllocsPerRun(100, func() {
		if Payload(protocol.KindReasoningThought, payload) != nil {
			t.Fatal("refused")
		}
	})
	if n != 0 {
		t.Fatalf("%v allocations", n)
	}
	start := parse(t, `{"message":"m","references":["0198c3f2-7a51-7000","msg-2"],"metadata":{"confidence":0.5}}`)
	n = testing.AllocsPerRun(100, func() {
		if Payload(protocol.KindReasoningStart, start) != nil {
			t.Fatal("refused")
		}
	})
	if n != 0 {
		t.Fatalf("reasoning.start: %v allocations", n)
	}
}

func BenchmarkPayload(b *testing.B) {
	payload := parse(b, typicalThought)
	b.Run("acceptor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if Payload(protocol.KindReasoningThought, payload) != nil {
				b.Fatal("refused")
			}
		}
	})
	b.Run("schema", func(b *testing.B) {
		schema := payloads()[string(protocol.KindReasoningThought)]
		b.ReportAllocs()
		for b.Loop() {
			if schema.Validate(instance(payload)) != nil {
				b.Fatal("refused")
			}
		}
	})
}
