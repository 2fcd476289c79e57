package space

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// maxKinds bounds the kinds of calls that a Scorecard tells apart; otherKinds are the rest.
const (
	maxKinds   = 100
	otherKinds = "other"
)

// Scorecard counts what deciders said about the proposals of a log, and what people did. It is
// read backwards: a decision precedes the opinions that were there before it, and these their
// proposal, with which all of them are counted.
//
// What counts is the first opinion of a reviewer, if it precedes the decision of a person and
// the expiry of the proposal. A reviewer that decided said what it decided. A person who makes
// another call than the proposed one has rejected that. A demotion that names a decision of a
// reviewer is the opposite decision of a person.
type Scorecard struct {
	panel     panel
	since     time.Time
	open      map[protocol.ID]verdicts // on proposals that were not read yet
	undone    map[protocol.ID]undoing  // by the decision that a demotion names
	kinds     map[string]struct{}      // that are told apart
	all       score                    // of all proposals; counts Proposals alone
	rules     score
	reviewers []reviewer // in the order of the panel
	people    map[protocol.ParticipantID]*score
	size      int
}

// panel is who decides on the proposals of a space.
type panel struct {
	reviewers []protocol.ParticipantID
	// judges reports whether a proposal is one for a reviewer, or for the rules (""), to judge.
	judges func(reviewer protocol.ParticipantID, p *ring.Entry, payload protocol.Value) bool
	// isPerson reports whether a participant is a person. It is asked if the log does not say
	// who decided.
	isPerson func(protocol.ParticipantID) bool
	// kind names the kind of a call.
	kind func(call protocol.Value) string
}

// score is how a decider has done, also by the kind of call.
type score struct {
	tally
	kinds map[string]*tally
}

type tally struct {
	api.Tally          // without latencies
	delays    []uint32 // how often each bucket of delays occurred
}

// reviewer is the score of a reviewer, and its proof.
type reviewer struct {
	score
	demoted  protocol.Seq   // its last demotion; 0: none was read
	compared []protocol.Seq // of the decisions of people on its opinions since then
	lastMiss protocol.Seq   // the last of them that showed a miss
}

// verdicts is what was said about a proposal: the opinions, and the decision that settled it.
type verdicts struct {
	opinions []opinion // one of each reviewer

	from            protocol.ParticipantID // of the decision; "": none
	by              ring.Decider           // DeciderPerson, DeciderReviewer; "": neither
	seq             protocol.Seq
	ts              time.Time
	approved, exact bool         // exact: it is the proposed call
	undone          protocol.Seq // by this demotion; 0: it was not
}

// undoing is a demotion that names a decision.
type undoing struct {
	reviewer protocol.ParticipantID
	seq      protocol.Seq
}

type opinion struct {
	reviewer int
	verdict  string
	ts       time.Time
}

// newScorecard returns the Scorecard of an empty log. Proposals from before since count for
// proofs alone.
func newScorecard(p panel, since time.Time) *Scorecard {
	return &Scorecard{
		panel: p, since: since, reviewers: make([]reviewer, len(p.reviewers)),
		open: make(map[protocol.ID]verdicts), undone: make(map[protocol.ID]undoing),
		kinds: make(map[string]struct{}), people: make(map[protocol.ParticipantID]*score),
	}
}

// Size is about the memory of the scorecard, in bytes.
func (s *Scorecard) Size() int {
	return s.size + verdictsBytes*len(s.open) + undoingBytes*len(s.undone)
}

// The memory of what a Scorecard holds, in bytes.
const (
	verdictsBytes = 300
	undoingBytes  = 200
	opinionBytes  = 64
	scoreBytes    = 300 // and of each kind
)

// add adds an entry that precedes all that were added.
func (s *Scorecard) add(entry *ring.Entry) {
	e := entry.Envelope
	switch {
	case e.Kind == protocol.KindMCPProposal:
		s.count(entry)
	case entry.Settles() != "":
		s.settle(entry)
	case e.Kind == protocol.KindMCPRequest && !e.TS.Before(s.since) && deciderOf(entry) == ring.DeciderRule:
		s.score(&s.rules, s.kindOf(entry.Payload()), api.Tally{Proposals: 1, Covered: 1, Approved: 1, Decided: 1, Saved: 1}, none)
	case e.Kind == protocol.KindMCPOpinion && len(e.Correlation.IDs) == 1:
		if i := slices.Index(s.panel.reviewers, e.From); i >= 0 {
			s.say(e.Correlation.IDs[0], opinion{i, entry.Payload().Get("verdict").Text(), e.TS})
		}
	case e.Kind == protocol.KindReviewerDemote:
		s.demote(e, protocol.ParticipantIn(entry.Payload(), "participant_id"))
	}
}

// deciderOf returns who has decided on a call, as far as it was recorded.
func deciderOf(e *ring.Entry) ring.Decider {
	reason := ring.ReadReason(e.Private())
	if reason == nil {
		return ""
	}
	return reason.Decider
}

// demote notes the last demotion of a reviewer, and the decision that it names.
func (s *Scorecard) demote(e *protocol.Envelope, who protocol.ParticipantID) {
	i := slices.Index(s.panel.reviewers, who)
	if i < 0 {
		return
	}
	if s.reviewers[i].demoted == 0 {
		s.reviewers[i].demoted = e.Seq
	}
	for _, id := range e.Correlation.IDs {
		s.undone[id] = undoing{who, e.Seq}
	}
}

// say notes an opinion. An earlier one of the same reviewer replaces it.
func (s *Scorecard) say(proposal protocol.ID, o opinion) {
	v := s.open[proposal]
	i := slices.IndexFunc(v.opinions, func(x opinion) bool { return x.reviewer == o.reviewer })
	if i >= 0 {
		v.opinions[i] = o
		return
	}
	v.opinions = append(v.opinions, o)
	s.open[proposal] = v
	s.size += opinionBytes
}

// settle notes the entry that settles a proposal. The opinions that follow it do not count.
func (s *Scorecard) settle(entry *ring.Entry) {
	e := entry.Envelope
	v := verdicts{from: e.From, seq: e.Seq, ts: e.TS, approved: e.Kind == protocol.KindMCPRequest}
	v.exact = v.approved && !entry.Payload().Get("edited").Bool()
	if u := s.undone[e.ID]; u.reviewer == e.From {
		v.undone = u.seq
	}
	delete(s.undone, e.ID)
	if e.Kind != protocol.KindMCPWithdraw {
		v.by = deciderOf(entry)
		switch {
		case v.by != "":
		case slices.Contains(s.panel.reviewers, e.From):
			v.by = ring.DeciderReviewer
		case s.panel.isPerson(e.From):
			v.by = ring.DeciderPerson
		}
	}
	s.size -= opinionBytes * len(s.open[entry.Settles()].opinions)
	s.open[entry.Settles()] = v
}

// person returns what a person said about the proposed call ("": nothing), and where.
func (v *verdicts) person() (verdict string, at protocol.Seq) {
	switch {
	case v.by == ring.DeciderPerson:
		return verdictOf(v.exact), v.seq
	case v.by == ring.DeciderReviewer && v.undone > 0:
		return verdictOf(!v.exact), v.undone
	}
	return "", 0
}

func verdictOf(approved bool) string {
	if approved {
		return protocol.OpinionApprove
	}
	return protocol.OpinionReject
}

// count counts a proposal, with what was said about it.
func (s *Scorecard) count(entry *ring.Entry) {
	p, payload := entry.Envelope, entry.Payload()
	v := s.open[p.ID]
	delete(s.open, p.ID)
	s.size -= opinionBytes * len(v.opinions)
	if v.from == p.From {
		v.by = "" // its proposer took it back
	}
	person, decided := v.person()
	expires := exchange.ExpiresAt(payload)
	kind, counts := "", !p.TS.Before(s.since)
	if counts {
		kind = s.kindOf(payload)
	}
	for i, id := range s.panel.reviewers {
		if id == p.From || !s.panel.judges(id, entry, payload) {
			continue
		}
		said, own, delay := "", v.by == ring.DeciderReviewer && v.from == id, none
		if own {
			said, delay = verdictOf(v.approved), v.ts.Sub(p.TS)
		}
		for _, o := range v.opinions {
			if o.reviewer == i && !own && (expires.IsZero() || o.ts.Before(expires)) {
				said, delay = o.verdict, o.ts.Sub(p.TS)
			}
		}
		r, t := &s.reviewers[i], tallyOf(said, person, own)
		if t.Compared > 0 && p.Seq > r.demoted {
			r.compared = append(r.compared, decided)
			s.size += 16 // the slice grows by doubling
			if t.Misses > 0 {
				r.lastMiss = max(r.lastMiss, decided)
			}
		}
		if counts {
			s.score(&r.score, kind, t, delay)
		}
	}
	if !counts {
		return
	}
	s.score(&s.all, kind, api.Tally{Proposals: 1}, none)
	if s.panel.judges("", entry, payload) {
		s.score(&s.rules, kind, api.Tally{Proposals: 1}, none)
	}
	if v.by == ring.DeciderPerson {
		t := api.Tally{Covered: 1, Decided: 1, Rejected: 1}
		if v.approved {
			t.Approved, t.Rejected = 1, 0
		}
		if s.people[v.from] == nil {
			s.people[v.from] = new(score)
			s.size += scoreBytes
		}
		s.score(s.people[v.from], kind, t, v.ts.Sub(p.TS))
	}
}

// tallyOf compares what a reviewer said about one proposal with what a person did ("": nothing).
// own: the reviewer has settled it.
func tallyOf(said, person string, own bool) api.Tally {
	t := api.Tally{Proposals: 1}
	switch said {
	case protocol.OpinionApprove:
		t.Covered, t.Approved = 1, 1
	case protocol.OpinionReject:
		t.Covered, t.Rejected = 1, 1
	case protocol.OpinionAbstain:
		t.Abstained = 1
	}
	if own {
		t.Decided = 1
	}
	if person == "" || t.Covered == 0 {
		t.Saved = t.Decided
		return t
	}
	t.Compared = 1
	switch {
	case said == person:
		t.Saved = 1
	case person == protocol.OpinionReject:
		t.Misses = 1
	default:
		t.FalseAlarms = 1
	}
	if person == protocol.OpinionReject {
		t.PersonRejections, t.AgreedRejections = 1, t.Rejected
	}
	return t
}

// kindOf returns the kind under which a call is counted.
func (s *Scorecard) kindOf(call protocol.Value) string {
	kind := s.panel.kind(call)
	if _, known := s.kinds[kind]; !known {
		if len(s.kinds) == maxKinds {
			return otherKinds
		}
		s.kinds[kind] = struct{}{}
		s.size += scoreBytes + len(kind)
	}
	return kind
}

// score adds the tally of one call to a score, with the time that the decider took.
func (s *Scorecard) score(to *score, kind string, t api.Tally, delay time.Duration) {
	if to.kinds == nil {
		to.kinds = make(map[string]*tally)
	}
	k := to.kinds[kind]
	if k == nil {
		k = new(tally)
		to.kinds[kind] = k
		s.size += scoreBytes
	}
	for _, sum := range []*tally{&to.tally, k} {
		sum.add(&t)
		if delay != none {
			s.size += sum.took(delay)
		}
	}
}

func (t *tally) add(x *api.Tally) {
	t.Proposals += x.Proposals
	t.Covered += x.Covered
	t.Approved += x.Approved
	t.Rejected += x.Rejected
	t.Abstained += x.Abstained
	t.Decided += x.Decided
	t.Compared += x.Compared
	t.Misses += x.Misses
	t.FalseAlarms += x.FalseAlarms
	t.AgreedRejections += x.AgreedRejections
	t.PersonRejections += x.PersonRejections
	t.Saved += x.Saved
}

// Delays are counted in buckets whose bounds grow by delayStep from a millisecond on, so that
// percentiles take little memory.
const (
	none      time.Duration = math.MinInt64
	delayStep               = 1.1
	maxDelays               = 256 // the last one has more than a year
)

// took counts a delay, and returns by how many bytes that grows the tally.
func (t *tally) took(d time.Duration) (grown int) {
	bucket := 0
	if d > time.Millisecond {
		bucket = min(maxDelays-1, int(math.Ceil(math.Log(float64(d)/float64(time.Millisecond))/math.Log(delayStep))))
	}
	if more := bucket + 1 - len(t.delays); more > 0 {
		t.delays = append(t.delays, make([]uint32, more)...)
		grown = 4 * more
	}
	t.delays[bucket]++
	return grown
}

// latency returns the seconds that a share of the delays (0.5: the median) took at most, to 5 %;
// 0: less than a millisecond, or there are none.
func (t *tally) latency(share float64) float64 {
	total := 0
	for _, n := range t.delays {
		total += int(n)
	}
	rank := max(1, int(math.Ceil(share*float64(total))))
	for bucket, n := range t.delays {
		rank -= int(n)
		switch {
		case rank > 0:
		case bucket == 0:
			return 0
		default:
			return time.Millisecond.Seconds() * math.Pow(delayStep, float64(bucket)-0.5)
		}
	}
	return 0
}

func (t *tally) report() api.Tally {
	out := t.Tally
	out.LatencyP50, out.LatencyP99 = t.latency(0.5), t.latency(0.99)
	return out
}

// report returns the score for those who read it.
func (s *score) report() *api.Score {
	out := &api.Score{Tally: s.tally.report()}
	for kind, t := range s.kinds {
		out.Kinds = append(out.Kinds, api.KindScore{Kind: kind, Tally: t.report()})
	}
	slices.SortFunc(out.Kinds, func(a, b api.KindScore) int {
		return cmp.Or(cmp.Compare(b.Proposals, a.Proposals), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// Rules returns the score of the rules: Proposals are the calls that they let through and the
// proposals that they did not.
func (s *Scorecard) Rules() *api.Score { return s.rules.report() }

// Reviewer returns the score of a reviewer.
func (s *Scorecard) Reviewer(id protocol.ParticipantID) *api.Score { return s.reviewer(id).report() }

// reviewer returns a reviewer; an empty one if it is none of the panel.
func (s *Scorecard) reviewer(id protocol.ParticipantID) *reviewer {
	i := slices.Index(s.panel.reviewers, id)
	if i < 0 {
		return new(reviewer)
	}
	return &s.reviewers[i]
}

// Proof returns what a reviewer has shown on the proposals since its last demotion: on how many of
// its opinions people have decided, and how many of those decisions followed its last miss. A
// rejection of a proposal that was not read counts as a miss, unless the demotion was: nobody
// knows what the reviewer has said.
func (s *Scorecard) Proof(id protocol.ParticipantID) (compared, sinceMiss int) {
	r := s.reviewer(id)
	lastMiss := r.lastMiss
	for _, v := range s.open {
		verdict, at := v.person()
		if verdict == protocol.OpinionReject && r.demoted == 0 {
			lastMiss = max(lastMiss, at)
		}
	}
	for _, at := range r.compared {
		if at > lastMiss {
			sinceMiss++
		}
	}
	return len(r.compared), sinceMiss
}

// People returns the scores of those who have decided. Their Proposals are all proposals.
func (s *Scorecard) People() map[protocol.ParticipantID]*api.Score {
	people := make(map[protocol.ParticipantID]*api.Score, len(s.people))
	for id, person := range s.people {
		person.Proposals = s.all.Proposals
		for kind, t := range person.kinds {
			t.Proposals = s.all.kinds[kind].Proposals
		}
		people[id] = person.report()
	}
	return people
}
