package reasoner

import (
	"net/http"
	"slices"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// validate checks a response against the offered tools.
func (o *Options) validate(req *wire.AgentIntentRequest, resp *wire.AgentIntentResponse) (*wire.AgentIntentResponse, error) {
	if resp.Status == wire.StatusError {
		return nil, &APIError{Status: http.StatusOK, Code: resp.Error, Message: resp.Message}
	}
	offered := o.Tools
	if len(req.Tools) > 0 {
		offered = make([]string, 0, len(req.Tools))
		for _, t := range req.Tools {
			offered = append(offered, t.Name)
		}
	}
	if resp.ToolName != "" && len(offered) > 0 && !slices.Contains(offered, resp.ToolName) {
		return nil, &ValidationError{Tool: resp.ToolName, Offered: offered}
	}
	return resp, nil
}
