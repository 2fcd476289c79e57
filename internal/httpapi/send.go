package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of one request.
const (
	maxSend      = 100      // envelopes
	maxSendBytes = 32 << 20 // of the body, unless one message may have more
)

// sent is what became of one envelope.
type sent struct {
	ID  protocol.ID  `json:"id,omitempty"`
	Seq protocol.Seq `json:"seq,omitempty"`
	// Token and ExpiresAt answer an invitation.
	Token     string `json:"token,omitempty"`
	ExpiresAt string `json:"expires_at,omitempty"`

	// Of a refused one, in an array.
	Status int             `json:"status,omitempty"`
	Err    *protocol.Error `json:"-"`
}

// MarshalJSON writes the fields of the error beside the others.
func (s sent) MarshalJSON() ([]byte, error) {
	type plain sent
	if s.Err != nil && s.Err.ID != "" {
		s.ID = "" // the error has it
	}
	own, err := json.Marshal(plain(s))
	if err != nil || s.Err == nil {
		return own, err
	}
	refused, err := json.Marshal(s.Err)
	if err != nil {
		return nil, err
	}
	return append(append(own[:len(own)-1], ','), refused[1:]...), nil
}

// send admits one envelope or an array of them, in order.
func (s *Server) send(w http.ResponseWriter, r *http.Request, v visitor) {
	body, refused := access.ReadBody(w, r, max(maxSendBytes, 2*v.space.LimitsOf(v.id).MessageBytes), bodyTimeout)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	sender, refused := v.space.Sender(r.Context(), v.id)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	limits := sender.Limits()
	if text := bytes.TrimLeft(body, " \t\r\n"); len(text) > 0 && text[0] == '[' {
		s.sendMany(w, r, v, sender, body)
		return
	}
	outcome := v.space.Publish(r.Context(), sender, []space.Attempt{attempt(body, limits)})[0]
	if outcome.Err != nil {
		access.WriteError(w, outcome.Err)
		return
	}
	writeJSON(w, http.StatusOK, answer(outcome))
}

func (s *Server) sendMany(w http.ResponseWriter, r *http.Request, v visitor, sender *space.Sender, body []byte) {
	limits := sender.Limits()
	list, refused := parseArray(v.space, sender, body)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	if n := list.Len(); n == 0 || n > maxSend {
		access.WriteError(w, access.BadRequest("Send 1 to 100 envelopes at a time."))
		return
	}
	var attempts []space.Attempt
	for x := range list.Elements {
		attempts = append(attempts, attempt(slices.Clone(x.Raw()), limits))
	}
	var answers []sent
	statuses := make(map[int]bool)
	for _, o := range v.space.Publish(r.Context(), sender, attempts) {
		a := answer(o)
		statuses[a.Status] = true
		if o.Err != nil { // of several, the last one has to wait longest
			access.SetRetryAfter(w.Header(), o.Err)
		}
		answers = append(answers, a)
	}
	writeJSON(w, overall(statuses), answers)
}

// parseArray reads an array of envelopes. Its size is charged before anything
// is made of it, since reading costs many times its bytes.
func parseArray(room *space.Space, sender *space.Sender, body []byte) (protocol.Value, *protocol.Error) {
	limits := sender.Limits()
	if limits.MessageBytes > 0 && int64(len(body)) > limits.MessageBytes {
		if err := room.Charge(sender, &protocol.Inbound{Size: len(body)}); err != nil {
			return protocol.Value{}, err
		}
	}
	doc, err := protocol.ParseJSON(body, protocol.MaxDepth+1) // the array is not part of the envelope
	if err != nil {
		_, refused := protocol.Decode(body, protocol.MEUP1, protocol.DefaultContextDepth)
		return protocol.Value{}, refused
	}
	return doc.Root(), nil
}

// overall is the status of several answers: the one that they share, or 207.
func overall(statuses map[int]bool) int {
	if len(statuses) > 1 {
		return http.StatusMultiStatus
	}
	for status := range statuses {
		if status != 0 {
			return status
		}
	}
	return http.StatusOK
}

func attempt(frame []byte, limits protocol.Limits) space.Attempt {
	if limits.MessageBytes > 0 && int64(len(frame)) > limits.MessageBytes {
		return space.Attempt{In: &protocol.Inbound{}, Err: tooLarge(limits.MessageBytes)}
	}
	in, err := protocol.Decode(frame, protocol.MEUP1, max(limits.ContextDepth, 1))
	return space.Attempt{In: in, Err: err}
}

func tooLarge(limit int64) *protocol.Error {
	err := protocol.Errorf(protocol.CodeMessageTooLarge, "A message may have at most %d bytes.", limit)
	err.Limit = limit
	return err
}

func answer(o space.Outcome) sent {
	if o.Err != nil {
		return sent{ID: o.ID, Status: o.Err.Code.HTTPStatus(), Err: o.Err}
	}
	a := sent{ID: o.ID, Seq: o.Seq}
	if o.Invite != nil {
		a.Token, a.ExpiresAt = o.Invite.Token, o.Invite.ExpiresAt
	}
	return a
}

// bodyTimeout is how long a body may take to arrive.
const bodyTimeout = time.Minute
