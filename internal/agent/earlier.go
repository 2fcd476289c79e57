package agent

import (
	"github.com/meup-protocol/meup/internal/agent/catchup"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/toolbox"
	"github.com/meup-protocol/meup/protocol"
)

// earlierThought is the thought of the record that holds the calls of earlier
// attempts.
const earlierThought = "I was restarted while I worked on this question. Before that, these calls were made."

// earlierRecord returns the calls of earlier attempts as a finished step, so
// that the planner does not repeat a call that may have changed something
// without noticing.
func (a *Agent) earlierRecord(calls []catchup.Call, box *toolbox.Box) contextwindow.Record {
	r := contextwindow.Record{Action: contextwindow.UseTools, Thought: earlierThought}
	for _, c := range calls {
		owner := c.Host
		if owner == a.you {
			owner = ""
		}
		name := box.NameOf(toolbox.Tool{Owner: owner, Name: c.Tool})
		r.Calls = append(r.Calls, contextwindow.Call{Tool: name, Arguments: c.Arguments})
		res := c.Result
		res.Tool = name
		r.Results = append(r.Results, res)
	}
	return r
}

func requestsOf(calls []catchup.Call) []protocol.ID {
	var ids []protocol.ID
	for _, c := range calls {
		ids = append(ids, c.Request)
	}
	return ids
}
