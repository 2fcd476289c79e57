package agui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of an input.
const (
	maxBody     = 1 << 20 // bytes; clients send the whole conversation
	maxID       = 256     // bytes
	maxMessages = 5000
	maxParts    = 256 // of a message
	maxTo       = 64
	maxResumed  = 64
)

// input is what the adapter uses of a RunAgentInput.
type input struct {
	thread, run string
	message     string // id of the last message of the user
	text        string
	previous    string // id of the assistant's message before it; "": none
	to          []protocol.ParticipantID
	resume      []resumed
}

// resumed is the user's decision about an interrupt.
type resumed struct {
	interrupt protocol.ID // the proposal
	approved  bool
	reason    string
}

// decode reads a RunAgentInput, and the recipients of the address, which count if the
// input names none.
func decode(body []byte, to []string) (*input, error) {
	doc, err := protocol.ParseForeignJSON(body, protocol.MaxDepth)
	if err != nil {
		return nil, access.BadRequest("The body must be a RunAgentInput as JSON: " + err.Error() + ".")
	}
	root := doc.Root()
	in := &input{thread: root.Get("threadId").Text(), run: root.Get("runId").Text()}
	if err := cmp.Or(checkID("threadId", in.thread), checkID("runId", in.run)); err != nil {
		return nil, access.BadRequest(err.Error() + ".")
	}
	answer, messages := "", root.Get("messages")
	if messages.Len() > maxMessages {
		return nil, access.BadRequest(fmt.Sprintf("messages: expected at most %d. Leave out the oldest ones; the space has its own memory.", maxMessages))
	}
	for m := range messages.Elements {
		if m.Get("content").Len() > maxParts {
			return nil, access.BadRequest(fmt.Sprintf("messages: expected at most %d parts of a message.", maxParts))
		}
		switch m.Get("role").Text() {
		case "user":
			in.message, in.text, in.previous = m.Get("id").Text(), contentText(m.Get("content")), answer
		case "assistant":
			if m.Get("content").Text() != "" {
				answer = m.Get("id").Text()
			}
		}
	}
	if in.text == "" || checkID("id", in.message) != nil {
		return nil, access.BadRequest("messages: expected a message of the user with an id and a text.")
	}
	if given := root.Get("forwardedProps").Get("to"); given.Type() == protocol.TypeString {
		to = []string{given.Text()}
	} else if given.Exists() {
		to = nil
		for id := range given.Elements {
			to = append(to, id.Text())
			if len(to) > maxTo {
				break
			}
		}
	}
	if len(to) > maxTo {
		return nil, access.BadRequest(fmt.Sprintf("to: expected at most %d participants.", maxTo))
	}
	for _, id := range to {
		if !protocol.ValidParticipantID(id) {
			return nil, access.BadRequest("to: expected ids of participants.")
		}
		in.to = append(in.to, protocol.ParticipantID(id))
	}
	for r := range root.Get("resume").Elements {
		id, payload := r.Get("interruptId").Text(), r.Get("payload")
		if len(in.resume) == maxResumed || !protocol.ValidID(id) {
			return nil, access.BadRequest("resume: expected at most 64 entries with the ids of interrupts.")
		}
		if slices.ContainsFunc(in.resume, func(x resumed) bool { return string(x.interrupt) == id }) {
			return nil, access.BadRequest("resume: an interrupt is named twice.")
		}
		// An interrupt that was resolved without approved in its payload is not approved.
		in.resume = append(in.resume, resumed{
			interrupt: protocol.ID(id), reason: payload.Get("reason").Text(),
			approved: r.Get("status").EqualText("resolved") && (payload.Bool() || payload.Get("approved").Bool()),
		})
	}
	return in, nil
}

func checkID(name, id string) error {
	if id == "" || len(id) > maxID {
		return fmt.Errorf("%s: expected a text of 1 to %d bytes", name, maxID)
	}
	return nil
}

// contentText returns the text of a message: of its parts of type text, and the types
// of the others.
func contentText(content protocol.Value) string {
	if content.Type() == protocol.TypeString {
		return content.Text()
	}
	var parts []string
	for p := range content.Elements {
		if kind := p.Get("type").Text(); kind == "text" {
			parts = append(parts, p.Get("text").Text())
		} else {
			parts = append(parts, "[attachment without text: "+kind+"]")
		}
	}
	return strings.Join(parts, "\n")
}
