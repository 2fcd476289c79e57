package config

import (
	"net"
	"net/url"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/protocol"
)

func (r *resolver) spaces(cfg *Config, f *fileShape) {
	if len(f.Spaces.entries) == 0 && !r.invalidAt[f.place] {
		at := f.Spaces.place
		if !at.isSet() {
			at = f.place
		}
		r.warnf(at, "no space is configured, so nobody can connect; %s", minimal)
	}
	for i := range f.Spaces.entries {
		e := &f.Spaces.entries[i]
		if !validSpaceKey(e.name.value) {
			r.errorf(e.name.place, "%q cannot be a space; a name is 1 to %d of A-Z a-z 0-9 . _ : -, with * for any text",
				textutil.Shorten(e.name.value, 40), protocol.MaxIDBytes)
		}
		cfg.Spaces = append(cfg.Spaces, r.space(cfg, e.name, &e.value))
	}
}

func (r *resolver) space(cfg *Config, name textValue, f *spaceShape) Space {
	s := Space{Name: name.value, Limits: r.limits(cfg.Limits, &f.Limits)}
	r.dialect(&s, f.Dialect)
	r.visibility(&s, f.Visibility)
	if s.Dialect == protocol.DialectMEW04 && !s.Everyone {
		r.warnf(f.Dialect.place, "clients of mew/v0.4 address what all are to see; give %s visibility: everyone", textutil.Shorten(s.Name, 40))
	}
	r.decide(&s, f.Proposals.Decide)
	seen := make(map[[32]byte]textValue, len(f.Participants.entries))
	for i := range f.Participants.entries {
		e := &f.Participants.entries[i]
		p, hasToken := r.participant(&s, e.name, &e.value)
		if first, taken := seen[p.TokenHash]; taken && hasToken {
			r.errorf(e.name.place, "%s has the same token as %s in line %d; each needs its own, or they cannot be told apart",
				textutil.Shorten(e.name.value, 40), textutil.Shorten(first.value, 40), first.line)
		} else if hasToken {
			seen[p.TokenHash] = e.name
		}
		s.Participants = append(s.Participants, p)
	}
	if f.JWT.isSet() {
		s.JWT = r.jwt(&s, &f.JWT)
	}
	if len(s.Participants) == 0 && s.JWT == nil && !r.invalidAt[f.place] {
		r.warnf(name.place, "nobody can join %s; give it participants or jwt", textutil.Shorten(s.Name, 40))
	}
	r.lint(&s)
	return s
}

func (r *resolver) dialect(s *Space, v textValue) {
	if v.value == "" {
		return
	}
	d, ok := protocol.ParseDialect(v.value)
	if !ok {
		r.errorf(v.place, "unknown dialect %q; %s", textutil.Shorten(v.value, 40), suggest(v.value, protocol.DialectNames()))
	}
	s.Dialect = d
}

func (r *resolver) visibility(s *Space, v textValue) {
	switch v.value {
	case "", "addressed":
	case "everyone":
		s.Everyone = true
	default:
		r.errorf(v.place, "unknown visibility %q; %s", textutil.Shorten(v.value, 40), suggest(v.value, []string{"addressed", "everyone"}))
	}
}

func (r *resolver) decide(s *Space, v textValue) {
	switch v.value {
	case "", "callers":
	case "explicit":
		s.DecideExplicitly = true
	default:
		r.errorf(v.place, "unknown proposals.decide %q; %s", textutil.Shorten(v.value, 40), suggest(v.value, []string{"callers", "explicit"}))
	}
}

func (r *resolver) participant(s *Space, name textValue, f *participantShape) (p Participant, hasToken bool) {
	switch {
	case protocol.ParticipantID(name.value).IsReserved():
		r.errorf(name.place, "%q cannot be a participant; ids that begin with system: are the gateway's", textutil.Shorten(name.value, 40))
	case !protocol.ValidParticipantID(name.value):
		r.errorf(name.place, "%q cannot be a participant; an id is 1 to %d of A-Z a-z 0-9 . _ : - @ + |",
			textutil.Shorten(name.value, 40), protocol.MaxIDBytes)
	}
	p = Participant{
		ID:           protocol.ParticipantID(name.value),
		Limits:       r.limits(s.Limits, &f.Limits),
		Capabilities: r.capabilities(name, f.place, f.Capabilities),
	}
	p.TokenHash, hasToken = r.token(name, f)
	return p, hasToken
}

func (r *resolver) jwt(s *Space, f *jwtShape) *JWT {
	j := &JWT{
		Issuer: f.Issuer.value, Audience: f.Audience.value, ParticipantClaim: f.ParticipantClaim.value,
		Limits:       r.limits(s.Limits, &f.Limits),
		Capabilities: r.capabilities(textValue{f.place, "jwt"}, f.place, f.Capabilities),
	}
	if j.ParticipantClaim == "" {
		j.ParticipantClaim = "sub"
	}
	if j.Audience == "" && !r.invalidAt[f.place] {
		r.errorf(f.place, "jwt needs an audience, or tokens that the issuer made for others would do here")
	}
	if j.Issuer == "" {
		if !r.invalidAt[f.place] {
			r.errorf(f.place, "jwt needs an issuer, such as https://id.example.org")
		}
		return j
	}
	u, err := url.Parse(j.Issuer)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		r.errorf(f.Issuer.place, "%q is not an issuer; write its https:// address as it stands in the claim iss", textutil.Shorten(j.Issuer, 40))
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		r.warnf(f.Issuer.place, "the issuer's keys are fetched over http, so whoever sits between can let anybody in; use https")
	}
	return j
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
