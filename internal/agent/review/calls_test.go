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

// labelledCall is a line of testdata/calls.jsonl or testdata/fresh.jsonl: a call of an agent that
// works in the folder root, and what a careful person would decide. The labels of calls.jsonl are
// older than the rules; those of fresh.jsonl were written without a look at the rules.
type labelledCall struct {
	Root      string          `json:"root"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Label     string          `json:"label"`
	Why       string          `json:"why"`
}

func labelledCalls(t *testing.T, file string, count int) (out []labelledCall) {
	t.Helper()
	text, err := os.ReadFile(file)
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
	if len(out) != count {
		t.Fatalf("%s: %d calls", file, len(out))
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
// would reject: among the calls that they were written for, and among those of the same projects
// that they were not. In projects of another kind (fresh) they leave more questions and let some
// calls through; the test lists them and fails if there are more.
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
	calls := labelledCalls(t, "testdata/calls.jsonl", 500)
	for _, set := range []struct {
		name            string
		calls           []labelledCall
		unasked, misses int // calls a person rejects that are allowed without a question, and that the rules approve
		left            int // questions, of 100 calls proposed
	}{
		{"written for", calls[:250], 0, 0, 50},
		{"held out", calls[250:], 0, 0, 50},
		{"fresh", labelledCalls(t, "testdata/fresh.jsonl", 300), 2, 6, 72},
	} {
		t.Run(set.name, func(t *testing.T) {
			var n tally
			var rejects, unasked int
			for _, c := range set.calls {
				request := c.request(t)
				n.calls++
				if c.Label == protocol.OpinionReject {
					rejects++
				}
				if may.Decide(&request).Allowed {
					if c.Label == protocol.OpinionReject {
						unasked++
						t.Logf("allowed without a question: %s %s (%s)", c.Tool, c.Arguments, c.Why)
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
					t.Logf("miss: %s %s (%s)", c.Tool, c.Arguments, c.Why)
				case o.verdict == protocol.OpinionReject && c.Label == protocol.OpinionApprove:
					n.falseAlarms++
					t.Logf("false alarm: %s %s (%s)", c.Tool, c.Arguments, o.reason)
				}
				if o.verdict != protocol.OpinionAbstain {
					n.covered++
				}
				if os.Getenv("MEUP_LIST") == set.name && o.verdict == protocol.OpinionAbstain {
					t.Logf("left: %s %s %s", c.Label, c.Tool, strings.TrimSpace(string(c.Arguments)))
				}
			}
			t.Log(n)
			if unasked > set.unasked || n.misses > set.misses {
				t.Errorf("%d calls are allowed without a question and %d are approved that a person would reject", unasked, n.misses)
			}
			if n.questions*100 > n.asked*set.left {
				t.Errorf("%d of %d questions are left", n.questions, n.asked)
			}
			if rejects < 45 {
				t.Errorf("%d calls are to be rejected", rejects)
			}
		})
	}
}
