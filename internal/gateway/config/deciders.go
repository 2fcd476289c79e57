package config

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// What a promotion needs by default.
const (
	defaultDecisions   = 50
	defaultWithoutMiss = 50
)

// The entries of deciders, in the order in which they are asked, and what they are called.
var (
	deciderTypes = []string{"rules", "reviewer", "people"}
	deciderNames = []string{"rules", "reviewers", "people"}
)

// deciders reads who decides on the proposals of a space, whose participants are known. It checks
// that what only people may decide can be decided, and that nobody is both a reviewer and one of
// the people who judge it.
func (r *resolver) deciders(s *Space, n *node) {
	d := &s.Deciders
	for _, x := range n.get("human_only").elements() {
		d.HumanOnly = append(d.HumanOnly, r.call(s, x, false, true))
	}
	asked := 0
	for _, x := range n.get("deciders").elements() {
		at := slices.IndexFunc(deciderTypes, func(key string) bool { return x.get(key).isSet() })
		switch {
		case at < 0: // was reported
			continue
		case at < asked:
			r.errorf(x, "%s are asked before %s; move this entry up", deciderNames[at], deciderNames[asked])
		}
		asked = max(asked, at)
		switch deciderTypes[at] {
		case "rules":
			for _, rule := range x.get("rules").elements() {
				d.Rules = append(d.Rules, authority.Rule{Capability: r.call(s, rule, true, false), Reason: rule.get("reason").words()})
			}
		case "reviewer":
			d.Reviewers = append(d.Reviewers, r.reviewer(s, x))
		case "people":
			var stage authority.Stage
			for _, who := range x.get("people").elements() {
				stage.People = append(stage.People, who.text)
				if !glob.HasStar(who.text) {
					r.knows(s, who)
				}
			}
			if after := x.get("after"); after.isSet() {
				r.decode(after, &stage.After)
			}
			d.People = append(d.People, stage)
		}
	}
	list := n.get("deciders")
	if list.isSet() && list.faulty || n.get("human_only").isSet() && n.get("human_only").faulty {
		return
	}
	if len(d.People) == 0 && len(d.HumanOnly) > 0 {
		r.errorf(n.get("human_only"), "nobody can decide on these calls: add people to deciders")
	}
	mayDecide := func(p Participant) bool { // on some proposals
		if d.PeoplePattern(p.ID) == "" {
			return false
		}
		rights := p.rights()
		return rights.Possible(capability.Decide) || rights.Possible(protocol.KindMCPRequest)
	}
	if len(d.People) > 0 && !slices.ContainsFunc(s.Participants, mayDecide) && s.known() != nil && r.cfg.Administration.Space == "" {
		r.warnf(list, "none of the people can decide: give one of them the capability %s, or %s", capability.Decide, protocol.KindMCPRequest)
	}
	if len(d.People) == 0 && len(d.Reviewers) > 0 {
		r.errorf(list, "nobody could promote or demote the reviewers: add people to deciders")
	}
	for _, x := range list.elements() {
		id := x.get("reviewer")
		if by := d.PeoplePattern(protocol.ParticipantID(id.words())); id.isSet() && by != "" {
			r.errorf(id, "%s is a reviewer and, by %s, one of the people; people judge reviewers, so it can only be one of both",
				textutil.Shorten(id.text, 40), textutil.Shorten(by, 40))
		}
	}
}

// words returns the text of a value; "" if it has none.
func (n *node) words() string {
	if !n.isSet() {
		return ""
	}
	return n.text
}

// call compiles a pattern of calls, and warns if it probably does not match what is meant. rule: it
// may have deny, and a reason. possible: it matches more than it shows, as a deny rule.
func (r *resolver) call(s *Space, n *node, rule, possible bool) *capability.Capability {
	pattern := *n
	if rule {
		pattern.members = slices.DeleteFunc(slices.Clone(n.members), func(m member) bool { return m.key != nil && m.key.text == "reason" })
	}
	c := r.compile(n, pattern.appendJSON(nil), capability.ParseCall)
	switch {
	case c == nil:
		return nil
	case c.Deny() && !rule:
		r.errorf(n, "deny has no meaning here; leave it out")
	case !n.faulty:
		for _, f := range capability.LintCall(c, possible, s.known()) {
			r.found(n, f)
		}
	}
	return c
}

func (r *resolver) reviewer(s *Space, n *node) authority.Reviewer {
	id := n.get("reviewer")
	v := authority.Reviewer{
		ID: protocol.ParticipantID(id.text), Decides: n.get("mode").is("decide"),
		Decisions: defaultDecisions, WithoutMiss: defaultWithoutMiss,
	}
	for _, x := range n.get("for").elements() {
		v.For = append(v.For, r.call(s, x, false, false))
	}
	if of := n.get("promote"); of.isSet() {
		if x := of.get("decisions"); x.isSet() {
			r.decode(x, &v.Decisions)
			v.WithoutMiss = min(v.WithoutMiss, v.Decisions)
		}
		if x := of.get("without_miss"); x.isSet() {
			r.decode(x, &v.WithoutMiss)
		}
	}
	if slices.ContainsFunc(s.Deciders.Reviewers, func(other authority.Reviewer) bool { return other.ID == v.ID }) {
		r.errorf(id, "%s is already a reviewer; make one entry of both", textutil.Shorten(id.text, 40))
		return v
	}
	r.knows(s, id)
	i := slices.IndexFunc(s.Participants, func(p Participant) bool { return p.ID == v.ID })
	if i < 0 {
		return v
	}
	rights, name := s.Participants[i].rights(), textutil.Shorten(id.text, 40)
	if !rights.Possible(protocol.KindMCPOpinion) {
		r.warnf(id, "%s has no capability %s, so it cannot give opinions", name, protocol.KindMCPOpinion)
	}
	if !rights.Possible(capability.Decide) {
		r.warnf(id, "%s has no capability %s, so it cannot decide once it is promoted", name, capability.Decide)
	}
	if !s.Everyone && !rights.Observes() {
		r.warnf(id, "%s has no capability observe, so it does not see approvals, and proposals that are addressed to others", name)
	}
	return v
}

// rights returns what the configuration gives a participant.
func (p *Participant) rights() capability.Rights {
	ledger := capability.NewLedger(capability.Configured{Participants: map[protocol.ParticipantID][]*capability.Capability{p.ID: p.Capabilities}})
	return ledger.Effective(p.ID, time.Now())
}

// knows reports a participant that the space does not have. With an issuer or an
// administrative space, any name may join.
func (r *resolver) knows(s *Space, who *node) {
	known := s.known()
	if known == nil || r.cfg.Administration.Space != "" || slices.Contains(known, protocol.ParticipantID(who.text)) {
		return
	}
	names := make([]string, len(known))
	for i, id := range known {
		names[i] = string(id)
	}
	r.errorf(who, "%s is no participant of the space; %s", textutil.Shorten(who.text, 40), textutil.Suggest(who.text, names))
}
