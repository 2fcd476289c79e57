package reasoner

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/telemetry"
)

// Workflow returns the next node of a workflow and its action. The request must
// be one that DecodeWorkflow accepts. Errors are a *Fault, or wrap ctx's.
//
// params.workflow contains the workflow: nodes, and edges between them.
//
//   - current_node is the node that was completed last; empty to begin at `start`, or
//     at the first node.
//   - Workflow follows the first outgoing edge whose `when` holds, or else the node's
//     own `next`.
//   - It skips a node whose own `when` does not hold, in the same way.
//   - If no node follows, or one of type end does, the response finishes.
//   - For a node with a tool the response has action_type "tool", the tool's name and
//     args, with {{params.x}}, {{outputs.node.x}} and {{memory.x}} substituted; for any
//     other node the action_type is the node's type.
//
// Without a workflow, params.next names the next node; without either there is
// no next node.
func (s *Service) Workflow(ctx context.Context, r *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error) {
	began := s.o.Now()
	id := "wf-" + s.o.NewID()
	ctx, span := s.o.Telemetry.Span(ctx, telemetry.Plan, "", telemetry.Intent.String(id))
	out, err := s.transition(ctx, r)
	took := s.o.Now().Sub(began)
	s.reportWorkflow(ctx, span, r, id, out, took, err)
	span.End(err)
	if err != nil {
		return nil, err
	}
	out.Status, out.IntentID, out.DurationMS = wire.StatusOK, id, took.Milliseconds()
	if out.Trace == nil {
		out.Trace = []wire.TraceItem{}
	}
	return out, nil
}

func (s *Service) transition(ctx context.Context, r *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("decide workflow: %w", err)
	}
	return nextNode(r)
}

func nextNode(r *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error) {
	params := object(r.Params)
	if raw := params["workflow"]; len(raw) > 0 && !isNull(raw) {
		w, err := parseWorkflow(raw)
		if err != nil {
			return nil, err
		}
		w.values = newValues(r, params)
		return w.follow(r.CurrentNode)
	}
	if next := text(params["next"]); next != "" {
		return &wire.WorkflowIntentResponse{NextNode: next, Reasoning: "params.next names the next node."}, nil
	}
	return &wire.WorkflowIntentResponse{
		Finish:    true,
		Reasoning: "The request has neither a workflow in params.workflow nor a node in params.next, so nothing follows.",
	}, nil
}

// node is a node of a workflow.
type node struct {
	ID, Type, Tool, Next string
	Args                 json.RawMessage
	When                 conditions
}

// edge leads from one node to another.
type edge struct {
	From, To string
	When     conditions
}

type workflow struct {
	Start  string
	Nodes  []node // at least one
	Edges  []edge
	byID   map[string]*node
	values *values
	trace  []wire.TraceItem
}

const workflowPath = "/params/workflow"

// readWorkflow decodes the fields by their exact names, which the schema has
// validated.
func readWorkflow(raw json.RawMessage) (*workflow, error) {
	w := &workflow{byID: make(map[string]*node)}
	var nodes, edges []json.RawMessage
	if err := assign(workflowPath, raw, fields{{"start", &w.Start}, {"nodes", &nodes}, {"edges", &edges}}); err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, invalid(workflowPath+"/nodes", "The workflow has no nodes: give it one.")
	}
	for i, raw := range nodes {
		var n node
		err := assign(fmt.Sprintf("%s/nodes/%d", workflowPath, i), raw, fields{
			{"id", &n.ID}, {"type", &n.Type}, {"tool", &n.Tool}, {"args", &n.Args}, {"next", &n.Next}, {"when", &n.When},
		})
		if err != nil {
			return nil, err
		}
		w.Nodes = append(w.Nodes, n)
	}
	for i, raw := range edges {
		var e edge
		err := assign(fmt.Sprintf("%s/edges/%d", workflowPath, i), raw, fields{{"from", &e.From}, {"to", &e.To}, {"when", &e.When}})
		if err != nil {
			return nil, err
		}
		w.Edges = append(w.Edges, e)
	}
	return w, nil
}

func parseWorkflow(raw json.RawMessage) (*workflow, error) {
	w, err := readWorkflow(raw)
	if err != nil {
		return nil, err
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if w.byID[n.ID] != nil {
			return nil, invalid(fmt.Sprintf("%s/nodes/%d/id", workflowPath, i), "Two nodes have the same id: give each its own.")
		}
		w.byID[n.ID] = n
	}
	for i, n := range w.Nodes {
		if n.Next != "" && w.byID[n.Next] == nil {
			return nil, unknownNode(fmt.Sprintf("%s/nodes/%d/next", workflowPath, i))
		}
	}
	for i, e := range w.Edges {
		if w.byID[e.From] == nil {
			return nil, unknownNode(fmt.Sprintf("%s/edges/%d/from", workflowPath, i))
		}
		if w.byID[e.To] == nil {
			return nil, unknownNode(fmt.Sprintf("%s/edges/%d/to", workflowPath, i))
		}
	}
	if w.Start != "" && w.byID[w.Start] == nil {
		return nil, unknownNode(workflowPath + "/start")
	}
	return w, nil
}

func unknownNode(path string) *Fault {
	return &Fault{
		Status: http.StatusBadRequest, Code: CodeUnknownNode, Path: path,
		Message: "The workflow has no node of the name at " + path + ": name one of its nodes.",
	}
}

// follow finds the next node to enter after the node that was completed last.
func (w *workflow) follow(current string) (*wire.WorkflowIntentResponse, error) {
	next, why, err := w.first(current)
	// Each iteration skips one node. There are at most as many as there are
	// nodes, unless they form a cycle.
	for range w.Nodes {
		if err != nil {
			return nil, err
		}
		if next == nil {
			return &wire.WorkflowIntentResponse{Finish: true, Reasoning: why, Trace: w.trace}, nil
		}
		enter, held, err := next.When.hold(w.values)
		if err != nil {
			return nil, err
		}
		if enter {
			return w.enter(next, why)
		}
		w.addTrace("%s is passed over, since %s does not hold.", quoted(next.ID), held)
		if next, why, err = w.after(next); err != nil {
			return nil, err
		}
	}
	if next == nil {
		return &wire.WorkflowIntentResponse{Finish: true, Reasoning: why, Trace: w.trace}, nil
	}
	return nil, invalid(workflowPath, "The conditions of the nodes lead in a circle: none of them can be entered.")
}

func (w *workflow) first(current string) (*node, string, error) {
	if current == "" {
		n := &w.Nodes[0]
		if w.Start != "" {
			n = w.byID[w.Start]
		}
		return n, "The workflow begins with " + quoted(n.ID) + ".", nil
	}
	n := w.byID[current]
	if n == nil {
		return nil, "", unknownNode("/current_node")
	}
	return w.after(n)
}

// after returns the next node, and why; nil if there is none.
func (w *workflow) after(n *node) (*node, string, error) {
	unmet := false
	for _, e := range w.Edges {
		if e.From != n.ID {
			continue
		}
		holds, which, err := e.When.hold(w.values)
		if err != nil {
			return nil, "", err
		}
		if holds {
			return w.byID[e.To], edgeReason(e, which), nil
		}
		unmet = true
		w.addTrace("The edge from %s to %s is not followed, since %s does not hold.", quoted(e.From), quoted(e.To), which)
	}
	switch {
	case n.Next != "":
		return w.byID[n.Next], quoted(n.Next) + " follows " + quoted(n.ID) + ".", nil
	case unmet:
		return nil, "None of the conditions behind " + quoted(n.ID) + " holds, so nothing follows.", nil
	}
	return nil, "Nothing follows " + quoted(n.ID) + ".", nil
}

func edgeReason(e edge, condition string) string {
	if condition == "" {
		return quoted(e.To) + " follows " + quoted(e.From) + "."
	}
	return quoted(e.To) + " follows " + quoted(e.From) + ", since " + condition + " holds."
}

// enter returns the action of a node.
func (w *workflow) enter(n *node, why string) (*wire.WorkflowIntentResponse, error) {
	out := &wire.WorkflowIntentResponse{NextNode: n.ID, ActionType: n.Type, Reasoning: why, Trace: w.trace}
	switch strings.ToLower(n.Type) {
	case "end", "finish", "terminal":
		out.Finish = true
		return out, nil
	}
	if n.Tool == "" {
		return out, nil
	}
	args, err := fillTemplates(n.Args, w.values)
	if err != nil {
		return nil, err
	}
	out.ActionType, out.ToolName, out.ToolArgs = "tool", n.Tool, args
	return out, nil
}

// maxTrace bounds the trace items of a transition.
const maxTrace = 100

func (w *workflow) addTrace(format string, args ...any) {
	if len(w.trace) < maxTrace {
		w.trace = append(w.trace, wire.TraceItem{Step: "workflow", Detail: fmt.Sprintf(format, args...)})
	}
}

func quoted(id string) string { return "`" + textutil.Shorten(id, 100) + "`" }
