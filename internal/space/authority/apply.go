package authority

import (
	"slices"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Apply returns the directory after a change. The error has the code
// invalid_payload, with a JSON pointer from the payload; the directory is then
// unchanged. The result depends on nothing but the directory and the change, so
// that all gateways have the same.
func (d Directory) Apply(c DirectoryChange) (Directory, error) {
	var err error
	next := d
	switch c.Kind {
	case protocol.KindAdminSpacePut:
		err = next.putSpace(c)
	case protocol.KindAdminSpaceRemove:
		err = next.removeSpace(c)
	case protocol.KindAdminParticipantPut:
		err = next.putParticipant(c)
	case protocol.KindAdminParticipantRemove:
		err = next.removeParticipant(c)
	case protocol.KindAdminTokenIssue:
		err = next.issue(c)
	case protocol.KindAdminTokenRevoke:
		err = next.revoke(c)
	default:
		err = refuse("", "%s is not an administrative kind", c.Kind)
	}
	if err != nil {
		return d, err
	}
	return next, nil
}

func refuse(path, format string, args ...any) error {
	e := protocol.Errorf(protocol.CodeInvalidPayload, format, args...)
	e.Path, e.Detail = path, e.Message
	e.Message += "."
	return e
}

func (d *Directory) putSpace(c DirectoryChange) error {
	s := DirectorySpace{Name: c.Space}
	before := d.Space(c.Space)
	if before != nil {
		s = *before
	}
	switch {
	case s.Made && c.IfAbsent:
		return refuse("/space", "the space %s exists already", c.Space)
	case before == nil && d.spaces.Len() >= MaxSpaces:
		return refuse("/space", "there are %d spaces, which is the maximum", MaxSpaces)
	}
	s.Made, s.By, s.At, s.Settings = true, c.By, c.At, c.Settings
	d.spaces = d.spaces.Set(c.Space, &s)
	return nil
}

func (d *Directory) removeSpace(c DirectoryChange) error {
	s := d.Space(c.Space)
	if s == nil {
		return refuse("/space", "there is no space %s that administration has made", c.Space)
	}
	for _, p := range s.participants.All() {
		d.forget(p)
	}
	d.spaces = d.spaces.Delete(c.Space)
	return nil
}

// forget drops what the directory has counted and indexed of a participant.
func (d *Directory) forget(p *DirectoryParticipant) {
	d.participants--
	d.bytes -= size(p.Capabilities)
	for i := range p.Tokens {
		d.end(&p.Tokens[i])
	}
}

// end counts a token as ended. Its digest stays in the index; at most MaxEnded digests
// of ended tokens do.
func (d *Directory) end(t *DirectoryToken) {
	d.tokens--
	e, _ := d.ended.Get(t.By)
	e.digests = e.digests.Set(e.first+uint64(e.digests.Len()), digestKey(t.Hash))
	d.ended = d.ended.Set(t.By, e)
	if d.digests.Len()-d.tokens > MaxEnded {
		d.dropEnded()
	}
}

// dropEnded forgets the oldest digest of the administrator with the most, so that
// no administrator displaces the digests of one that has fewer.
func (d *Directory) dropEnded() {
	var by protocol.ParticipantID
	var most ended
	for id, e := range d.ended.All() {
		if e.digests.Len() > most.digests.Len() {
			by, most = id, e
		}
	}
	digest, _ := most.digests.Get(most.first)
	d.digests = d.digests.Delete(digest)
	d.ended = d.ended.Set(by, ended{most.digests.Delete(most.first), most.first + 1})
}

func (d *Directory) putParticipant(c DirectoryChange) error {
	s := d.Space(c.Space)
	p := DirectoryParticipant{ID: c.Participant}
	before := s.Participant(c.Participant)
	if before != nil {
		p = *before
	}
	bytes := d.bytes - size(p.Capabilities) + size(c.Capabilities)
	switch {
	case before != nil && c.IfAbsent:
		return refuse("/participant_id", "%s is a participant of %s already", c.Participant, c.Space)
	case before == nil && d.participants >= MaxParticipants:
		return refuse("/participant_id", "there are %d participants, which is the maximum", MaxParticipants)
	case s == nil && d.spaces.Len() >= MaxSpaces:
		return refuse("/space", "there are %d spaces, which is the maximum", MaxSpaces)
	case bytes > MaxDirectoryBytes:
		return refuse("/capabilities", "the capabilities of all participants have more than %d bytes", MaxDirectoryBytes)
	}
	if before == nil {
		d.participants++
	}
	d.bytes = bytes
	p.By, p.At, p.Capabilities, p.Limits = c.By, c.At, c.Capabilities, c.Limits
	if s == nil {
		s = &DirectorySpace{Name: c.Space}
	}
	d.set(s, &p)
	return nil
}

// set replaces a participant of a space.
func (d *Directory) set(s *DirectorySpace, p *DirectoryParticipant) {
	next := *s
	next.participants = s.participants.Set(p.ID, p)
	d.spaces = d.spaces.Set(s.Name, &next)
}

// find returns the participant of a change.
func (d *Directory) find(c DirectoryChange) (*DirectorySpace, *DirectoryParticipant, error) {
	s := d.Space(c.Space)
	p := s.Participant(c.Participant)
	if p == nil {
		return nil, nil, refuse("/participant_id", "%s is not a participant of %s that administration has made", c.Participant, c.Space)
	}
	return s, p, nil
}

func (d *Directory) removeParticipant(c DirectoryChange) error {
	s, p, err := d.find(c)
	if err != nil {
		return err
	}
	d.forget(p)
	next := *s
	next.participants = s.participants.Delete(p.ID)
	if !next.Made && next.participants.Len() == 0 {
		d.spaces = d.spaces.Delete(s.Name)
		return nil
	}
	d.spaces = d.spaces.Set(s.Name, &next)
	return nil
}

func (d *Directory) issue(c DirectoryChange) error {
	s, p, err := d.find(c)
	if err != nil {
		return err
	}
	if d.digests.Has(digestKey(c.Hash)) {
		return refuse("/token_sha256", "this token was issued before, to this or another participant, and is not accepted again even if it has ended; generate a new one")
	}
	if d.tokens >= MaxTokens {
		d.dropExpired(c.At)
		s, p, _ = d.find(c)
	}
	if d.tokens >= MaxTokens {
		return refuse("/token_sha256", "there are %d tokens, which is the maximum", MaxTokens)
	}
	next := *p
	next.Tokens = d.valid(p, c.At)
	if c.Rotates {
		end := c.At.Add(c.Overlap)
		for i, t := range next.Tokens {
			if t.Expires.IsZero() || t.Expires.After(end) {
				next.Tokens[i].Expires = end
			}
		}
	}
	if len(next.Tokens) >= MaxTokensPerParticipant {
		return refuse("/participant_id", "%s has %d tokens, which is the maximum; revoke one first", c.Participant, MaxTokensPerParticipant)
	}
	next.Tokens = append(next.Tokens, DirectoryToken{ID: c.ID, By: c.By, At: c.At, Hash: c.Hash, Expires: c.Expires})
	d.tokens++
	d.digests = d.digests.Set(digestKey(c.Hash), struct{}{})
	d.set(s, &next)
	return nil
}

// valid returns a copy of the tokens of a participant without the ones that have
// expired, which end.
func (d *Directory) valid(p *DirectoryParticipant, now time.Time) []DirectoryToken {
	list := make([]DirectoryToken, 0, len(p.Tokens)+1)
	for _, t := range p.Tokens {
		if t.expired(now) {
			d.end(&t)
			continue
		}
		list = append(list, t)
	}
	return list
}

func (t *DirectoryToken) expired(now time.Time) bool {
	return !t.Expires.IsZero() && !now.Before(t.Expires)
}

// dropExpired drops the expired tokens of all participants.
func (d *Directory) dropExpired(now time.Time) {
	for _, s := range d.spaces.All() {
		for _, p := range s.participants.All() {
			if !slices.ContainsFunc(p.Tokens, func(t DirectoryToken) bool { return t.expired(now) }) {
				continue
			}
			next := *p
			next.Tokens = d.valid(p, now)
			d.set(d.Space(s.Name), &next)
		}
	}
}

func (d *Directory) revoke(c DirectoryChange) error {
	s, p, err := d.find(c)
	if err != nil {
		return err
	}
	next := *p
	next.Tokens = nil
	for _, t := range p.Tokens {
		if c.TokenID != "" && t.ID != c.TokenID {
			next.Tokens = append(next.Tokens, t)
			continue
		}
		d.end(&t)
	}
	if len(next.Tokens) == len(p.Tokens) {
		return refuse("/token_id", "%s in %s has no token %s", c.Participant, c.Space, strconv.Quote(string(c.TokenID)))
	}
	d.set(s, &next)
	return nil
}
