package planner

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

// stepsOf returns records of steps such as "read a = x | write b ! failed":
// calls separated by |, with their results after = or their errors after !.
func stepsOf(steps ...string) []contextwindow.Record {
	var list []contextwindow.Record
	for i, step := range steps {
		r := contextwindow.Record{Index: i, Action: contextwindow.UseTools}
		for text := range strings.SplitSeq(step, " | ") {
			what, result, ok := strings.Cut(text, " = ")
			res := contextwindow.Result{Success: ok, Text: result}
			if !ok {
				what, res.Error, _ = strings.Cut(text, " ! ")
			}
			r.Calls = append(r.Calls, callNamed(what))
			r.Results = append(r.Results, res)
		}
		list = append(list, r)
	}
	return list
}

func callNamed(what string) contextwindow.Call {
	tool, argument, _ := strings.Cut(what, " ")
	return contextwindow.Call{Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"path":%q}`, argument))}
}

func TestState_Repeats(t *testing.T) {
	tests := []struct {
		name  string
		steps []string
		call  string
		want  bool
	}{
		{"never called", nil, "read a", false},
		{"other arguments", []string{"read b = x"}, "read a", false},
		{"just succeeded", []string{"read a = x"}, "read a", true},
		{"just succeeded beside another", []string{"read a = x | read b = y"}, "read a", true},
		{"written since", []string{"read a = x", "write a = ok"}, "read a", false},
		{"failed", []string{"read a ! timeout"}, "read a", false},
		{"failed after a success", []string{"read a = x", "write a = ok", "read a ! timeout"}, "read a", false},
		{"failed three times alike", []string{"read a ! no", "read a ! no", "read a ! no"}, "read a", true},
		{"fails differently", []string{"read a ! one", "read a ! two", "read a ! three"}, "read a", false},
		{"loop of two", []string{"read a = x", "read b = y", "read a = x", "read b = y", "read a = x", "read b = y"}, "read a", true},
		{"polling for a change", []string{"read a = 1", "read b = y", "read a = 2", "read b = y", "read a = 3", "read b = y"}, "read a", false},
		{"long ago", append([]string{"read a = x", "read a ! no", "read a = x"}, strings.Split(strings.Repeat("read b = y,", loopWindow)+"read c = z", ",")...), "read a", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := State{Steps: stepsOf(test.steps...)}
			if got := s.repeats(callNamed(test.call)); got != test.want {
				t.Errorf("repeats = %v", got)
			}
		})
	}
}
