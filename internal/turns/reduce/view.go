package reduce

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// Key names a turn, or a job.
type Key struct {
	Session string
	Thread  protocol.ID // of a turn
	Job     protocol.ID // of a job
	Turn    int         // from 1; 0: a job
}

// IsJob reports whether the key names a job.
func (k Key) IsJob() bool { return k.Turn == 0 }

// View is a turn as it is shown, except for the part that depends on the
// connected participants.
type View struct {
	Info    api.Turn
	Bytes   int       // of the JSON, about
	rules   uint64    // that its texts were masked by
	expires time.Time // when the next undecided proposal of the turn does; zero: none will
	// waiting are the participants with open contexts. One of them must be
	// connected, or the turn is interrupted.
	waiting []protocol.ParticipantID
	encoded func() ([]byte, error) // Info as JSON
}

// IsCurrent reports whether the view is as a new one would be.
func (v *View) IsCurrent(truncated bool, d *Display) bool {
	return v.rules == d.Rules && v.Info.Truncated == truncated && (v.expires.IsZero() || d.Now.Before(v.expires))
}

// Show returns the turn while the participants are connected that present
// reports; nil: all are.
func (v *View) Show(present func(protocol.ParticipantID) bool) Turn {
	if present == nil || len(v.waiting) == 0 || slices.ContainsFunc(v.waiting, present) {
		return Turn{v.Info, v.encoded}
	}
	info := v.Info
	info.State = api.TurnInterrupted
	return Turn{info, encodeOnce(&info)}
}

// Turn is a turn as it is shown to a viewer. It is shared: read-only.
type Turn struct {
	api.Turn
	encoded func() ([]byte, error) // shared by all viewers that see the same
}

// JSON returns the turn encoded, once for all viewers that see the same.
func (t *Turn) JSON() ([]byte, error) { return t.encoded() }

// In returns the turn with the id of its thread or job, for a page of several.
func (t Turn) In(k Key) Turn {
	plain := t.encoded
	t.ThreadID, t.JobID = k.Thread, k.Job
	t.encoded = func() ([]byte, error) {
		body, err := plain()
		if err != nil {
			return nil, err
		}
		name, id := `{"thread_id":`, k.Thread
		if k.IsJob() {
			name, id = `{"job_id":`, k.Job
		}
		text, err := Encode(id)
		return slices.Concat([]byte(name), text, []byte{','}, body[1:]), err
	}
	return t
}

// encodeOnce returns a function that encodes a turn on its first call.
func encodeOnce(t *api.Turn) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) { return Encode(t) })
}

// Encode writes v as JSON without escaping for HTML, so that "a < b" stays
// readable.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// weighTurn is the size of a turn as JSON, in bytes, about.
func weighTurn(t *api.Turn) int {
	n := 600 + len(t.UserInput)
	if t.Response != nil {
		n += len(*t.Response)
	}
	for _, r := range t.Responses {
		n += 60 + len(r.Text)
	}
	for i := range t.Feedback {
		n += 300 + len(t.Feedback[i].Note)
	}
	n += 80 * len(t.ToolCalls)
	all := t.AllReasonings()
	for i := range all {
		r := &all[i]
		n += 300 + len(r.Narrative) + weighTexts(r.References) + weighMetadata(r.Metadata) + weighConclusion(r.Conclusion)
		if r.Usage != nil {
			n += 200
		}
		for i := range r.ToolDecisions {
			d := &r.ToolDecisions[i]
			n += 400 + len(d.ToolName) + len(d.OutcomeText) + len(d.Rationale) + len(d.Parameters) + len(d.Context)
		}
		for i := range r.Notes {
			n += weighNote(&r.Notes[i])
		}
		for i := range r.Parts {
			p := &r.Parts[i]
			n += 500 + len(p.Question) + len(p.Conclusion) + len(p.Rationale) + len(p.Reason) + len(p.Context)
			n += weighMetadata(p.Metadata) + weighConclusion(p.Details)
		}
	}
	return n
}
