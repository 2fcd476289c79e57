package intake

import (
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/protocol"
)

// earlierThought is the thought of the record that holds the calls of earlier
// attempts.
const earlierThought = "I was restarted while I worked on this question. Before that, these calls were made."

// CallRecord returns the calls of earlier attempts as a finished step, so that the
// planner does not repeat a call that may have changed something without
// noticing. name returns the planner's name of a tool.
func CallRecord(calls []AbandonedCall, name func(host protocol.ParticipantID, tool string) string) contextwindow.Record {
	r := contextwindow.Record{Action: contextwindow.UseTools, Thought: earlierThought}
	for _, c := range calls {
		tool := name(c.Host, c.Tool)
		r.Calls = append(r.Calls, contextwindow.Call{Tool: tool, Arguments: c.Arguments})
		res := c.Result
		res.Tool = tool
		r.Results = append(r.Results, res)
	}
	return r
}

// RequestIDs returns the ids of the requests of calls.
func RequestIDs(calls []AbandonedCall) []protocol.ID {
	var ids []protocol.ID
	for _, c := range calls {
		ids = append(ids, c.Request)
	}
	return ids
}
