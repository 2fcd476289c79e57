// Package exchange relates the envelopes of an exchange: which question a chat answers
// ([Answers]), which envelope approves, rejects or settles a proposed call, whether it has
// expired ([Settles], [Call.Expired], [ProposalScan]), and what came of a call, in a few words
// ([Result]). The cases in testdata are plain JSON, so that implementations in other languages
// can run them too.
package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Outcome is the state of a proposal.
type Outcome string

// The outcomes of a proposal.
const (
	Pending   Outcome = ""          // not settled
	Fulfilled Outcome = "fulfilled" // another participant made the call
	Rejected  Outcome = "rejected"  // a participant that may decide rejected it
	Withdrawn Outcome = "withdrawn" // the proposer withdrew it
	Expired   Outcome = "expired"   // not decided in time or before its context ended, or withdrawn for timeout; see also Call.Expired
)

// Who decided, as the gateway records it with a request or a rejection.
const (
	ByRule     = "rule"
	ByReviewer = "reviewer"
	ByPerson   = "person"
)

// Call is the part of a request or a proposal that the rules compare. It does
// not refer to the payload, so that it uses little memory.
type Call struct {
	// Host is the participant that runs the tool, by the field participant_id of
	// a proposal; "" if the proposal does not name it.
	Host protocol.ParticipantID
	// Edited reports that the request declares a difference from the proposed
	// call.
	Edited bool
	// ExpiresAt is the time from which a proposed call can no longer be made;
	// zero: never.
	ExpiresAt time.Time

	sum [sha256.Size]byte // of the method and the parameters, by value
}

// ReadCall parses the payload of a request or a proposal.
func ReadCall(payload protocol.Value) Call {
	return Call{
		Host:      protocol.ParticipantIn(payload, "participant_id"),
		Edited:    payload.Get("edited").Bool(),
		ExpiresAt: ExpiresAt(payload),
		sum:       sha256.Sum256(canonicalCall(payload)),
	}
}

// ExpiresAt returns the time from which a proposed call can no longer be made; zero: never.
func ExpiresAt(payload protocol.Value) time.Time {
	at, _ := time.Parse(time.RFC3339, payload.Get("expires_at").Text()) // the schema requires a time
	return at
}

// canonicalCall encodes the method and the parameters so that equal calls have
// equal encodings. The sender's metadata (_meta) is not part of the call, and
// missing arguments equal empty ones.
func canonicalCall(payload protocol.Value) []byte {
	method, params := payload.Get("method"), payload.Get("params")
	out := append(method.AppendCanonical(nil), '\n')
	if params.Exists() && params.Type() != protocol.TypeObject {
		return params.AppendCanonical(out)
	}
	var members []string
	if method.EqualText("tools/call") && !params.Get("arguments").Exists() {
		members = append(members, `"arguments":{}`)
	}
	for key, value := range params.Members {
		if !key.EqualText("_meta") {
			members = append(members, string(value.AppendCanonical(append(key.AppendCanonical(nil), ':'))))
		}
	}
	slices.Sort(members)
	return append(out, strings.Join(members, ",")...)
}

// WithoutMeta encodes the parameters of a call without the metadata of their sender
// (_meta), which is not part of the call; nil: there are none.
func WithoutMeta(params protocol.Value) []byte {
	if !params.Get("_meta").Exists() {
		return params.Raw()
	}
	out := []byte{'{'}
	for key, value := range params.Members {
		if key.EqualText("_meta") {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key.Raw()...), ':'), value.Raw()...)
	}
	return append(out, '}')
}

// ShownCall returns the name and the parameters with which a call is shown for a decision.
// They contain all that an approval sends: the arguments of a tool if the call has
// nothing else, and otherwise all parameters except the metadata of the sender. The
// parameters are nil if there are none.
func ShownCall(payload protocol.Value) (name string, params []byte) {
	name = payload.Get("method").Text()
	all := payload.Get("params")
	tool := all.Get("name").Text()
	if name != "tools/call" || tool == "" {
		return name, WithoutMeta(all)
	}
	for key := range all.Members {
		if !key.EqualText("name") && !key.EqualText("arguments") && !key.EqualText("_meta") {
			return tool, WithoutMeta(all)
		}
	}
	return tool, all.Get("arguments").Raw()
}

// Digest returns the SHA-256 of the method and the parameters, in hex. Equal calls have
// equal digests.
func (c Call) Digest() string { return hex.EncodeToString(c.sum[:]) }

// Expired reports whether the time of a proposed call is over. The end of its context, and
// its withdrawal, are not considered: see the outcome [Expired].
func (c Call) Expired(now time.Time) bool { return !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt) }

// CallOf returns the call of an envelope.
func CallOf(e *protocol.Envelope) Call { return ReadCall(e.ParsePayload()) }

// CallMismatch returns why a request that names a proposal does not fulfill it, as a
// sentence; "" if it does. It must come from another participant, go to the one
// that runs the tool, and be the proposed call or declare that it is edited. It
// goes to the proposer, or back to its own sender, only if the proposal names
// that participant as the host: otherwise the sender could answer itself.
func CallMismatch(p *protocol.Envelope, proposed Call, r *protocol.Envelope, requested Call) string {
	switch {
	case r.From == p.From:
		return "A proposal is fulfilled by another participant than its proposer."
	case len(r.To) != 1:
		return "Address the request to the one participant that runs the tool."
	case r.To[0] == p.From && proposed.Host != p.From:
		return "Address the request to the participant that runs the tool, not to the proposer."
	case r.To[0] == r.From && proposed.Host != r.From:
		return "Address the request to the participant that runs the tool, not to yourself."
	case requested.Edited:
		return ""
	case proposed.Host != "" && r.To[0] != proposed.Host:
		return fmt.Sprintf("The proposal names %s as the participant that runs the tool; address the request there, or set edited to true.", proposed.Host)
	case requested.sum != proposed.sum:
		return "The request differs from the proposed call; send the same method, name and arguments, or set edited to true."
	}
	return ""
}

// IsDecision reports whether an envelope of this kind settles a proposal that it
// correlates to.
func IsDecision(k protocol.Kind) bool {
	return k == protocol.KindMCPRequest || k == protocol.KindMCPReject || k == protocol.KindMCPWithdraw
}

// ProposalAmong returns the proposal among the envelopes with these ids; nil if there is none, or
// more than one. lookup returns nil if no envelope has the id.
func ProposalAmong(ids []protocol.ID, lookup func(protocol.ID) (*protocol.Envelope, error)) (found *protocol.Envelope, err error) {
	for _, id := range ids {
		if found != nil && found.ID == id {
			continue
		}
		switch e, err := lookup(id); {
		case err != nil:
			return nil, err
		case e == nil || e.Kind != protocol.KindMCPProposal:
		case found != nil:
			return nil, nil
		default:
			found = e
		}
	}
	return found, nil
}

// Settles returns how an envelope that follows the proposal p settles it;
// Pending if it does not.
func Settles(p, e *protocol.Envelope) Outcome {
	var proposed Call
	if e.Kind == protocol.KindMCPRequest && e.Correlation.Names(p.ID) {
		proposed = CallOf(p)
	}
	return SettlesCall(p, proposed, e)
}

// SettlesCall is Settles of a proposal whose payload was parsed before: it does
// not need the payload of p.
func SettlesCall(p *protocol.Envelope, proposed Call, e *protocol.Envelope) Outcome {
	switch {
	case e.Kind.ClosesContext():
		if ends(e, p.Context) {
			return Expired
		}
	case !e.Correlation.Names(p.ID):
	case e.Kind != protocol.KindMCPRequest:
		return Decision(p.From, e.From, e.Kind, e.ParsePayload().Get("reason").Text())
	case CallMismatch(p, proposed, e, CallOf(e)) == "":
		return Fulfilled
	}
	return Pending
}

// Decision returns how a rejection or a withdrawal from a participant settles a
// proposal that names it; Pending if it does not.
func Decision(proposer, from protocol.ParticipantID, kind protocol.Kind, reason string) Outcome {
	switch {
	case kind == protocol.KindMCPReject:
		return Rejected
	case kind != protocol.KindMCPWithdraw || from != proposer:
		return Pending
	case reason == "timeout":
		return Expired
	}
	return Withdrawn
}

// ends reports whether an envelope that closes a context closes this one, or one
// around it. A cancel from outside names contexts by the ids of their starts.
func ends(e *protocol.Envelope, path protocol.ContextPath) bool {
	if e.Context != "" {
		return path.Within(e.Context)
	}
	if e.Kind != protocol.KindReasoningCancel {
		return false
	}
	for ; path != ""; path = path.Parent() {
		if e.Correlation.Names(protocol.ID(path.Last())) {
			return true
		}
	}
	return false
}

// ErrNoHost: the proposal does not name the participant that runs the tool.
var ErrNoHost = errors.New("it does not name the participant that runs the tool")

var errNoMethod = errors.New("it names no method")

// Approval returns the request that makes a proposed call: exactly its method
// and parameters without the metadata of the proposer, addressed to the host, or to
// the participant to if the proposal names none. id becomes the id of the request. The error is
// ErrNoHost, or reports that the proposal cannot be parsed.
func Approval(p *protocol.Envelope, id protocol.ID, to protocol.ParticipantID) (protocol.Envelope, error) {
	payload := p.ParsePayload()
	method, params := payload.Get("method"), WithoutMeta(payload.Get("params"))
	if method.Text() == "" {
		return protocol.Envelope{}, fmt.Errorf("read proposal %s: %w", p.ID, errNoMethod)
	}
	edited := false
	if host := CallOf(p).Host; to == "" {
		to = host
	} else if host != "" && host != to {
		edited = true
	}
	if to == "" {
		return protocol.Envelope{}, fmt.Errorf("approve proposal %s: %w", p.ID, ErrNoHost)
	}
	body := protocol.AppendString([]byte(`{"jsonrpc":"2.0","id":`), string(id))
	body = append(append(body, `,"method":`...), method.Raw()...)
	if len(params) > 0 {
		body = append(append(body, `,"params":`...), params...)
	}
	if edited {
		body = append(body, `,"edited":true`...)
	}
	return protocol.Envelope{
		ID: id, Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{to}, Context: p.Context,
		Correlation: protocol.CorrelateTo(p.ID), Payload: append(body, '}'),
	}, nil
}

// Rejection returns the envelope that rejects a proposal. It is visible to all
// participants that can see the proposal.
func Rejection(p *protocol.Envelope, reason string) protocol.Envelope {
	return about(p, protocol.KindMCPReject, append(protocol.AppendString([]byte(`{"reason":`), reason), '}'))
}

// Opinion returns the envelope that says what its sender thinks of a proposal, with its grounds, and
// settles nothing. It is visible to all participants that can see the proposal.
func Opinion(p *protocol.Envelope, verdict, reason string) protocol.Envelope {
	payload := protocol.AppendString([]byte(`{"verdict":`), verdict)
	payload = protocol.AppendString(append(payload, `,"call":`...), CallOf(p).Digest())
	payload = protocol.AppendString(append(payload, `,"reason":`...), reason)
	return about(p, protocol.KindMCPOpinion, append(payload, '}'))
}

// about returns an envelope about a proposal, in its context and for its participants.
func about(p *protocol.Envelope, kind protocol.Kind, payload []byte) protocol.Envelope {
	e := protocol.Envelope{Kind: kind, Context: p.Context, Correlation: protocol.CorrelateTo(p.ID), Payload: payload}
	if len(p.To) == 0 {
		return e
	}
	for _, who := range append([]protocol.ParticipantID{p.From}, p.To...) {
		if !slices.Contains(e.To, who) {
			e.To = append(e.To, who)
		}
	}
	return e
}
