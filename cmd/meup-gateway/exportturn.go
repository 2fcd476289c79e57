package main

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/turns"
)

// turnInfo converts a turn of the HTTP API to the gateway's own type.
func turnInfo(t *api.Turn) (*turns.TurnInfo, error) {
	info := &turns.TurnInfo{
		TurnNumber: t.TurnNumber, MessageID: t.MessageID, From: t.From, UserInput: t.UserInput,
		Response: t.Response, ResponseFrom: t.ResponseFrom, State: t.State,
		StartedAt: turns.Time{Time: t.StartedAt}, CompletedAt: moment(t.CompletedAt), Truncated: t.Truncated,
		ToolCalls: make([]turns.ToolCallInfo, len(t.ToolCalls)),
	}
	for i, c := range t.ToolCalls {
		info.ToolCalls[i] = turns.ToolCallInfo(c)
	}
	for _, r := range t.Responses {
		info.Responses = append(info.Responses, turns.ResponseInfo(r))
	}
	for i := range t.Reasonings {
		r, err := reasoningInfo(&t.Reasonings[i])
		if err != nil {
			return nil, err
		}
		info.Reasonings = append(info.Reasonings, *r)
	}
	if t.Reasoning != nil {
		var err error
		if info.Reasoning, err = reasoningInfo(t.Reasoning); err != nil {
			return nil, err
		}
	}
	return info, nil
}

func reasoningInfo(r *api.Reasoning) (*turns.TurnReasoningInfo, error) {
	session, err := uuid.Parse(r.SessionID)
	if err != nil {
		return nil, fmt.Errorf("session of turn %d: %w", r.TurnNumber, err)
	}
	info := &turns.TurnReasoningInfo{
		SessionID: session, ThreadID: r.ThreadID, TurnNumber: r.TurnNumber, Agent: r.Agent,
		StartedAt: turns.Time{Time: r.StartedAt}, CompletedAt: moment(r.CompletedAt), Narrative: r.Narrative,
		ToolDecisions: make([]turns.ToolDecisionInfo, len(r.ToolDecisions)),
	}
	for i := range r.ToolDecisions {
		info.ToolDecisions[i] = decisionInfo(&r.ToolDecisions[i])
	}
	return info, nil
}

func decisionInfo(d *api.Decision) turns.ToolDecisionInfo {
	info := turns.ToolDecisionInfo{
		ToolName: d.ToolName, Rationale: d.Rationale, Parameters: d.Parameters, Outcome: d.Outcome,
		ParallelGroup: d.ParallelGroup, CallID: d.CallID, StartedAt: turns.Time{Time: d.StartedAt},
		DurationMS: d.DurationMS, ResultBytes: d.ResultBytes, ParameterBytes: d.ParameterBytes,
		Context: d.Context, DecidedBy: d.DecidedBy, AnsweredBy: d.AnsweredBy, FulfilledWith: d.FulfilledWith,
	}
	if string(d.Parameters) == "null" { // too long to be kept
		info.Parameters = nil
	}
	return info
}

func moment(t *time.Time) *turns.Time {
	if t == nil {
		return nil
	}
	return &turns.Time{Time: *t}
}
