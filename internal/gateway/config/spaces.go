package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/protocol"
)

// Space returns the configured space for a name: the space of that name, or the
// most specific glob that matches. The bool is false without a match.
func (c *Config) Space(name string) (*Space, bool) {
	var best *Space
	for i := range c.Spaces {
		s := &c.Spaces[i]
		if s.Name == name {
			return s, true
		}
		// Names contain no other character that path.Match treats specially: no
		// slash, no bracket.
		matches, err := path.Match(s.Name, name)
		if matches && err == nil && protocol.ValidSpaceName(name) && (best == nil || moreSpecific(s.Name, best.Name)) {
			best = s
		}
	}
	return best, best != nil
}

// moreSpecific orders globs: more literal characters first, then fewer stars,
// then alphabetically, so that the order is total.
func moreSpecific(a, b string) bool {
	starsA, starsB := strings.Count(a, "*"), strings.Count(b, "*")
	return cmp.Or(cmp.Compare(len(b)-starsB, len(a)-starsA), cmp.Compare(starsA, starsB), cmp.Compare(a, b)) < 0
}

func (r *resolver) space(name, n *node) Space {
	s := Space{
		Name: name.text, Limits: r.cfg.Limits,
		Everyone:         n.get("visibility").is("everyone"),
		DecideExplicitly: n.get("proposals", "decide").is("explicit"),
	}
	r.decode(n, &s)
	if d := n.get("dialect"); d.isSet() {
		s.Dialect, _ = protocol.ParseDialect(d.text)
		if s.Dialect == protocol.DialectMEW04 && !s.Everyone {
			r.warnf(d, "clients of mew/v0.4 expect to receive what is addressed to others; set visibility: everyone for %s", textutil.Shorten(s.Name, 40))
		}
	}
	owners := make(map[[32]byte]*node)
	for _, m := range n.get("participants").entries() {
		p := Participant{ID: protocol.ParticipantID(m.key.text), Limits: s.Limits}
		r.decode(m.value, &p)
		p.Description = strings.TrimSpace(p.Description)
		hash, ok := r.token(m.value)
		if first := owners[hash]; ok && first != nil {
			r.errorf(m.key, "%s has the same token as %s in line %d; each participant needs its own token",
				textutil.Shorten(m.key.text, 40), textutil.Shorten(first.text, 40), first.line)
		} else if ok {
			owners[hash] = m.key
		}
		p.TokenHash = hash
		s.Participants = append(s.Participants, p)
	}
	if j := n.get("jwt"); j != nil {
		s.JWT = &JWT{ParticipantClaim: "sub", Limits: s.Limits}
		r.decode(j, s.JWT)
		r.issuer(j.get("issuer"))
	}
	if len(s.Participants) == 0 && s.JWT == nil && !n.faulty {
		r.warnf(name, "no participant can join %s; add participants or jwt", textutil.Shorten(s.Name, 40))
	}
	r.deciders(&s, n.get("proposals"))
	// Warnings about capabilities that have no effect or probably an unintended one. They allow
	// nothing by mistake.
	if j := n.get("jwt"); j != nil {
		r.lintHolder("jwt", s.JWT.Capabilities, member{j, j}, nil)
	}
	known := s.known()
	for i, m := range n.get("participants").entries() {
		r.lintHolder(s.Participants[i].ID, s.Participants[i].Capabilities, m, known)
		if !m.value.faulty {
			r.lintPaths(&s, &s.Participants[i], m.value.get("capabilities"))
		}
	}
	if r.cfg.Retention.Age == 0 || r.cfg.Retention.Age >= 24*time.Hour {
		return s
	}
	budgets := []*node{n.get("budget"), n.get("jwt", "budget")}
	for _, m := range n.get("participants").entries() {
		budgets = append(budgets, m.value.get("budget"))
	}
	for _, b := range budgets {
		if b.isSet() {
			r.warnf(b, "retention.age is shorter than a day, so what was used before that is not counted after a restart; keep 24h or more")
		}
	}
	return s
}

// known returns the participants of a space; nil if any name may join, by an issuer.
func (s *Space) known() []protocol.ParticipantID {
	if s.JWT != nil {
		return nil
	}
	known := make([]protocol.ParticipantID, len(s.Participants))
	for i := range s.Participants {
		known[i] = s.Participants[i].ID
	}
	return known
}

// administration checks the name of the administrative space.
func (r *resolver) administration(n *node) {
	name := r.cfg.Administration.Space
	if name == "" || n.invalid {
		return
	}
	var names []string
	for _, s := range r.cfg.Spaces {
		if s.Name == name && len(s.Participants) == 0 {
			r.errorf(n, "the administrative space %s needs participants of its own, who are the administrators", textutil.Shorten(name, 40))
		}
		if s.Name == name {
			return
		}
		if !strings.Contains(s.Name, "*") {
			names = append(names, s.Name)
		}
	}
	hint := "add it, with the administrators as its participants"
	if len(names) > 0 {
		if s := textutil.Suggest(name, names); strings.HasPrefix(s, "did") {
			hint = s
		}
	}
	r.errorf(n, "spaces has no space %s; %s", textutil.Shorten(name, 40), hint)
}

func (r *resolver) issuer(n *node) {
	if !n.isSet() {
		return
	}
	u, err := url.Parse(n.text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		r.errorf(n, "%q is not an issuer; write its https:// address as in the claim iss", textutil.Shorten(n.text, 40))
	case u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		r.warnf(n, "the issuer's keys are fetched over http, so an attacker on the network can replace them; use https")
	}
}

// lintPaths warns about capabilities for calls to a participant without a root whose paths are
// relative. A participant that calls itself reports its folder.
func (r *resolver) lintPaths(s *Space, p *Participant, n *node) {
	for i, c := range p.Capabilities {
		for j := range s.Participants {
			host := &s.Participants[j]
			if host.ID != p.ID && host.Root == "" && c.NamesRecipient(host.ID) && c.RelativePaths() {
				id := textutil.Shorten(string(host.ID), 40)
				r.warnf(n.members[i].value, "it compares with relative paths, and %s has no root, so no absolute path matches; set root of %s", id, id)
			}
		}
	}
}

func (r *resolver) lintHolder(id protocol.ParticipantID, list []*capability.Capability, holder member, known []protocol.ParticipantID) {
	n := holder.value.get("capabilities")
	if holder.value.faulty {
		return // the remaining capabilities may not show the intention
	}
	if len(list) == 0 {
		at := holder.key
		if n.isSet() {
			at = n
		}
		r.warnf(at, "without capabilities a participant can only listen; list kinds such as chat, or \"*\" for all")
		return
	}
	id = protocol.ParticipantID(textutil.Shorten(string(id), 40))
	for _, f := range capability.Lint(id, list, known) {
		at := n
		if f.Index >= 0 {
			at = n.members[f.Index].value
		}
		r.found(at, f)
	}
}

// found warns of what Lint has found.
func (r *resolver) found(at *node, f capability.Finding) {
	r.warnf(at, "%s", f.Message)
	r.diagnostics[len(r.diagnostics)-1].Mistake = f.Mistake
}

// Bounds of a token. A token shorter than goodToken can be guessed; one longer
// than longestToken does not fit into a header.
const (
	goodToken    = 16
	longestToken = 16 << 10
)

// token returns the digest of a participant's token. No diagnostic quotes the
// value.
func (r *resolver) token(n *node) (hash [32]byte, ok bool) {
	literal, variable, file, sum := n.get("token"), n.get("token_env"), n.get("token_file"), n.get("token_sha256")
	switch {
	case literal.isSet():
		return r.tokenText(literal, "this token", literal.text)
	case variable.isSet():
		token, found := r.env(variable.text)
		if found {
			return r.tokenText(variable, "the token in "+variable.text, token)
		}
		r.errorf(variable, "the environment variable %s is not set; set it before the gateway starts, or use token_file, which a reload reads again",
			variable.text)
	case file.isSet() && r.alone:
		return sha256.Sum256([]byte(someToken(r.path(file.text)))), true
	case file.isSet():
		text, err := r.readFile(r.path(file.text))
		if err == nil {
			return r.tokenText(file, "the token in the file", strings.TrimSpace(string(text)))
		}
		r.errorf(file, "the token's file cannot be read: %s", reason(err))
	case sum.isSet():
		_, err := hex.Decode(hash[:], []byte(sum.text))
		if err == nil && hash != sha256.Sum256(nil) {
			return hash, true
		}
		r.errorf(sum, "this is the SHA-256 of nothing; hash the token itself")
	}
	return hash, false
}

func (r *resolver) tokenText(at *node, what, token string) (hash [32]byte, ok bool) {
	if token == "" {
		r.errorf(at, "%s is empty; make one with meup-gateway token", what)
		return hash, false
	}
	if len(token) > longestToken || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		r.errorf(at, "%s cannot be sent in a header; use up to %d visible ASCII characters without spaces", what, longestToken)
		return hash, false
	}
	if len(token) < goodToken {
		r.warnf(at, "%s has fewer than %d characters and can be guessed; make one with meup-gateway token", what, goodToken)
	}
	r.secrets = append(r.secrets, redact.NewSecret(token))
	return sha256.Sum256([]byte(token)), true
}
