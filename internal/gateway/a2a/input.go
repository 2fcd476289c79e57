package a2a

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a request.
const (
	maxBody  = 1 << 20 // bytes
	maxID    = 256     // bytes of an id of the client
	maxParts = 256
)

// message has the fields of a SendMessageRequest that the adapter uses.
type message struct {
	id        string
	contextID string
	task      protocol.ID // "": a new one
	text      string
	decision  *decision // about a proposal of the task
	immediate bool
	history   int // -1: all
}

// decision is a data part that decides on a proposal.
type decision struct {
	proposal protocol.ID
	approve  bool
	reason   string
}

// decodeMessage reads a SendMessageRequest.
func decodeMessage(params protocol.Value) (*message, error) {
	given := params.Get("message")
	m := &message{id: given.Get("messageId").Text(), contextID: given.Get("contextId").Text(), task: protocol.ID(given.Get("taskId").Text())}
	switch {
	case m.id == "" || len(m.id) > maxID:
		return nil, fail(wire.ErrInvalidParams, fmt.Sprintf("message.messageId: expected a text of 1 to %d bytes.", maxID))
	case !given.Get("role").EqualText(string(wire.MessageRoleUser)):
		return nil, fail(wire.ErrInvalidParams, "message.role: expected ROLE_USER.")
	case m.contextID != "" && !protocol.ValidID(m.contextID):
		return nil, fail(wire.ErrInvalidParams, "message.contextId: expected 1 to 128 characters of A-Z, a-z, 0-9 and . _ : -")
	}
	var texts []string
	for p := range given.Get("parts").Elements {
		text, data := p.Get("text"), p.Get("data")
		media, _, _ := strings.Cut(p.Get("mediaType").Text(), ";")
		switch {
		case len(texts) == maxParts:
			return nil, fail(wire.ErrInvalidParams, fmt.Sprintf("message.parts: expected at most %d.", maxParts))
		case p.Get("raw").Exists() || p.Get("url").Exists() || text.Exists() && media != "" && !strings.HasPrefix(media, "text/"):
			return nil, fail(wire.ErrUnsupportedContentType, "message.parts: expected texts and data; the space takes no files.")
		case data.Get("proposal").Exists():
			if err := m.decide(data); err != nil {
				return nil, err
			}
		case text.Type() == protocol.TypeString:
			texts = append(texts, text.Text())
		case data.Exists():
			texts = append(texts, "```json\n"+string(data.Raw())+"\n```")
		default:
			return nil, fail(wire.ErrInvalidParams, "message.parts: expected parts with text or data.")
		}
	}
	m.text = strings.Join(texts, "\n")
	switch {
	case m.decision != nil && m.task == "":
		return nil, fail(wire.ErrInvalidParams, "message.taskId: a decision names the task that the proposal belongs to.")
	case m.decision == nil && strings.TrimSpace(m.text) == "":
		return nil, fail(wire.ErrInvalidParams, "message.parts: expected a text.")
	}
	configuration := params.Get("configuration")
	if configuration.Get("taskPushNotificationConfig").Type() == protocol.TypeObject {
		return nil, fail(wire.ErrPushNotificationNotSupported, "The space sends no push notifications; subscribe to the task.")
	}
	accepted, modes := false, configuration.Get("acceptedOutputModes")
	for mode := range modes.Elements {
		t, _, _ := strings.Cut(mode.Text(), ";")
		accepted = accepted || slices.Contains([]string{"text", "text/plain", "text/markdown", "text/*", "*/*"}, t)
	}
	if modes.Len() > 0 && !accepted {
		return nil, fail(wire.ErrUnsupportedContentType, "configuration.acceptedOutputModes: answers are text/markdown.")
	}
	m.immediate = isTrue(configuration.Get("returnImmediately"))
	var err error
	m.history, err = historyLength(configuration)
	return m, err
}

// decide reads a decision. Only the word approve approves.
func (m *message) decide(data protocol.Value) error {
	id, word := data.Get("proposal").Text(), data.Get("decision").Text()
	if m.decision != nil || !protocol.ValidID(id) || word != "approve" && word != "reject" {
		return fail(wire.ErrInvalidParams, `message.parts: expected one decision as {"proposal": ID, "decision": "approve" or "reject", "reason"}.`)
	}
	m.decision = &decision{protocol.ID(id), word == "approve", data.Get("reason").Text()}
	return nil
}

// isTrue reads a boolean, of a query too.
func isTrue(v protocol.Value) bool { return v.Bool() || v.EqualText("true") }

// number reads an integer, of a query too. absent is the value of a missing one.
func number(params protocol.Value, name string, absent, least, most int64) (int64, error) {
	v := params.Get(name)
	if !v.Exists() || v.Type() == protocol.TypeNull {
		return absent, nil
	}
	n, ok := v.Int()
	if v.Type() == protocol.TypeString {
		parsed, err := strconv.ParseInt(v.Text(), 10, 64)
		n, ok = parsed, err == nil
	}
	if !ok || n < least || n > most {
		return 0, fail(wire.ErrInvalidParams, fmt.Sprintf("%s: expected %d to %d.", name, least, most))
	}
	return n, nil
}

// historyLength returns how many messages of a task's history a client wants; -1: all.
func historyLength(params protocol.Value) (int, error) {
	n, err := number(params, "historyLength", -1, 0, 1<<31-1)
	return int(n), err
}

// selection is the part of the tasks that a ListTasksRequest selects.
type selection struct {
	contextID string
	state     wire.TaskState
	after     time.Time
	before    protocol.Seq // of the page
	skipped   int          // tasks on the pages before
	size      int
	history   int
	artifacts bool
}

// maxPage is the largest page of tasks.
const maxPage = 100

var states = []wire.TaskState{
	wire.TaskStateSubmitted, wire.TaskStateWorking, wire.TaskStateCompleted, wire.TaskStateFailed,
	wire.TaskStateCanceled, wire.TaskStateInputRequired, wire.TaskStateRejected, wire.TaskStateAuthRequired,
}

// decodeSelection reads a ListTasksRequest.
func decodeSelection(params protocol.Value) (*selection, error) {
	s := &selection{contextID: params.Get("contextId").Text(), state: wire.TaskState(params.Get("status").Text()), artifacts: isTrue(params.Get("includeArtifacts"))}
	if s.state == "TASK_STATE_UNSPECIFIED" {
		s.state = ""
	}
	if s.state != "" && !slices.Contains(states, s.state) {
		return nil, fail(wire.ErrInvalidParams, "status: expected a state such as TASK_STATE_WORKING.")
	}
	// Version 2.3 of the Go client has another name for it in queries.
	if at := cmp.Or(params.Get("statusTimestampAfter").Text(), params.Get("lastUpdatedAfter").Text()); at != "" {
		var err error
		s.after, err = time.Parse(time.RFC3339, at)
		if err != nil {
			return nil, fail(wire.ErrInvalidParams, "statusTimestampAfter: expected a time such as 2026-11-20T09:15:00Z.")
		}
	}
	size, err := number(params, "pageSize", 50, 0, maxPage) // clients send 0 for none
	if err != nil {
		return nil, err
	}
	s.size = int(size)
	if s.size == 0 {
		s.size = 50
	}
	s.history, err = historyLength(params)
	if err != nil {
		return nil, err
	}
	if token := params.Get("pageToken").Text(); token != "" {
		before, skipped, _ := strings.Cut(token, ".")
		s.before, err = protocol.ParseSeq(before)
		n, skipErr := strconv.ParseUint(skipped, 10, 31)
		if err != nil || skipErr != nil || s.before == 0 {
			return nil, fail(wire.ErrInvalidParams, "pageToken: expected the nextPageToken of a page.")
		}
		s.skipped = int(n)
	}
	return s, nil
}

// cursor is a position in the events of a task: the first part events of an envelope.
type cursor struct {
	seq  protocol.Seq
	part int
}

// all is the part of a cursor after all events of an envelope.
const all = 1 << 30

// parseCursor reads a cursor; "" is the zero one.
func parseCursor(text string) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	seq, part, exact := strings.Cut(text, ".")
	c := cursor{part: all}
	var err error
	c.seq, err = protocol.ParseSeq(seq)
	if err == nil && exact {
		var n uint64
		n, err = strconv.ParseUint(part, 10, 30)
		c.part = int(n)
	}
	if err != nil {
		return cursor{}, fail(wire.ErrInvalidParams, "Last-Event-ID: expected the cursor of an event.")
	}
	return c, nil
}

func (c cursor) String() string {
	if c.part == all {
		return c.seq.String()
	}
	return c.seq.String() + "." + strconv.Itoa(c.part)
}

// covers reports whether a client with this cursor has an event.
func (c cursor) covers(event cursor) bool {
	return event.seq < c.seq || event.seq == c.seq && event.part <= c.part
}
