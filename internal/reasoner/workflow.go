package reasoner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// nextNode returns the next node of a workflow that a request contains, and its action,
// without an id and a duration. It stores nothing. Conditions decide; a model only where a
// node allows it. The request must be one that DecodeWorkflow accepts. choose may
// be nil: there is no model. The error is a *Fault, or wraps ctx's.
//
// params.workflow contains the workflow: nodes, and edges between them.
//
//   - current_node is the node that was completed last; empty to begin at `start`, or
//     at the first node.
//   - nextNode follows the first outgoing edge whose `when` holds, or else the node's
//     own `next`.
//   - If the node has `decide: model` and no condition of its edges holds, choose
//     chooses one of the edges without a condition.
//   - It skips a node whose own `when` does not hold, in the same way.
//   - If no node follows, or one of type end does, the response finishes.
//   - For a node with a tool the response has action_type "tool", the tool's name and
//     args, with {{params.x}}, {{outputs.node.x}} and {{memory.x}} substituted; for any
//     other node the action_type is the node's type.
//
// Without a workflow, params.next names the next node; without either there is
// no next node.
func nextNode(ctx context.Context, r *wire.WorkflowIntentRequest, choose workflowChooser) (*wire.WorkflowIntentResponse, error) {
	var params map[string]json.RawMessage
	_ = json.Unmarshal(r.Params, &params) // absent: no parameters
	if raw := params["workflow"]; len(raw) > 0 && !isNull(raw) {
		w, err := parse(raw)
		if err != nil {
			return nil, err
		}
		given := make(map[string]any, len(params))
		for name, raw := range params {
			if name != "workflow" {
				given[name] = decoded(raw)
			}
		}
		w.values = &values{all: map[string]any{"params": given, "outputs": decoded(r.Outputs), "memory": decoded(r.MemoryState)}}
		w.choose = choose
		if choose == nil {
			w.choose = func(context.Context, workflowChoice) (workflowChosen, error) {
				return workflowChosen{}, errNoWorkflowModel
			}
		}
		return w.follow(ctx, r.CurrentNode)
	}
	var next string
	_ = json.Unmarshal(params["next"], &next) // absent: no next node
	next = strings.TrimSpace(next)
	if next != "" {
		return &wire.WorkflowIntentResponse{NextNode: next, Reasoning: "params.next names the next node."}, nil
	}
	return &wire.WorkflowIntentResponse{
		Finish:    true,
		Reasoning: "The request has neither a workflow in params.workflow nor a node in params.next, so nothing follows.",
	}, nil
}

type node struct {
	id, kind, tool, next string
	description, decide  string
	args                 json.RawMessage
	when                 conditions
}

type edge struct {
	from, to, description string
	when                  conditions
}

type workflow struct {
	start  string
	nodes  []node // at least one
	edges  []edge
	byID   map[string]*node
	values *values
	trace  []wire.TraceItem

	choose  workflowChooser
	choices int
}

// definitionPath is the JSON pointer of a workflow in its request.
const definitionPath = "/params/workflow"

// parse decodes a workflow. It rejects references to nodes that do not exist.
func parse(raw json.RawMessage) (*workflow, error) {
	w := &workflow{byID: make(map[string]*node)}
	var nodes, edges []json.RawMessage
	if err := assign(definitionPath, raw, Fields{{"start", &w.start}, {"nodes", &nodes}, {"edges", &edges}}); err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, Invalid(definitionPath+"/nodes", "The workflow has no nodes: add one.")
	}
	w.nodes, w.edges = make([]node, len(nodes)), make([]edge, len(edges))
	for i, raw := range nodes {
		n, path := &w.nodes[i], fmt.Sprintf("%s/nodes/%d", definitionPath, i)
		if err := assign(path, raw, Fields{
			{"id", &n.id}, {"type", &n.kind}, {"tool", &n.tool}, {"args", &n.args}, {"next", &n.next}, {"when", &n.when},
			{"description", &n.description}, {"decide", &n.decide},
		}); err != nil {
			return nil, err
		}
		if w.byID[n.id] != nil {
			return nil, Invalid(path+"/id", "Two nodes have the same id: give each its own.")
		}
		w.byID[n.id] = n
	}
	for i, raw := range edges {
		e := &w.edges[i]
		if err := assign(fmt.Sprintf("%s/edges/%d", definitionPath, i), raw, Fields{
			{"from", &e.from}, {"to", &e.to}, {"when", &e.when}, {"description", &e.description},
		}); err != nil {
			return nil, err
		}
	}
	for i, n := range w.nodes {
		if n.next != "" && w.byID[n.next] == nil {
			return nil, unknownNode(fmt.Sprintf("%s/nodes/%d/next", definitionPath, i))
		}
	}
	for i, e := range w.edges {
		if w.byID[e.from] == nil {
			return nil, unknownNode(fmt.Sprintf("%s/edges/%d/from", definitionPath, i))
		}
		if w.byID[e.to] == nil {
			return nil, unknownNode(fmt.Sprintf("%s/edges/%d/to", definitionPath, i))
		}
	}
	if w.start != "" && w.byID[w.start] == nil {
		return nil, unknownNode(definitionPath + "/start")
	}
	return w, nil
}

func unknownNode(path string) error {
	return &Fault{
		Status: http.StatusBadRequest, Code: CodeUnknownNode, Path: path,
		Message: "The workflow has no node of the name at " + path + ": name one of its nodes.",
	}
}

// follow finds the next node to enter after the node that was completed last.
func (w *workflow) follow(ctx context.Context, current string) (*wire.WorkflowIntentResponse, error) {
	next, why, err := w.first(ctx, current)
	// Each iteration skips one node. There are at most as many as there are
	// nodes, unless they form a cycle.
	for range len(w.nodes) + 1 {
		if err != nil {
			return nil, err
		}
		if next == nil {
			return &wire.WorkflowIntentResponse{Finish: true, Reasoning: why, Trace: w.trace}, nil
		}
		enter, unmet, err := next.when.hold(w.values)
		if err != nil {
			return nil, err
		}
		if enter {
			return w.enter(next, why)
		}
		w.addTrace("%s is skipped, since %s does not hold.", quoted(next.id), unmet)
		next, why, err = w.after(ctx, next)
		if err != nil {
			return nil, err
		}
	}
	return nil, Invalid(definitionPath, "The nodes form a circle in which no condition holds: let one of them hold.")
}

func (w *workflow) first(ctx context.Context, current string) (*node, string, error) {
	if current == "" {
		n := &w.nodes[0]
		if w.start != "" {
			n = w.byID[w.start]
		}
		return n, "The workflow begins with " + quoted(n.id) + ".", nil
	}
	n := w.byID[current]
	if n == nil {
		return nil, "", unknownNode("/current_node")
	}
	return w.after(ctx, n)
}

// after returns the next node, and why; nil if there is none.
func (w *workflow) after(ctx context.Context, n *node) (*node, string, error) {
	if n.decide == byModel {
		return w.branch(ctx, n)
	}
	next, why, unmet, err := w.firstEdge(n, false)
	if next != nil || err != nil {
		return next, why, err
	}
	return w.ownNext(n, unmet)
}

// firstEdge returns the target of the first edge of a node whose condition
// holds, and why; nil if there is none. unmet reports that a condition did not
// hold. conditional skips the edges without a condition.
func (w *workflow) firstEdge(n *node, conditional bool) (next *node, why string, unmet bool, err error) {
	for _, e := range w.edges {
		if e.from != n.id || conditional && len(e.when) == 0 {
			continue
		}
		holds, which, err := e.when.hold(w.values)
		switch {
		case err != nil:
			return nil, "", unmet, err
		case holds && which == "":
			return w.byID[e.to], quoted(e.to) + " follows " + quoted(e.from) + ".", unmet, nil
		case holds:
			return w.byID[e.to], quoted(e.to) + " follows " + quoted(e.from) + ", since " + which + " holds.", unmet, nil
		}
		unmet = true
		w.notFollowed(&e, which)
	}
	return nil, "", unmet, nil
}

// ownNext returns the next of a node itself, since none of its edges is
// followed. unmet reports that a condition did not hold.
func (w *workflow) ownNext(n *node, unmet bool) (*node, string, error) {
	switch {
	case n.next != "":
		return w.byID[n.next], quoted(n.next) + " follows " + quoted(n.id) + ".", nil
	case unmet:
		return nil, "None of the conditions after " + quoted(n.id) + " holds, so nothing follows.", nil
	}
	return nil, "Nothing follows " + quoted(n.id) + ".", nil
}

// enter returns the action of a node.
func (w *workflow) enter(n *node, why string) (*wire.WorkflowIntentResponse, error) {
	out := &wire.WorkflowIntentResponse{NextNode: n.id, ActionType: n.kind, Reasoning: why, Trace: w.trace}
	switch strings.ToLower(n.kind) {
	case "end", "finish", "terminal":
		out.Finish = true
		return out, nil
	}
	if n.tool == "" {
		return out, nil
	}
	out.ActionType, out.ToolName, out.ToolArgs = "tool", n.tool, json.RawMessage("{}")
	if len(n.args) == 0 || isNull(n.args) {
		return out, nil
	}
	f := filler{values: w.values, remaining: maxFilled}
	filled := f.fill(decoded(n.args))
	if f.fault != nil {
		return nil, f.fault
	}
	args, err := json.Marshal(filled)
	if err != nil {
		return nil, err // its parts came from JSON
	}
	out.ToolArgs = args
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

// byModel is the value of a node's `decide` with which a model chooses among
// the edges without a condition.
const byModel = "model"

// Bounds of the choices of a model.
const (
	maxOptions = 64 // of one branch
	maxChoices = 3  // of one transition, which may skip nodes
)

// workflowChoice is a branch that no condition decides.
type workflowChoice struct {
	Node    string           // the node that was completed
	Options []workflowOption // at least two, each with another ID
}

// workflowOption is a node that may be entered next.
type workflowOption struct {
	ID          string
	Description string // of the edge and the node; may be empty
	Tool        string // that the node calls; may be empty
}

// workflowChosen is the choice of a model.
type workflowChosen struct {
	Index  int // of Choice.Options
	Reason string
	Trace  []wire.TraceItem
}

// workflowChooser lets a model choose. The texts of its errors are shown to the sender
// of the request. An *Fault rejects the request; after other errors the
// node's own next is followed.
type workflowChooser func(ctx context.Context, c workflowChoice) (workflowChosen, error)

// errNoWorkflowModel: there is no model that could choose.
var errNoWorkflowModel = errors.New("there is no model")

// branch returns the next node after one with `decide: model`: by the first
// edge whose condition holds; else the model's choice among the edges without a
// condition; else the node's own next.
func (w *workflow) branch(ctx context.Context, n *node) (*node, string, error) {
	options, decided, why, err := w.options(n)
	switch {
	case err != nil || decided != nil:
		return decided, why, err
	case len(options) == 0:
		return w.ownNext(n, len(w.trace) > 0)
	case len(options) == 1:
		return w.byID[options[0].ID], quoted(options[0].ID) + " follows " + quoted(n.id) + ".", nil
	case len(options) > maxOptions:
		return nil, "", Invalid(definitionPath+"/edges", fmt.Sprintf("More than %d nodes can follow %s: a model chooses among at most that many.", maxOptions, quoted(n.id)))
	}
	w.choices++
	if w.choices > maxChoices {
		return nil, "", Invalid(definitionPath, fmt.Sprintf("There are more than %d choices between this node and the next: remove some.", maxChoices))
	}
	chosen, err := w.choose(ctx, workflowChoice{Node: n.id, Options: options})
	if err != nil {
		return w.undecided(ctx, n, err)
	}
	w.trace = append(w.trace, chosen.Trace...)
	to := options[chosen.Index].ID
	return w.byID[to], "The model chose " + quoted(to) + " after " + quoted(n.id) + ": " + chosen.Reason, nil
}

// options evaluates the edges of a node. It returns the target of the first
// condition that holds, or else the targets that no condition excludes.
func (w *workflow) options(n *node) (options []workflowOption, decided *node, why string, err error) {
	decided, why, _, err = w.firstEdge(n, true)
	if decided != nil || err != nil {
		return nil, decided, why, err
	}
	for _, e := range w.edges {
		if e.from != n.id || len(e.when) > 0 || slices.ContainsFunc(options, func(o workflowOption) bool { return o.ID == e.to }) {
			continue
		}
		to := w.byID[e.to]
		holds, which, err := to.when.hold(w.values)
		if err != nil {
			return nil, nil, "", err
		}
		if !holds {
			w.notFollowed(&e, which)
			continue
		}
		o := workflowOption{ID: to.id, Description: e.description, Tool: to.tool}
		if to.description != "" && to.description != e.description {
			o.Description += " " + to.description
		}
		options = append(options, o)
	}
	return options, nil, "", nil
}

// undecided returns the node's own next, because the model did not choose. If
// there is none, the request fails: to guess could have any consequence.
func (w *workflow) undecided(ctx context.Context, n *node, fault error) (*node, string, error) {
	var invalid *Fault // of a field that configures the choice
	switch {
	case ctx.Err() != nil:
		return nil, "", fmt.Errorf("choose the next node: %w", ctx.Err())
	case errors.As(fault, &invalid):
		return nil, "", invalid
	case n.next != "":
		w.trace = append(w.trace, wire.TraceItem{Step: "fallback", Detail: "No model chose the node after " + quoted(n.id) + ": " + fault.Error() + "."})
		return w.byID[n.next], quoted(n.next) + " follows " + quoted(n.id) + ", since no model chose.", nil
	case errors.Is(fault, errNoWorkflowModel):
		return nil, "", &Fault{
			Status: http.StatusUnprocessableEntity, Code: CodeUndecided, Path: definitionPath,
			Message: "A model has to choose the node after " + quoted(n.id) + ", but " + fault.Error() + ": name one in llm or with --model, give its edges conditions, or give it a next.",
		}
	}
	return nil, "", &Fault{
		Status: http.StatusServiceUnavailable, Code: CodeUndecided, Path: definitionPath,
		Message: "No model chose the node after " + quoted(n.id) + ": " + fault.Error() + ". Try again, or give the node a next.",
	}
}

func (w *workflow) notFollowed(e *edge, which string) {
	w.addTrace("The edge from %s to %s is not followed, since %s does not hold.", quoted(e.from), quoted(e.to), which)
}
