package reasoner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

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
// of the request. An *reasoner.Fault rejects the request; after other errors the
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
