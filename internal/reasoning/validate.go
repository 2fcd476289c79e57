package reasoning

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/meup-protocol/meup/internal/llm"
)

// MarshalJSON writes empty lists for lists that are nil; the time is that of
// RFC 3339.
func (r Record) MarshalJSON() ([]byte, error) {
	type plain Record // without this method
	if r.Calls == nil {
		r.Calls = []Call{}
	}
	if r.Results == nil {
		r.Results = []Result{}
	}
	return json.Marshal(plain(r))
}

// Validate reports all that is wrong with a finished step; nil if nothing is.
// A step that was stopped on its way may have fewer results than calls.
func (r *Record) Validate() error {
	return errors.Join(r.validateStep(), r.validateCalls(), r.validateResults(), r.validateTurn())
}

func (r *Record) validateStep() error {
	var errs []error
	if r.Index < 0 {
		errs = append(errs, fmt.Errorf("step_index is %d: steps count from 0", r.Index))
	}
	switch {
	case r.Action != UseTools && r.Action != Finish:
		errs = append(errs, fmt.Errorf("next_action %q is neither %s nor %s", r.Action, UseTools, Finish))
	case r.Action == Finish && len(r.Calls) > 0:
		errs = append(errs, fmt.Errorf("next_action is %s, and there are %s", Finish, counted(len(r.Calls), "call")))
	case r.Action == UseTools && len(r.Calls) == 0:
		errs = append(errs, fmt.Errorf("next_action is %s, and there is no call", UseTools))
	}
	if r.Concurrent && len(r.Calls) < 2 {
		errs = append(errs, errors.New("concurrent_execution wants two calls at least"))
	}
	if r.Time.IsZero() {
		errs = append(errs, errors.New("timestamp is missing"))
	}
	return errors.Join(errs...)
}

func (r *Record) validateCalls() error {
	var errs []error
	ids := map[string]bool{}
	for i, c := range r.Calls {
		if c.Tool == "" {
			errs = append(errs, fmt.Errorf("tool_predictions %d: tool_name is missing", i))
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(c.Arguments, &object); err != nil || object == nil {
			errs = append(errs, fmt.Errorf("tool_predictions %d: arguments are no JSON object", i))
		}
		if c.ID != "" && ids[c.ID] {
			errs = append(errs, fmt.Errorf("tool_predictions %d: call_id %q is there twice", i, c.ID))
		}
		ids[c.ID] = true
	}
	return errors.Join(errs...)
}

func (r *Record) validateResults() error {
	var errs []error
	if len(r.Results) > len(r.Calls) {
		errs = append(errs, fmt.Errorf("%s for %s", counted(len(r.Results), "result"), counted(len(r.Calls), "call")))
	}
	for i := range r.Results {
		if i < len(r.Calls) && r.Results[i].Tool != r.Calls[i].Tool {
			errs = append(errs, fmt.Errorf("tool_results %d: is of %q, the call of %q", i, r.Results[i].Tool, r.Calls[i].Tool))
		}
		if err := r.Results[i].validate(); err != nil {
			errs = append(errs, fmt.Errorf("tool_results %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func (r *Result) validate() error {
	switch r.Outcome {
	case "", Success, Failure, Refused, Fulfilled, Rejected, Withdrawn, Expired:
	default:
		return fmt.Errorf("outcome %q is unknown", r.Outcome)
	}
	switch {
	case r.OK() != r.Success:
		return fmt.Errorf("outcome %q, and success is %t", r.Outcome, r.Success)
	case r.Success && r.Error != "":
		return errors.New("error of a success")
	case !r.Success && r.Error == "":
		return errors.New("error is missing")
	case r.Elapsed < 0:
		return errors.New("duration_ns is negative")
	}
	return nil
}

// validateTurn: what the model said is an assistant's message.
func (r *Record) validateTurn() error {
	if r.Turn != nil && r.Turn.Role != llm.Assistant {
		return fmt.Errorf("the turn's role is %q, not %s", r.Turn.Role, llm.Assistant)
	}
	return nil
}
