package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

const maxOutputs = 1000 // items of one answer

// The types of output items that are read; others are ignored.
const (
	itemMessage   = "message"
	itemCall      = "function_call"
	itemReasoning = "reasoning"
)

// responsesEvent is an event of a stream, of any type.
type responsesEvent struct {
	Type         str             `json:"type"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        str             `json:"delta"`
	Arguments    str             `json:"arguments"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
}

// responseObject is a response: the last event's, or the answer of a server that
// does not stream.
type responseObject struct {
	ID         str               `json:"id"`
	Model      str               `json:"model"`
	Status     str               `json:"status"`
	Error      json.RawMessage   `json:"error"`
	Usage      json.RawMessage   `json:"usage"`
	Output     []json.RawMessage `json:"output"`
	Incomplete struct {
		Reason str `json:"reason"`
	} `json:"incomplete_details"`
}

// outputItem is an item of an answer.
type outputItem struct {
	Type             str        `json:"type"`
	ID               str        `json:"id"`
	CallID           str        `json:"call_id"`
	Name             str        `json:"name"`
	Arguments        str        `json:"arguments"`
	Phase            str        `json:"phase"`
	EncryptedContent str        `json:"encrypted_content"`
	Content          []itemPart `json:"content"`
	Summary          []itemPart `json:"summary"`
}

type itemPart struct {
	Type    str `json:"type"`
	Text    str `json:"text"`
	Refusal str `json:"refusal"`
}

// output is an item under construction.
type output struct {
	item      outputItem
	raw       json.RawMessage // the complete item, nil until it is done
	arguments strings.Builder
	streamed  bool // text or thinking of it has arrived in pieces
	refused   bool
}

// fields returns the complete item without its null fields, or nil.
func (o *output) fields() map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if o.raw == nil || json.Unmarshal(o.raw, &fields) != nil {
		return nil
	}
	for name, value := range fields {
		if !some(value) {
			delete(fields, name)
		}
	}
	return fields
}

// responsesAnswer assembles an answer of the Responses API. Deltas are passed on
// as they arrive; the complete items and the last event are authoritative for
// all else.
type responsesAnswer struct {
	model *Model
	pieces

	id, name string
	status   string
	reason   string // why the answer is incomplete
	usage    llm.Usage
	outputs  []*output
	byIndex  map[int]*output // the latest item at each index
	lastPart map[llm.DeltaKind]part
}

// part identifies a paragraph: an item, and a part of its summary.
type part struct {
	output *output
	index  int
}

func newResponsesAnswer(m *Model, emit func(llm.Delta)) *responsesAnswer {
	return &responsesAnswer{
		model: m, pieces: pieces{emit: emit},
		byIndex: make(map[int]*output), lastPart: make(map[llm.DeltaKind]part),
	}
}

// Event applies one event. Events of unknown types are ignored.
func (a *responsesAnswer) Event(ev llm.ServerEvent) (last bool, err error) {
	var e responsesEvent
	if bytes.Equal(bytes.TrimSpace(ev.Data), doneMark) { // some servers send it after the last event
		return false, fmt.Errorf("no response.completed: %w", llm.ErrTruncated)
	}
	if err := json.Unmarshal(ev.Data, &e); err != nil {
		return false, err
	}
	if e.Type == "" {
		e.Type = str(ev.Name)
	}
	switch e.Type {
	case "error":
		return false, a.model.refusal(ev.Data)
	case "response.created":
		return false, a.object(e.Response)
	case "response.completed", "response.incomplete", "response.failed":
		if err := a.object(e.Response); err != nil {
			return false, err
		}
		a.status = strings.TrimPrefix(string(e.Type), "response.")
		return true, a.ended()
	case "response.output_item.added":
		_, err := a.open(e.OutputIndex, e.Item)
		return false, err
	case "response.output_item.done":
		return false, a.finishItem(e.OutputIndex, e.Item)
	}
	return false, a.delta(&e)
}

// delta applies a piece of an item.
func (a *responsesAnswer) delta(e *responsesEvent) error {
	kind, thinking := itemMessage, false
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		kind, thinking = itemReasoning, true
	case "response.function_call_arguments.delta", "response.function_call_arguments.done":
		kind = itemCall
	default:
		return nil
	}
	o, err := a.at(e.OutputIndex)
	if err != nil {
		return err
	}
	if o.item.Type == "" {
		o.item.Type = str(kind)
		if kind == itemCall {
			a.beginCall()
		}
	}
	switch {
	case kind == itemCall && e.Arguments != "":
		o.item.Arguments = e.Arguments
	case kind == itemCall:
		o.arguments.WriteString(string(e.Delta))
	case thinking:
		o.streamed = true
		a.paragraph(llm.ThinkingDelta, part{o, e.SummaryIndex}, string(e.Delta))
	default:
		o.streamed = true
		o.refused = o.refused || e.Type == "response.refusal.delta"
		a.paragraph(llm.TextDelta, part{output: o}, string(e.Delta))
	}
	return nil
}

// paragraph adds a piece of text or thinking. A new item, or a new part of a
// summary, begins a paragraph.
func (a *responsesAnswer) paragraph(kind llm.DeltaKind, p part, s string) {
	if s == "" {
		return
	}
	if last, begun := a.lastPart[kind]; begun && last != p {
		s = "\n\n" + s
	}
	a.lastPart[kind] = p
	if kind == llm.TextDelta {
		a.addText(s)
		return
	}
	a.addThinking(s)
}

// at returns the item at an index. Some servers do not announce items.
func (a *responsesAnswer) at(index int) (*output, error) {
	if o := a.byIndex[index]; o != nil {
		return o, nil
	}
	return a.open(index, nil)
}

// open begins an item. An item that is announced again continues; another item
// at the same index is a new one, since some servers number all items 0.
func (a *responsesAnswer) open(index int, raw json.RawMessage) (*output, error) {
	o := &output{}
	if some(raw) {
		if err := json.Unmarshal(raw, &o.item); err != nil {
			return nil, err
		}
	}
	if known := a.byIndex[index]; known != nil && known.raw == nil && known.item.Type == o.item.Type && known.item.ID == o.item.ID {
		return known, nil
	}
	if len(a.outputs) >= maxOutputs {
		return nil, fmt.Errorf("more than %d items", maxOutputs)
	}
	o.item.Arguments = "" // they follow
	a.outputs = append(a.outputs, o)
	a.byIndex[index] = o
	if o.item.Type == itemCall {
		a.beginCall()
	}
	return o, nil
}

// finishItem applies the complete item at an index.
func (a *responsesAnswer) finishItem(index int, raw json.RawMessage) error {
	var item outputItem
	if err := json.Unmarshal(raw, &item); err != nil {
		return err
	}
	o := a.byIndex[index]
	switch {
	case o != nil && o.raw != nil && o.item.ID == item.ID && item.ID != "":
		return nil // a repetition
	case o == nil || o.raw != nil || o.item.Type != item.Type && o.item.Type != "":
		delete(a.byIndex, index)
		var err error
		o, err = a.open(index, nil)
		if err != nil {
			return err
		}
	}
	a.finish(o, item, raw)
	return nil
}

// finish completes an item. Text of it that did not arrive in pieces is added.
func (a *responsesAnswer) finish(o *output, item outputItem, raw json.RawMessage) {
	if item.Arguments == "" {
		item.Arguments = o.item.Arguments
	}
	o.item, o.raw = item, raw
	for _, p := range item.Content {
		o.refused = o.refused || item.Type == itemMessage && p.Type == "refusal"
	}
	if o.streamed {
		return
	}
	switch o.item.Type {
	case itemMessage:
		for _, p := range o.item.Content {
			a.paragraph(llm.TextDelta, part{output: o}, string(p.Text+p.Refusal))
		}
	case itemReasoning:
		parts := o.item.Summary
		if len(parts) == 0 {
			parts = o.item.Content
		}
		for i, p := range parts {
			a.paragraph(llm.ThinkingDelta, part{o, i}, string(p.Text))
		}
	}
}

// object applies a response object.
func (a *responsesAnswer) object(raw json.RawMessage) error {
	var r responseObject
	if !some(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if some(r.Error) {
		return a.model.refusal(raw)
	}
	if r.ID != "" {
		a.id = string(r.ID)
	}
	if r.Model != "" {
		a.name = string(r.Model)
	}
	if some(r.Usage) {
		a.usage = readUsage(r.Usage)
	}
	a.status, a.reason = string(r.Status), string(r.Incomplete.Reason)
	for i := len(a.outputs); i < len(r.Output); i++ { // items that were not sent before
		if err := a.finishItem(i, r.Output[i]); err != nil {
			return err
		}
	}
	return nil
}

// ended checks the status of a response that has ended.
func (a *responsesAnswer) ended() error {
	switch a.status {
	case "completed", "incomplete":
		return nil
	case "failed":
		return a.model.client.Refusal(0, "failed", "the answer was broken off")
	}
	return fmt.Errorf("the answer has the status %.40q: %w", a.status, llm.ErrTruncated)
}

// Complete is false: only the last event has the status of the answer.
func (a *responsesAnswer) Complete() bool { return false }

// Document applies the answer of a server that does not stream.
func (a *responsesAnswer) Document(body []byte) error {
	if err := a.object(body); err != nil {
		return err
	}
	return a.ended()
}

// Response returns the complete answer.
func (a *responsesAnswer) Response() llm.Response {
	r := llm.Response{
		ID: a.id, Model: a.name, Thinking: a.thinking.String(), Usage: a.usage,
		Message: llm.Message{Role: llm.Assistant, Text: a.text.String()},
	}
	seen, generated, refused := make(map[string]bool), false, false
	for _, o := range a.outputs {
		refused = refused || o.refused
		if o.item.Type != itemCall {
			continue
		}
		id, arguments := string(o.item.CallID), string(o.item.Arguments)
		if arguments == "" {
			arguments = o.arguments.String()
		}
		if id == "" || seen[id] {
			id, generated = a.model.newID(), true
		}
		seen[id] = true
		r.Message.Calls = append(r.Message.Calls, llm.ToolCall{ID: id, Name: string(o.item.Name), Arguments: argumentsOf(arguments)})
	}
	r.Stop = a.stop(refused, len(r.Message.Calls) > 0)
	if items := replayItems(a.outputs); items != nil && !generated { // the items lack generated ids
		r.Message.Opaque = llm.ProviderState{Provider: a.model.provider, Data: llm.Marshal(items)}
	}
	return r
}

func (a *responsesAnswer) stop(refused, called bool) llm.Stop {
	switch {
	case refused, a.reason == "content_filter":
		return llm.StopRefusal
	case a.reason == "max_output_tokens":
		return llm.StopLength
	case a.status == "incomplete":
		return llm.StopOther
	case called:
		return llm.StopTools
	}
	return llm.StopEnd
}
