package reasoner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// enterNode is the tool by which a model chooses the next node of a workflow.
const enterNode = "enter_node"

// chooser returns the Chooser of a request. It stores the latest decision of
// the model in d.
func (s *Service) chooser(r *wire.WorkflowIntentRequest, d *planner.Decision) workflowChooser {
	return func(ctx context.Context, c workflowChoice) (workflowChosen, error) {
		model, err := s.model(r.LLM)
		switch {
		case err != nil:
			return workflowChosen{}, fmt.Errorf("%w that can be used (%s)", errNoWorkflowModel, MaskKey(err.Error(), r.LLM))
		case model == nil:
			return workflowChosen{}, errNoWorkflowModel
		}
		ask, err := choiceRequest(r, c)
		if err != nil {
			return workflowChosen{}, err
		}
		q, err := newQuestion(ask)
		if err != nil {
			return workflowChosen{}, err
		}
		summarize, err := s.summarizer(ask)
		if err != nil {
			return workflowChosen{}, err
		}
		*d, err = s.decider(ask, model, summarize).Next(ctx, q.state)
		if err != nil {
			d.Fault = err
			name := modelName(model.Provider(), model.Name())
			s.logFallback(ctx, name, ask, err)
			return workflowChosen{}, errors.New(name + " " + strings.TrimSuffix(reason(err), "."))
		}
		d.Source = planner.ByModel // the service forced the tool, not its client
		return chosen(c, d)
	}
}

// chosen converts the decision of a model. The planner has validated the
// arguments against the schema of enterNode.
func chosen(c workflowChoice, d *planner.Decision) (workflowChosen, error) {
	var args struct{ Node string }
	if len(d.Calls) == 0 || json.Unmarshal(d.Calls[0].Arguments, &args) != nil {
		return workflowChosen{}, errors.New("it chose no node")
	}
	i := slices.IndexFunc(c.Options, func(o workflowOption) bool { return o.ID == args.Node })
	if i < 0 {
		return workflowChosen{}, errors.New("it chose a node that does not follow")
	}
	return workflowChosen{Index: i, Reason: sentences(d.Thought, d.Calls[0].Reason), Trace: traceOf(*d)}, nil
}

// choiceRequest returns the choice as a request for an agent's next action: the
// outputs of the nodes are the history, in the order of their ids, and the only tool enters a node.
func choiceRequest(r *wire.WorkflowIntentRequest, c workflowChoice) (*wire.AgentIntentRequest, error) {
	ids := make([]string, len(c.Options))
	var goal strings.Builder
	fmt.Fprintf(&goal, "The workflow %q has completed its node %q. Choose the node to enter next, by calling %s. The nodes are:\n", r.WorkflowName, c.Node, enterNode)
	for i, o := range c.Options {
		ids[i] = o.ID
		fmt.Fprintf(&goal, "- %q", o.ID)
		o.Description = strings.TrimSpace(o.Description)
		if o.Description != "" {
			goal.WriteString(": " + textutil.Shorten(o.Description, maxQuery/4))
		}
		if o.Tool != "" {
			fmt.Fprintf(&goal, " (calls the tool %s)", o.Tool)
		}
		goal.WriteString("\n")
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"node"},
		"properties": map[string]any{"node": map[string]any{"type": "string", "enum": ids, "description": "the node to enter"}},
	})
	if err != nil {
		return nil, err
	}
	outputs := object(r.Outputs)
	var history []wire.HistoryItem
	for _, id := range slices.Sorted(maps.Keys(outputs)) {
		item, err := json.Marshal(map[string]any{"tool_name": id, "result": outputs[id]})
		if err != nil {
			return nil, err
		}
		history = append(history, item)
	}
	instructions := ""
	params := object(r.Params)
	delete(params, "workflow")
	if len(params) > 0 {
		text, err := json.Marshal(params)
		if err != nil {
			return nil, err
		}
		instructions = "The parameters of the run are: " + string(text)
	}
	return &wire.AgentIntentRequest{
		SessionID: r.RunID, GoalText: goal.String(), LLM: r.LLM, MemoryState: r.MemoryState, History: history,
		Instructions: instructions, ForcedTool: enterNode,
		ContextTokens: r.ContextTokens, ContextUtilization: r.ContextUtilization, SummarizationModel: r.SummarizationModel,
		Tools: []wire.Tool{{Name: enterNode, Description: "Enters a node of the workflow.", InputSchema: schema}},
	}, nil
}
