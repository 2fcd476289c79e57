package capability

import (
	"strconv"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// ReadGrant reads the payload of a capability.grant that the envelope id sent
// by from carries. The error has the code invalid_payload.
func ReadGrant(id protocol.ID, from protocol.ParticipantID, payload protocol.Value, at time.Time) (Grant, error) {
	r := payloadReader{payload: payload}
	return r.grant(Grant{
		ID: id, Grantor: from, At: at,
		Recipient:    r.participant("recipient"),
		Capabilities: r.capabilities("capabilities", true),
	})
}

// ReadInvite reads the payload of a space.invite, which grants its initial
// capabilities. The error has the code invalid_payload.
func ReadInvite(id protocol.ID, from protocol.ParticipantID, payload protocol.Value, at time.Time) (Grant, error) {
	r := payloadReader{payload: payload}
	return r.grant(Grant{
		ID: id, Grantor: from, At: at, Invitation: true,
		Recipient:    r.participant("participant_id"),
		Capabilities: r.capabilities("initial_capabilities", false),
	})
}

// ReadRevocation reads the payload of a capability.revoke. The error has the
// code invalid_payload.
func ReadRevocation(payload protocol.Value, at time.Time) (Revocation, error) {
	r := payloadReader{payload: payload}
	v := Revocation{
		At:           at,
		Recipient:    r.participant("recipient"),
		Capabilities: r.capabilities("capabilities", false),
	}
	id := payload.Get("grant_id")
	switch {
	case id.Exists() && !protocol.ValidID(id.Text()):
		r.fail("/grant_id", "it must be the id of a grant")
	case !id.Exists() && len(v.Capabilities) == 0:
		r.fail("", "it must name a grant_id or capabilities")
	}
	v.GrantID = protocol.ID(id.Text())
	for i, c := range v.Capabilities {
		if c.deny {
			r.fail("/capabilities/"+strconv.Itoa(i), "a deny rule cannot be revoked; name what to take away")
		}
	}
	return v, r.result()
}

// ReadList reads a list of capabilities from a field of a payload; it is empty if there
// is none. The error has the code invalid_payload.
func ReadList(payload protocol.Value, field string) ([]*Capability, error) {
	r := payloadReader{payload: payload}
	list := r.capabilities(field, false)
	return list, r.result()
}

// ReadEnd returns when something with the payload's ttl_seconds ends; zero: never. The
// error has the code invalid_payload.
func ReadEnd(payload protocol.Value, at time.Time) (time.Time, error) {
	r := payloadReader{payload: payload}
	end := r.end(at)
	return end, r.result()
}

// payloadReader reads fields; its methods do nothing more once err is set.
type payloadReader struct {
	payload protocol.Value
	err     *protocol.Error
}

// result returns the error as an interface, which is nil if there is none.
func (r *payloadReader) result() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

func (r *payloadReader) fail(path, detail string) {
	if r.err == nil {
		r.err = protocol.Errorf(protocol.CodeInvalidPayload, "payload%s: %s", path, detail)
		r.err.Path, r.err.Detail = path, detail
	}
}

func (r *payloadReader) participant(name string) protocol.ParticipantID {
	s := r.payload.Get(name).Text()
	if !protocol.ValidParticipantID(s) {
		r.fail("/"+name, "it must be the id of a participant")
	}
	return protocol.ParticipantID(s)
}

func (r *payloadReader) capabilities(name string, required bool) []*Capability {
	list := r.payload.Get(name)
	if !list.Exists() && !required {
		return nil
	}
	n := list.Len()
	if list.Type() != protocol.TypeArray || n > maxPerGrant || n == 0 && required {
		r.fail("/"+name, "it must be an array of 1 to "+strconv.Itoa(maxPerGrant)+" capabilities")
		return nil
	}
	out := make([]*Capability, 0, n)
	for x := range list.Elements {
		c, err := Parse(x)
		if err != nil {
			r.fail("/"+name+"/"+strconv.Itoa(len(out)), err.Error())
			return nil
		}
		out = append(out, c)
		if sizeOf(out).memory > maxPerGrantMemory {
			r.fail("/"+name, "the capabilities are larger than "+strconv.Itoa(maxPerGrantMemory>>10)+" KiB together")
			return nil
		}
	}
	return out
}

// grant completes a grant with the fields that all grants have.
func (r *payloadReader) grant(g Grant) (Grant, error) {
	g.ExpiresAt, g.Reason = r.end(g.At), r.payload.Get("reason").Text()
	return g, r.result()
}

// end returns when something with the payload's ttl_seconds ends; zero: never.
func (r *payloadReader) end(at time.Time) time.Time {
	ttl := r.payload.Get("ttl_seconds")
	if !ttl.Exists() {
		return time.Time{}
	}
	seconds, ok := ttl.Float()
	if !ok || seconds <= 0 || seconds > MaxTTL.Seconds() {
		r.fail("/ttl_seconds", "it must be a number of seconds above 0 and at most "+strconv.FormatFloat(MaxTTL.Seconds(), 'f', 0, 64))
		return time.Time{}
	}
	return at.Add(time.Duration(seconds * float64(time.Second)))
}
