package exchange

import (
	"math"
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Who decided, as the gateway records it with a request or a rejection.
const (
	ByRule     = "rule"
	ByReviewer = "reviewer"
	ByPerson   = "person"
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
	panel     Panel
	since     time.Time
	open      map[protocol.ID]*verdicts // by proposal
	undone    map[protocol.ID]undoing   // by the decision that a demotion names
	kinds     map[string]struct{}       // that are told apart
	all       Score                     // of all proposals; counts Proposals alone
	rules     Score
	reviewers []reviewer // in the order of the panel
	people    map[protocol.ParticipantID]*Score
	size      int
}

// Panel is who decides on the proposals of a space.
type Panel struct {
	Reviewers []protocol.ParticipantID
	// Judges reports whether a proposal is one for a reviewer, or for the rules (""), to judge.
	Judges func(reviewer protocol.ParticipantID, p *protocol.Envelope, payload protocol.Value) bool
	// IsPerson reports whether a participant is a person. It is asked if the log does not say
	// who decided.
	IsPerson func(protocol.ParticipantID) bool
	// Kind names the kind of a call.
	Kind func(call protocol.Value) string
}

// Score is how a decider has done, also by the kind of call.
type Score struct {
	Tally
	Kinds map[string]*Tally
}

// Tally has the counts of client/api's Tally.
type Tally struct {
	Proposals, Covered                               int
	Approved, Rejected, Abstained, Decided, Compared int
	Misses, FalseAlarms                              int
	AgreedRejections, PersonRejections               int
	Saved                                            int
	delays                                           []uint32 // how often each bucket of delays occurred
}

// Proof is what a reviewer has shown since its last demotion: on how many of its opinions
// people have decided, and how many of those decisions followed the last miss.
type Proof struct{ Compared, SinceMiss int }

// reviewer is the score of a reviewer, and its proof.
type reviewer struct {
	Score
	demoted  protocol.Seq   // its last demotion; 0: none was read
	compared []protocol.Seq // of the decisions of people on its opinions since then
	lastMiss protocol.Seq   // the last of them that showed a miss
}

// verdicts is what was said about a proposal that has not been read yet.
type verdicts struct {
	settled  settled
	opinions []opinion // one of each reviewer
}

// settled is the envelope that settled a proposal; the zero value: none.
type settled struct {
	from            protocol.ParticipantID
	by              string // ByPerson, ByReviewer; "": neither
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

// NewScorecard returns the Scorecard of an empty log. Proposals from before since count for
// proofs alone.
func NewScorecard(p Panel, since time.Time) *Scorecard {
	return &Scorecard{
		panel: p, since: since, reviewers: make([]reviewer, len(p.Reviewers)),
		open: make(map[protocol.ID]*verdicts), undone: make(map[protocol.ID]undoing),
		kinds: make(map[string]struct{}), people: make(map[protocol.ParticipantID]*Score),
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

// Add adds an envelope that precedes all that were added. settles is the proposal that it decides
// ("": none), and by what the gateway has recorded of who decided ("": nothing).
func (s *Scorecard) Add(e *protocol.Envelope, settles protocol.ID, by string) {
	switch {
	case e.Kind == protocol.KindMCPProposal:
		s.count(e)
	case settles != "":
		s.settle(e, settles, by)
	case e.Kind == protocol.KindMCPRequest && by == ByRule && !e.TS.Before(s.since):
		s.add(&s.rules, s.kindOf(e.ParsePayload()), Tally{Proposals: 1, Covered: 1, Approved: 1, Decided: 1, Saved: 1}, none)
	case e.Kind == protocol.KindMCPOpinion && len(e.Correlation.IDs) == 1:
		if i := slices.Index(s.panel.Reviewers, e.From); i >= 0 {
			s.say(e.Correlation.IDs[0], opinion{i, e.ParsePayload().Get("verdict").Text(), e.TS})
		}
	case e.Kind == protocol.KindReviewerDemote:
		s.demote(e)
	}
}

// demote notes the last demotion of a reviewer, and the decision that it names.
func (s *Scorecard) demote(e *protocol.Envelope) {
	who := protocol.ParticipantIn(e.ParsePayload(), "participant_id")
	i := slices.Index(s.panel.Reviewers, who)
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

func (s *Scorecard) verdictsOn(proposal protocol.ID) *verdicts {
	v := s.open[proposal]
	if v == nil {
		v = new(verdicts)
		s.open[proposal] = v
	}
	return v
}

// say notes an opinion. An earlier one of the same reviewer replaces it.
func (s *Scorecard) say(proposal protocol.ID, o opinion) {
	v := s.verdictsOn(proposal)
	i := slices.IndexFunc(v.opinions, func(x opinion) bool { return x.reviewer == o.reviewer })
	if i >= 0 {
		v.opinions[i] = o
		return
	}
	v.opinions = append(v.opinions, o)
	s.size += opinionBytes
}

// settle notes the envelope that settles a proposal. The opinions that follow it do not count.
func (s *Scorecard) settle(e *protocol.Envelope, proposal protocol.ID, by string) {
	approved := e.Kind == protocol.KindMCPRequest
	x := settled{from: e.From, by: by, seq: e.Seq, ts: e.TS, approved: approved}
	x.exact = approved && !e.ParsePayload().Get("edited").Bool()
	if u := s.undone[e.ID]; u.reviewer == e.From {
		x.undone = u.seq
	}
	delete(s.undone, e.ID)
	switch {
	case e.Kind == protocol.KindMCPWithdraw:
		x.by = ""
	case by != "":
	case slices.Contains(s.panel.Reviewers, e.From):
		x.by = ByReviewer
	case s.panel.IsPerson(e.From):
		x.by = ByPerson
	}
	v := s.verdictsOn(proposal)
	s.size -= opinionBytes * len(v.opinions)
	v.settled, v.opinions = x, nil
}

// person returns what a person said about the proposed call ("": nothing), and where.
func (x *settled) person() (verdict string, at protocol.Seq) {
	approved, at := x.exact, x.seq
	switch {
	case x.by == ByReviewer && x.undone > 0:
		approved, at = !approved, x.undone
	case x.by != ByPerson:
		return "", 0
	}
	return verdictOf(approved), at
}

func verdictOf(approved bool) string {
	if approved {
		return protocol.OpinionApprove
	}
	return protocol.OpinionReject
}

// count counts a proposal, with what was said about it.
func (s *Scorecard) count(p *protocol.Envelope) {
	v := s.open[p.ID]
	if v == nil {
		v = new(verdicts)
	}
	delete(s.open, p.ID)
	s.size -= opinionBytes * len(v.opinions)
	x := &v.settled
	if x.from == p.From {
		x.by = "" // its proposer took it back
	}
	payload := p.ParsePayload()
	expires := expiry(payload)
	person, decided := x.person()
	kind, counts := "", !p.TS.Before(s.since)
	if counts {
		kind = s.kindOf(payload)
	}
	for i, id := range s.panel.Reviewers {
		if id == p.From || !s.panel.Judges(id, p, payload) {
			continue
		}
		said, own, delay := "", false, none
		if x.by == ByReviewer && x.from == id {
			said, own, delay = verdictOf(x.approved), true, x.ts.Sub(p.TS)
		}
		for _, o := range v.opinions {
			if o.reviewer == i && !own && (expires.IsZero() || o.ts.Before(expires)) {
				said, delay = o.verdict, o.ts.Sub(p.TS)
			}
		}
		t := tallyOf(said, person, own)
		s.prove(&s.reviewers[i], p.Seq, &t, decided)
		if counts {
			s.add(&s.reviewers[i].Score, kind, t, delay)
		}
	}
	if !counts {
		return
	}
	s.add(&s.all, kind, Tally{Proposals: 1}, none)
	if s.panel.Judges("", p, payload) {
		s.add(&s.rules, kind, Tally{Proposals: 1}, none)
	}
	if x.by == ByPerson {
		t := Tally{Covered: 1, Decided: 1, Rejected: 1}
		if x.approved {
			t.Approved, t.Rejected = 1, 0
		}
		s.add(s.scoreOf(x.from), kind, t, x.ts.Sub(p.TS))
	}
}

// tallyOf compares what a reviewer said about one proposal with what a person did ("": nothing).
// own: the reviewer has settled it.
func tallyOf(said, person string, own bool) Tally {
	t := Tally{Proposals: 1, Covered: 1}
	switch said {
	case protocol.OpinionApprove:
		t.Approved = 1
	case protocol.OpinionReject:
		t.Rejected = 1
	case protocol.OpinionAbstain:
		return Tally{Proposals: 1, Abstained: 1}
	default:
		return Tally{Proposals: 1}
	}
	if own {
		t.Decided = 1
	}
	if person == "" {
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

// prove adds a proposal to the proof of a reviewer; decided is the decision of a person on it.
func (s *Scorecard) prove(r *reviewer, proposal protocol.Seq, t *Tally, decided protocol.Seq) {
	if t.Compared == 0 || proposal < r.demoted {
		return
	}
	r.compared = append(r.compared, decided)
	s.size += 16 // the slice grows by doubling
	if t.Misses > 0 {
		r.lastMiss = max(r.lastMiss, decided)
	}
}

// kindOf returns the kind under which a call is counted.
func (s *Scorecard) kindOf(call protocol.Value) string {
	kind := s.panel.Kind(call)
	if _, known := s.kinds[kind]; !known {
		if len(s.kinds) == maxKinds {
			return otherKinds
		}
		s.kinds[kind] = struct{}{}
		s.size += scoreBytes + len(kind)
	}
	return kind
}

func (s *Scorecard) scoreOf(person protocol.ParticipantID) *Score {
	score := s.people[person]
	if score == nil {
		score = new(Score)
		s.people[person] = score
		s.size += scoreBytes
	}
	return score
}

// add adds the tally of one call to a score, with the time that the decider took.
func (s *Scorecard) add(to *Score, kind string, t Tally, delay time.Duration) {
	if to.Kinds == nil {
		to.Kinds = make(map[string]*Tally)
	}
	k := to.Kinds[kind]
	if k == nil {
		k = new(Tally)
		to.Kinds[kind] = k
		s.size += scoreBytes
	}
	for _, sum := range []*Tally{&to.Tally, k} {
		sum.add(&t)
		if delay != none {
			s.size += sum.delay(delay)
		}
	}
}

func (t *Tally) add(x *Tally) {
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

// delay counts a delay, and returns by how many bytes that grows the tally.
func (t *Tally) delay(d time.Duration) (grown int) {
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

// Delay returns the time from the proposal to the opinion or the decision that a share of them
// (0.5: the median) took at most, to 5 %; 0: less than a millisecond, or there are none.
func (t *Tally) Delay(share float64) time.Duration {
	total := 0
	for _, n := range t.delays {
		total += int(n)
	}
	rank := max(1, int(math.Ceil(share*float64(total))))
	for bucket, n := range t.delays {
		rank -= int(n)
		if rank <= 0 && bucket > 0 {
			return time.Duration(float64(time.Millisecond) * math.Pow(delayStep, float64(bucket)-0.5))
		}
		if rank <= 0 {
			return 0
		}
	}
	return 0
}

// Rules returns the score of the rules: Proposals are the calls that they let through and the
// proposals that they did not.
func (s *Scorecard) Rules() *Score { return &s.rules }

// Reviewer returns the score of a reviewer.
func (s *Scorecard) Reviewer(id protocol.ParticipantID) *Score { return &s.reviewer(id).Score }

// reviewer returns a reviewer; an empty one if it is none of the panel.
func (s *Scorecard) reviewer(id protocol.ParticipantID) *reviewer {
	i := slices.Index(s.panel.Reviewers, id)
	if i < 0 {
		return new(reviewer)
	}
	return &s.reviewers[i]
}

// Demoted reports whether the last demotion of a reviewer was read: what precedes it does not
// count for its proof.
func (s *Scorecard) Demoted(id protocol.ParticipantID) bool { return s.reviewer(id).demoted > 0 }

// Proof returns what a reviewer has shown on the proposals since its last demotion. A rejection of
// a proposal that was not read counts as a miss, unless the demotion was: nobody knows what the
// reviewer has said.
func (s *Scorecard) Proof(id protocol.ParticipantID) Proof {
	r := s.reviewer(id)
	p, lastMiss := Proof{Compared: len(r.compared)}, r.lastMiss
	for _, v := range s.open {
		verdict, at := v.settled.person()
		if verdict == protocol.OpinionReject && r.demoted == 0 {
			lastMiss = max(lastMiss, at)
		}
	}
	for _, at := range r.compared {
		if at > lastMiss {
			p.SinceMiss++
		}
	}
	return p
}

// People returns the scores of those who have decided. Their Proposals are all proposals.
func (s *Scorecard) People() map[protocol.ParticipantID]*Score {
	for _, score := range s.people {
		score.Proposals = s.all.Proposals
		for kind, t := range score.Kinds {
			t.Proposals = s.all.Kinds[kind].Proposals
		}
	}
	return s.people
}
