package reasoner

import (
	"net/http"
	"runtime"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

func (h *handler) health(*http.Request, []byte) (int, any, error) {
	return http.StatusOK, map[string]string{"status": "ok"}, nil
}

func (h *handler) version(*http.Request, []byte) (int, any, error) {
	return http.StatusOK, map[string]string{"version": h.o.Version, "api": wire.Version, "go": runtime.Version()}, nil
}

func (h *handler) agentIntent(r *http.Request, raw []byte) (int, any, error) {
	req, err := DecodeAgentIntent(raw)
	if err != nil {
		return 0, nil, err
	}
	out, err := h.o.Service.Decide(r.Context(), req)
	return http.StatusOK, out, err
}

// agentIntentAsync accepts with 202. Published clients of the API accept any
// 2xx.
func (h *handler) agentIntentAsync(r *http.Request, raw []byte) (int, any, error) {
	req, err := DecodeAgentIntent(raw)
	if err != nil {
		return 0, nil, err
	}
	if h.o.Jobs == nil || h.o.CheckCallback == nil {
		return 0, nil, &Fault{Status: http.StatusBadRequest, Code: CodeCallback, Message: "This service posts no results: use /agent_intent."}
	}
	if err := h.o.CheckCallback(r.Context(), req.CallbackURL); err != nil {
		return 0, nil, err
	}
	if _, err := newQuestion(req); err != nil { // reject an invalid request now instead of in its callback
		return 0, nil, err
	}
	id, err := h.o.Jobs.Submit(r.Context(), req)
	return http.StatusAccepted, wire.Accepted{Status: "accepted", JobID: id}, err
}

func (h *handler) agentIntentCancel(r *http.Request, raw []byte) (int, any, error) {
	req, err := DecodeCancel(raw)
	if err != nil {
		return 0, nil, err
	}
	found := false
	if h.o.Jobs != nil {
		if found, err = h.o.Jobs.Cancel(r.Context(), req.CorrelationID); err != nil {
			return 0, nil, err
		}
	}
	if !found {
		return http.StatusOK, wire.CancelResponse{Error: "No job of that correlation_id is queued or running."}, nil
	}
	return http.StatusOK, wire.CancelResponse{OK: true}, nil
}

func (h *handler) workflowIntent(r *http.Request, raw []byte) (int, any, error) {
	req, err := DecodeWorkflow(raw)
	if err != nil {
		return 0, nil, err
	}
	out, err := h.o.Service.Workflow(r.Context(), req)
	return http.StatusOK, out, err
}
