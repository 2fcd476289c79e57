package space

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// scored is an entry of a log with what a gateway records of it.
type scored struct {
	protocol.Envelope
	settles protocol.ID
	by      ring.Decider
}

// entry returns the entry of the log.
func (x *scored) entry() *ring.Entry {
	e := journal.Entry{Envelope: x.Envelope, Settles: x.settles}
	if x.by != "" {
		e.Private = fmt.Appendf(nil, `{"reason":{"decider":%q}}`, x.by)
	}
	return ring.NewEntry(&e)
}

var scoreStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// toolOf is the kind of a call in these tests.
func toolOf(call protocol.Value) string { return call.Get("params").Get("name").Text() }

var testPanel = panel{
	reviewers: []protocol.ParticipantID{"rev", "second"},
	judges: func(reviewer protocol.ParticipantID, _ *ring.Entry, payload protocol.Value) bool {
		return toolOf(payload) != "human" && (reviewer != "second" || toolOf(payload) != "c")
	},
	isPerson: func(id protocol.ParticipantID) bool { return id == "alice" || id == "bob" },
	kind:     toolOf,
}

func scorecardOf(log []scored, since time.Time) *Scorecard {
	s := newScorecard(testPanel, since)
	for i := range log {
		s.add(log[len(log)-1-i].entry())
	}
	return s
}

// logOf makes a log of lines, which are JSON objects.
func logOf(t *testing.T, lines ...string) (log []scored) {
	t.Helper()
	for i, line := range lines {
		var x struct {
			Kind, From, ID, Of, Payload, Settles, By string
			At                                       float64
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		e := scored{settles: protocol.ID(x.Settles), by: ring.Decider(x.By)}
		e.ID, e.Seq, e.TS = protocol.ID(x.ID), protocol.Seq(i+1), scoreStart.Add(time.Duration(x.At*float64(time.Second)))
		e.Kind, e.From, e.Payload = protocol.Kind(x.Kind), protocol.ParticipantID(x.From), []byte(x.Payload)
		if x.Of != "" {
			e.Correlation = protocol.CorrelateTo(protocol.ID(x.Of))
		}
		log = append(log, e)
	}
	return log
}

const (
	scoreProposal = `{"kind":"mcp.proposal","from":"coder","id":"p","payload":"{\"params\":{\"name\":\"a\"}}"}`
	scoreApprove  = `{"kind":"mcp.opinion","from":"rev","of":"p","at":2,"payload":"{\"verdict\":\"approve\"}"}`
	scoreReject   = `{"kind":"mcp.opinion","from":"rev","of":"p","at":2,"payload":"{\"verdict\":\"reject\"}"}`
	scoreAbstain  = `{"kind":"mcp.opinion","from":"rev","of":"p","at":2,"payload":"{\"verdict\":\"abstain\"}"}`
	aliceMade     = `{"kind":"mcp.request","from":"alice","id":"d","settles":"p","by":"person","at":60,"payload":"{}"}`
	aliceRejected = `{"kind":"mcp.reject","from":"alice","id":"d","settles":"p","by":"person","at":60,"payload":"{}"}`
	revMade       = `{"kind":"mcp.request","from":"rev","id":"d","settles":"p","by":"reviewer","at":3,"payload":"{}"}`
	revRejected   = `{"kind":"mcp.reject","from":"rev","id":"d","settles":"p","by":"reviewer","at":3,"payload":"{}"}`
	undo          = `{"kind":"reviewer.demote","from":"alice","of":"d","payload":"{\"participant_id\":\"rev\"}"}`
)

func TestScorecard(t *testing.T) {
	covered := api.Tally{Proposals: 1, Covered: 1}
	for _, c := range []struct {
		name string
		log  []string
		want func(*api.Tally)
	}{
		{"agreed", []string{scoreProposal, scoreApprove, aliceMade}, func(w *api.Tally) { w.Approved, w.Compared, w.Saved = 1, 1, 1 }},
		{"miss", []string{scoreProposal, scoreApprove, aliceRejected}, func(w *api.Tally) { w.Approved, w.Compared, w.Misses, w.PersonRejections = 1, 1, 1, 1 }},
		{"false alarm", []string{scoreProposal, scoreReject, aliceMade}, func(w *api.Tally) { w.Rejected, w.Compared, w.FalseAlarms = 1, 1, 1 }},
		{"agreed on a rejection", []string{scoreProposal, scoreReject, aliceRejected}, func(w *api.Tally) {
			w.Rejected, w.Compared, w.Saved, w.PersonRejections, w.AgreedRejections = 1, 1, 1, 1, 1
		}},
		{"abstained", []string{scoreProposal, scoreAbstain, aliceRejected}, func(w *api.Tally) { w.Covered, w.Abstained = 0, 1 }},
		{"edited is against the proposed call", []string{
			scoreProposal, scoreApprove,
			`{"kind":"mcp.request","from":"alice","id":"d","settles":"p","by":"person","payload":"{\"edited\":true}"}`,
		}, func(w *api.Tally) { w.Approved, w.Compared, w.Misses, w.PersonRejections = 1, 1, 1, 1 }},
		{"the first opinion counts", []string{scoreProposal, scoreApprove, scoreReject, aliceRejected}, func(w *api.Tally) {
			w.Approved, w.Compared, w.Misses, w.PersonRejections = 1, 1, 1, 1
		}},
		{"too late", []string{scoreProposal, aliceRejected, scoreReject}, func(w *api.Tally) { w.Covered = 0 }},
		{"before and after the decision", []string{scoreProposal, scoreApprove, aliceMade, scoreReject}, func(w *api.Tally) { w.Approved, w.Compared, w.Saved = 1, 1, 1 }},
		{"after the expiry", []string{
			`{"kind":"mcp.proposal","from":"coder","id":"p","payload":"{\"expires_at\":\"2026-03-01T12:00:01Z\",\"params\":{\"name\":\"a\"}}"}`, scoreReject, aliceRejected,
		}, func(w *api.Tally) { w.Covered = 0 }},
		{"withdrawn", []string{scoreProposal, scoreApprove, `{"kind":"mcp.withdraw","from":"coder","settles":"p","payload":"{}"}`}, func(w *api.Tally) { w.Approved = 1 }},
		{"taken back by a rejection", []string{scoreProposal, scoreApprove, `{"kind":"mcp.reject","from":"coder","settles":"p","payload":"{}"}`}, func(w *api.Tally) { w.Approved = 1 }},
		{"pending", []string{scoreProposal}, func(w *api.Tally) { w.Covered = 0 }},
		{"decided by a rule of another time", []string{scoreProposal, scoreApprove, `{"kind":"mcp.request","from":"rev2","settles":"p","by":"reviewer","payload":"{}"}`}, func(w *api.Tally) { w.Approved = 1 }},
		{"by a person that the log does not name", []string{scoreProposal, scoreApprove, `{"kind":"mcp.reject","from":"bob","settles":"p","payload":"{}"}`}, func(w *api.Tally) {
			w.Approved, w.Compared, w.Misses, w.PersonRejections = 1, 1, 1, 1
		}},
		{"by a participant that is no person", []string{scoreProposal, scoreApprove, `{"kind":"mcp.reject","from":"guard","settles":"p","payload":"{}"}`}, func(w *api.Tally) { w.Approved = 1 }},
		{"decided", []string{scoreProposal, scoreApprove, revMade}, func(w *api.Tally) { w.Approved, w.Decided, w.Saved = 1, 1, 1 }},
		{"decided without an opinion", []string{scoreProposal, revRejected}, func(w *api.Tally) { w.Rejected, w.Decided, w.Saved = 1, 1, 1 }},
		{"decided otherwise than it said", []string{scoreProposal, scoreReject, revMade}, func(w *api.Tally) { w.Approved, w.Decided, w.Saved = 1, 1, 1 }},
		{"undone", []string{scoreProposal, scoreApprove, revMade, undo}, func(w *api.Tally) {
			w.Approved, w.Decided, w.Compared, w.Misses, w.PersonRejections = 1, 1, 1, 1, 1
		}},
		{"a rejection undone", []string{scoreProposal, revRejected, undo}, func(w *api.Tally) { w.Rejected, w.Decided, w.Compared, w.FalseAlarms = 1, 1, 1, 1 }},
		{"the decision of another undone", []string{
			scoreProposal, scoreApprove, `{"kind":"mcp.request","from":"second","id":"d","settles":"p","by":"reviewer","payload":"{}"}`,
			`{"kind":"reviewer.demote","from":"alice","of":"d","payload":"{\"participant_id\":\"second\"}"}`,
		}, func(w *api.Tally) { w.Approved, w.Compared, w.Misses, w.PersonRejections = 1, 1, 1, 1 }},
		{"a demotion that names the decision of another", []string{
			scoreProposal, scoreApprove, `{"kind":"mcp.request","from":"second","id":"d","settles":"p","by":"reviewer","payload":"{}"}`, undo,
		}, func(w *api.Tally) { w.Approved = 1 }},
		{"not for it", []string{`{"kind":"mcp.proposal","from":"coder","id":"p","payload":"{\"params\":{\"name\":\"human\"}}"}`, scoreApprove, aliceMade}, func(w *api.Tally) { *w = api.Tally{} }},
		{"its own", []string{`{"kind":"mcp.proposal","from":"rev","id":"p","payload":"{\"params\":{\"name\":\"a\"}}"}`, scoreApprove, aliceMade}, func(w *api.Tally) { *w = api.Tally{} }},
		{"of an unknown proposal", []string{scoreApprove, aliceMade}, func(w *api.Tally) { *w = api.Tally{} }},
		{"on two proposals", []string{scoreProposal, `{"kind":"mcp.opinion","from":"rev","payload":"{\"verdict\":\"approve\"}"}`}, func(w *api.Tally) { w.Covered = 0 }},
		{"no JSON", []string{scoreProposal, `{"kind":"mcp.opinion","from":"rev","of":"p","payload":"x"}`, `{"kind":"reviewer.demote","from":"alice","of":"p","payload":"["}`}, func(w *api.Tally) { w.Covered = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := covered
			c.want(&want)
			got := scorecardOf(logOf(t, c.log...), time.Time{}).reviewer("rev").Tally
			if got != want {
				t.Errorf("\n%+v, want\n%+v", got, want)
			}
		})
	}
}

func TestScorecard_RulesAndPeople(t *testing.T) {
	s := scorecardOf(logOf(t,
		`{"kind":"mcp.request","from":"coder","by":"rule","payload":"{\"params\":{\"name\":\"a\"}}"}`,
		`{"kind":"mcp.request","from":"coder","by":"rule","payload":"{\"params\":{\"name\":\"b\"}}"}`,
		`{"kind":"mcp.request","from":"coder","payload":"{\"params\":{\"name\":\"b\"}}"}`,
		scoreProposal, aliceMade,
		`{"kind":"mcp.proposal","from":"coder","id":"h","payload":"{\"params\":{\"name\":\"human\"}}"}`,
		`{"kind":"mcp.reject","from":"bob","settles":"h","by":"person","at":10,"payload":"{}"}`,
	), time.Time{})
	for _, c := range []struct {
		name string
		got  api.Tally
		want api.Tally
	}{
		{"rules", s.Rules().Tally, api.Tally{Proposals: 3, Covered: 2, Approved: 2, Decided: 2, Saved: 2}},
		{"rules, a", s.Rules().Kinds[0].Tally, api.Tally{Proposals: 2, Covered: 1, Approved: 1, Decided: 1, Saved: 1}},
		{"alice", s.People()["alice"].Tally, api.Tally{Proposals: 2, Covered: 1, Approved: 1, Decided: 1}},
		{"alice, a", s.People()["alice"].Kinds[0].Tally, api.Tally{Proposals: 1, Covered: 1, Approved: 1, Decided: 1}},
		{"bob", s.People()["bob"].Tally, api.Tally{Proposals: 2, Covered: 1, Rejected: 1, Decided: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.got.LatencyP50, c.got.LatencyP99 = 0, 0
			if c.got != c.want {
				t.Errorf("\n%+v, want\n%+v", c.got, c.want)
			}
		})
	}
	if d := s.People()["alice"].LatencyP50; d < 57 || d > 63 || s.Rules().LatencyP50 != 0 {
		t.Errorf("alice took %f s, the rules %f s", d, s.Rules().LatencyP50)
	}
}

// TestScorecard_Proof has the proposals of each case decided in order: + agreed, - a miss, f a
// false alarm, a an abstention, d a demotion of rev, o one of the other reviewer, x a rejection and
// y an approval of a proposal that was not read.
func TestScorecard_Proof(t *testing.T) {
	for _, c := range []struct {
		steps               string
		compared, sinceMiss int
	}{
		{"", 0, 0},
		{"+++", 3, 3},
		{"++-", 3, 0},
		{"+-+f", 4, 2},
		{"+a+", 2, 2},
		{"+-+d", 0, 0},
		{"+-+d++", 2, 2},
		{"+-o++", 4, 2},
		{"d-d+", 1, 1},
		{"++x", 2, 0},
		{"+x+y", 2, 1},
		{"dx+", 1, 1},
	} {
		t.Run(c.steps, func(t *testing.T) {
			var lines []string
			for i, step := range c.steps {
				add := func(format, who, verdict string) {
					lines = append(lines, fmt.Sprintf(format, who, i, verdict))
				}
				switch step {
				case 'd', 'o':
					who := map[rune]string{'d': "rev", 'o': "second"}[step]
					add(`{"kind":"reviewer.demote","from":"alice","id":"%[1]s%[2]d","payload":"{\"participant_id\":\"%[1]s\"}%[3]s"}`, who, "")
					continue
				case 'x', 'y':
					add(`{"from":"%s","settles":"before%d","by":"person","payload":"{}","kind":"%s"}`, "alice", map[rune]string{'x': "mcp.reject", 'y': "mcp.request"}[step])
					continue
				}
				verdict := map[rune]string{'+': "approve", '-': "approve", 'f': "reject", 'a': "abstain"}[step]
				decision := map[rune]string{'+': "mcp.request", '-': "mcp.reject", 'f': "mcp.request", 'a': "mcp.request"}[step]
				add(`{"kind":"mcp.proposal","from":"%s","id":"p%d","payload":"{}%s"}`, "coder", "")
				add(`{"kind":"mcp.opinion","from":"%s","of":"p%d","payload":"{\"verdict\":\"%s\"}"}`, "rev", verdict)
				add(`{"from":"%s","settles":"p%d","by":"person","payload":"{}","kind":"%s"}`, "alice", decision)
			}
			s := scorecardOf(logOf(t, lines...), scoreStart.Add(time.Hour))
			compared, sinceMiss := s.Proof("rev")
			if compared != c.compared || sinceMiss != c.sinceMiss || s.Reviewer("rev").Proposals != 0 {
				t.Errorf("%d, %d since the last miss, want %d, %d; %d proposals counted", compared, sinceMiss, c.compared, c.sinceMiss, s.Reviewer("rev").Proposals)
			}
		})
	}
}

// TestScorecard_MissIsKnownLate: a person decides last on what was proposed first. The miss
// precedes no other decision, so it is the last one.
func TestScorecard_MissIsKnownLate(t *testing.T) {
	opinion := func(id string) string {
		return fmt.Sprintf(`{"kind":"mcp.opinion","from":"rev","of":%q,"payload":"{\"verdict\":\"approve\"}"}`, id)
	}
	proposal := func(id string) string {
		return fmt.Sprintf(`{"kind":"mcp.proposal","from":"coder","id":%q,"payload":"{}"}`, id)
	}
	s := scorecardOf(logOf(t, proposal("p1"), opinion("p1"), proposal("p2"), opinion("p2"),
		`{"kind":"mcp.request","from":"alice","settles":"p2","by":"person","payload":"{}"}`,
		`{"kind":"mcp.reject","from":"alice","settles":"p1","by":"person","payload":"{}"}`), time.Time{})
	if compared, sinceMiss := s.Proof("rev"); compared != 2 || sinceMiss != 0 {
		t.Errorf("%d, %d since the last miss", compared, sinceMiss)
	}
}

// randomLog returns a log in which each proposal is settled once, as gateways ensure.
func randomLog(r *rand.Rand, n int) (log []scored) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var proposals []protocol.ID
	var decisions []*scored
	settled := make(map[protocol.ID]bool)
	recent := func() protocol.ID { return proposals[max(0, len(proposals)-1-r.IntN(6))] }
	for i := range n {
		e := &scored{}
		e.ID, e.Seq, e.TS = protocol.ID(fmt.Sprint("e", i)), protocol.Seq(i+1), scoreStart.Add(time.Duration(i)*time.Minute)
		e.Payload = []byte("{}")
		e.From = protocol.ParticipantID(pick("alice", "alice", "bob", "rev", "rev", "second", "guard"))
		roll := r.IntN(12)
		switch {
		case roll < 3 || len(proposals) == 0:
			e.Kind, e.From = protocol.KindMCPProposal, protocol.ParticipantID(pick("coder", "coder", "coder", "rev", "alice"))
			e.Payload = fmt.Appendf(nil, `{"params":{"name":%q}%s}`, pick("a", "b", "c", "human"), pick("", "", `,"expires_at":"2026-03-01T13:00:00Z"`))
			proposals = append(proposals, e.ID)
		case roll < 7:
			e.Kind, e.From = protocol.KindMCPOpinion, protocol.ParticipantID(pick("rev", "second", "guard"))
			e.Payload = fmt.Appendf(nil, `{"verdict":%q}`, pick("approve", "reject", "reject", "abstain"))
			e.Correlation = protocol.CorrelateTo(recent())
		case roll < 10:
			id := recent()
			if settled[id] {
				continue
			}
			settled[id], e.settles = true, id
			e.Kind = protocol.Kind(pick("mcp.request", "mcp.request", "mcp.reject", "mcp.withdraw"))
			if e.Kind == protocol.KindMCPRequest {
				e.Payload = []byte(pick(`{}`, `{}`, `{"edited":true}`))
			}
			if r.IntN(2) == 0 {
				e.by = map[protocol.ParticipantID]ring.Decider{"alice": ring.DeciderPerson, "bob": ring.DeciderPerson, "rev": ring.DeciderReviewer, "second": ring.DeciderReviewer}[e.From]
			}
			decisions = append(decisions, e)
		case roll == 10:
			e.Kind, e.by = protocol.KindMCPRequest, ring.Decider(pick("", exchange.ByRule))
			e.Payload = fmt.Appendf(nil, `{"params":{"name":%q}}`, pick("a", "b"))
		default:
			e.Kind, e.From = protocol.KindReviewerDemote, "alice"
			who := protocol.ParticipantID(pick("rev", "second"))
			if len(decisions) > 0 && r.IntN(2) == 0 {
				d := decisions[r.IntN(len(decisions))]
				e.Correlation, who = protocol.CorrelateTo(d.ID), d.From
			}
			e.Payload = fmt.Appendf(nil, `{"participant_id":%q}`, who)
		}
		log = append(log, *e)
	}
	return log
}

// said is what a reviewer says about a proposal at a position, as the plain reading of the log
// has it; "": nothing.
func said(log []scored, at, end int, reviewer protocol.ParticipantID) (verdict string, when time.Time, own bool) {
	p := &log[at]
	if end < len(log) && log[end].From == reviewer && log[end].Kind != protocol.KindMCPWithdraw && log[end].by != ring.DeciderPerson {
		if log[end].Kind == protocol.KindMCPRequest {
			return "approve", log[end].TS, true
		}
		return "reject", log[end].TS, true
	}
	expires := exchange.ExpiresAt(p.ParsePayload())
	for i := at + 1; i < end; i++ {
		x := &log[i]
		if x.Kind == protocol.KindMCPOpinion && x.From == reviewer && x.Correlation.Names(p.ID) {
			if !expires.IsZero() && !x.TS.Before(expires) {
				return "", time.Time{}, false
			}
			return x.ParsePayload().Get("verdict").Text(), x.TS, false
		}
	}
	return "", time.Time{}, false
}

// judged is what a person says about a proposal that the entry at end settles; "": nothing.
func judged(log []scored, at, end int) (verdict string, position protocol.Seq) {
	if end == len(log) || log[end].From == log[at].From || log[end].Kind == protocol.KindMCPWithdraw {
		return "", 0
	}
	d := &log[end]
	approved := d.Kind == protocol.KindMCPRequest && !d.ParsePayload().Get("edited").Bool()
	words := map[bool]string{true: "approve", false: "reject"}
	if slices.Contains(testPanel.reviewers, d.From) {
		for i := len(log) - 1; i > end; i-- {
			x := &log[i]
			if x.Kind == protocol.KindReviewerDemote && x.Correlation.Names(d.ID) && protocol.ParticipantIn(x.ParsePayload(), "participant_id") == d.From {
				position = x.Seq // of the first one
			}
		}
		if position == 0 {
			return "", 0
		}
		return words[!approved], position
	}
	if !testPanel.isPerson(d.From) {
		return "", 0
	}
	return words[approved], d.Seq
}

// plainScore reads the log for one reviewer, proposal by proposal.
func plainScore(log []scored, since time.Time, reviewer protocol.ParticipantID) (sum map[string]api.Tally, proof [2]int, delays []time.Duration) {
	sum = make(map[string]api.Tally)
	var demoted protocol.Seq
	for i := range log {
		if log[i].Kind == protocol.KindReviewerDemote && protocol.ParticipantIn(log[i].ParsePayload(), "participant_id") == reviewer {
			demoted = log[i].Seq
		}
	}
	type comparison struct {
		at   protocol.Seq
		miss bool
	}
	var compared []comparison
	for at := range log {
		p := &log[at]
		if p.Kind != protocol.KindMCPProposal || p.From == reviewer || !testPanel.judges(reviewer, nil, p.ParsePayload()) {
			continue
		}
		end := at + 1
		for end < len(log) && log[end].settles != p.ID {
			end++
		}
		verdict, when, own := said(log, at, end, reviewer)
		person, position := judged(log, at, end)
		both := (verdict == "approve" || verdict == "reject") && person != ""
		if both && p.Seq > demoted {
			compared = append(compared, comparison{position, verdict == "approve" && person == "reject"})
		}
		if p.TS.Before(since) {
			continue
		}
		for _, kind := range []string{"", toolOf(p.ParsePayload())} {
			t := sum[kind]
			t.Proposals++
			one := func(n *int, is bool) {
				if is {
					*n++
				}
			}
			one(&t.Covered, verdict == "approve" || verdict == "reject")
			one(&t.Approved, verdict == "approve")
			one(&t.Rejected, verdict == "reject")
			one(&t.Abstained, verdict == "abstain")
			one(&t.Decided, own)
			one(&t.Compared, both)
			one(&t.Misses, both && verdict == "approve" && person == "reject")
			one(&t.FalseAlarms, both && verdict == "reject" && person == "approve")
			one(&t.PersonRejections, both && person == "reject")
			one(&t.AgreedRejections, both && person == "reject" && verdict == "reject")
			one(&t.Saved, both && verdict == person || own && person == "")
			sum[kind] = t
		}
		if verdict != "" {
			delays = append(delays, when.Sub(p.TS))
		}
	}
	slices.SortFunc(compared, func(a, b comparison) int { return cmp.Compare(a.at, b.at) })
	for _, c := range compared {
		proof[0]++
		proof[1]++
		if c.miss {
			proof[1] = 0
		}
	}
	return sum, proof, delays
}

// TestScorecard_Plain compares scorecards of random logs with a reading of them that looks
// everything up.
func TestScorecard_Plain(t *testing.T) {
	testkit.OneGoroutine(t)
	r := testkit.Rand(t)
	var seen tally
	for n := range 300 {
		log := randomLog(r, 150)
		since := scoreStart.Add(time.Duration(r.IntN(100)) * time.Minute)
		s := scorecardOf(log, since)
		for _, id := range testPanel.reviewers {
			want, proof, delays := plainScore(log, since, id)
			score := s.reviewer(id)
			got := map[string]api.Tally{}
			for kind, x := range score.kinds {
				got[kind] = x.Tally
			}
			if len(got) > 0 {
				got[""] = score.Tally
			}
			var shown [2]int
			shown[0], shown[1] = s.Proof(id)
			if !maps.Equal(got, want) || shown != proof {
				t.Fatalf("log %d, %s since %s:\n%+v %d, want\n%+v %d", n, id, since, got, shown, want, proof)
			}
			total := got[""]
			seen.add(&total)
			slices.Sort(delays)
			for _, share := range []float64{0.5, 0.99} {
				if len(delays) == 0 {
					continue
				}
				exact := delays[int(math.Ceil(share*float64(len(delays))))-1].Seconds()
				if d := score.latency(share); math.Abs(d-exact) > 0.05*exact {
					t.Fatalf("log %d, %s: %v took %f s, want %f", n, id, share, d, exact)
				}
			}
		}
	}
	for name, n := range map[string]int{"misses": seen.Misses, "false alarms": seen.FalseAlarms, "agreed rejections": seen.AgreedRejections, "decided": seen.Decided, "abstained": seen.Abstained} {
		if n < 20 {
			t.Errorf("the logs have %d %s", n, name)
		}
	}
}

// TestScorecard_Bounds checks that what a scorecard holds is counted, and is let go with each
// proposal.
func TestScorecard_Bounds(t *testing.T) {
	testkit.OneGoroutine(t)
	s := newScorecard(testPanel, time.Time{})
	seq := protocol.Seq(1 << 30)
	add := func(kind protocol.Kind, from, id, of, settles, payload string) {
		seq--
		e := scored{settles: protocol.ID(settles), by: ring.DeciderPerson}
		e.Envelope = protocol.Envelope{Kind: kind, From: protocol.ParticipantID(from), ID: protocol.ID(id), Seq: seq, TS: scoreStart, Payload: []byte(payload)}
		if of != "" {
			e.Correlation = protocol.CorrelateTo(protocol.ID(of))
		}
		s.add(e.entry())
	}
	for i := range 1000 {
		p := fmt.Sprint("p", i)
		add(protocol.KindMCPReject, "alice", "", "", p, `{}`)
		add(protocol.KindMCPOpinion, "rev", "", p, "", `{"verdict":"approve"}`)
		add(protocol.KindMCPOpinion, "rev", "", p, "", `{"verdict":"reject"}`)
		add(protocol.KindMCPProposal, "coder", p, "", "", fmt.Sprintf(`{"params":{"name":"tool%d"}}`, i))
	}
	rev := s.Reviewer("rev")
	if len(s.open) != 0 || len(rev.Kinds) != maxKinds+1 || rev.Kinds[0].Kind != otherKinds || rev.Kinds[0].Misses != 0 || rev.AgreedRejections != 1000 {
		t.Errorf("%d open, %d kinds, %+v", len(s.open), len(rev.Kinds), rev.Tally)
	}
	if all := s.People()["alice"].Kinds[0]; all.Proposals != 1000-maxKinds || all.Covered != all.Proposals {
		t.Errorf("%+v", all)
	}
	settledSize := s.Size()
	for i := range 1000 { // whose proposals the log no longer has
		add(protocol.KindMCPOpinion, "rev", "", fmt.Sprint("q", i), "", `{"verdict":"approve"}`)
		add(protocol.KindReviewerDemote, "alice", "", fmt.Sprint("d", i), "", `{"participant_id":"rev"}`)
	}
	if grown := s.Size() - settledSize; grown < 1000*(verdictsBytes+opinionBytes+undoingBytes) {
		t.Errorf("grown by %d bytes", grown)
	}
}

func BenchmarkScorecard(b *testing.B) {
	log := randomLog(rand.New(rand.NewPCG(1, 2)), 100_000)
	b.ReportAllocs()
	for b.Loop() {
		scorecardOf(log, time.Time{})
	}
	b.ReportMetric(float64(len(log))*float64(b.N)/b.Elapsed().Seconds(), "envelopes/s")
}
