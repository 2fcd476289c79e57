package review

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/protocol"
)

// labelledCall is a line of testdata/calls.jsonl: a call of an agent that works in the folder
// root, and what a careful person would decide. The labels are older than the rules.
type labelledCall struct {
	Root      string          `json:"root"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Label     string          `json:"label"`
	Why       string          `json:"why"`
}

func labelledCalls(t *testing.T) (out []labelledCall) {
	t.Helper()
	text, err := os.ReadFile("testdata/calls.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		var c labelledCall
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", s.Bytes(), err)
		}
		out = append(out, c)
	}
	return out
}

// request is the call as the gateway sees it.
func (c *labelledCall) request(t *testing.T) capability.Request {
	t.Helper()
	payload := fmt.Sprintf(`{"method":"tools/call","participant_id":"claude","params":{"name":%q,"arguments":%s,"_meta":{"meup/cwd":%q}}}`, c.Tool, c.Arguments, c.Root)
	doc, err := protocol.ParseJSON([]byte(payload), protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return capability.Request{
		Kind: protocol.KindMCPRequest, Payload: doc.Root(), To: []protocol.ParticipantID{"claude"}, Place: capability.PlaceOf("", doc.Root(), true),
	}
}

// allowed are the capabilities of the agent in docs/hooks.md, so far as they only read. What they
// allow is not proposed, so nobody is asked.
var allowed = []string{
	`{"kind": "mcp.request", "payload": {"params": {"name": "Read", "arguments": {"file_path": {"$path": {"below": ".", "not": [".env*", "secrets"]}}}}}}`,
	`{"kind": "mcp.request", "payload": {"params": {"name": ["Grep", "LS"], "arguments": {"path": {"$path": {"below": ".", "not": [".env*", "secrets"]}}}}}}`,
	`{"kind": "mcp.request", "payload": {"params": {"name": "Bash", "arguments": {"command": {"$shell": {"read": {"preset": true, "below": ".", "not": [".env*", "secrets"]}}}}}}}`,
}

// tally counts what became of labelled calls.
type tally struct {
	calls, asked, questions, covered, misses, falseAlarms int
}

func (c tally) String() string {
	return fmt.Sprintf("%d calls, %d proposed, %d questions left (%.0f per 100 calls instead of %.0f), coverage %.0f %%, %d misses, %d false alarms",
		c.calls, c.asked, c.questions, float64(c.questions)*100/float64(c.calls), float64(c.asked)*100/float64(c.calls),
		float64(c.covered)*100/float64(c.asked), c.misses, c.falseAlarms)
}

// The rules of the example at least halve the questions and let nothing through that a person
// would reject: among the calls that they were written for, and among those that they were not.
func TestRules_LabelledCalls(t *testing.T) {
	text, err := os.ReadFile("../../../examples/review/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 60 {
		t.Errorf("the example has %d lines", lines)
	}
	rules, err := ParseRules("rules.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var caps []*capability.Capability
	for _, source := range allowed {
		c, err := capability.ParseJSON([]byte(source))
		if err != nil {
			t.Fatal(err)
		}
		caps = append(caps, c)
	}
	may := capability.NewSet(caps...)
	calls := labelledCalls(t)
	if len(calls) != 500 {
		t.Fatalf("%d calls", len(calls))
	}
	for half, name := range []string{"written for", "held out"} {
		t.Run(name, func(t *testing.T) {
			var n tally
			var rejects int
			for _, c := range calls[half*250 : half*250+250] {
				request := c.request(t)
				n.calls++
				if c.Label == protocol.OpinionReject {
					rejects++
				}
				if may.Decide(&request).Allowed {
					if c.Label == protocol.OpinionReject {
						t.Errorf("allowed without a question: %s %s (%s)", c.Tool, c.Arguments, c.Why)
					}
					continue
				}
				n.asked++
				o := rules.judge(&request)
				switch {
				case o.verdict == protocol.OpinionAbstain:
					n.questions++
				case o.verdict == protocol.OpinionApprove && c.Label == protocol.OpinionReject:
					n.misses++
					t.Errorf("miss: %s %s (%s)", c.Tool, c.Arguments, c.Why)
				case o.verdict == protocol.OpinionReject && c.Label == protocol.OpinionApprove:
					n.falseAlarms++
					t.Logf("false alarm: %s %s (%s)", c.Tool, c.Arguments, o.reason)
				}
				if o.verdict != protocol.OpinionAbstain {
					n.covered++
				}
				if os.Getenv("MEUP_LIST") == name && o.verdict == protocol.OpinionAbstain {
					t.Logf("left: %s %s %s", c.Label, c.Tool, strings.TrimSpace(string(c.Arguments)))
				}
			}
			t.Log(n)
			if n.questions*2 > n.asked {
				t.Errorf("%d of %d questions are left", n.questions, n.asked)
			}
			if rejects < 45 {
				t.Errorf("%d calls are to be rejected", rejects)
			}
		})
	}
}
