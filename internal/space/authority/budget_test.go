package authority

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// reported returns an entry with metadata.
func reported(from protocol.ParticipantID, kind protocol.Kind, at time.Time, metadata string) *journal.Entry {
	return &journal.Entry{Envelope: protocol.Envelope{From: from, Kind: kind, TS: at, Payload: fmt.Appendf(nil, `{"metadata":%s}`, metadata)}}
}

func called(from protocol.ParticipantID, at time.Time, settles protocol.ID) *journal.Entry {
	e := protocol.Envelope{From: from, Kind: protocol.KindMCPRequest, TS: at, Payload: []byte(`{"method":"tools/call","params":{"name":"x"}}`)}
	return &journal.Entry{Envelope: e, Settles: settles}
}

func TestUsage_Counts(t *testing.T) {
	const end, status = protocol.KindReasoningConclusion, protocol.KindParticipantStatus
	usd := Budget{Tokens: 1, Cost: 1, Currency: "USD"}
	for name, c := range map[string]struct {
		entries   []*journal.Entry
		want      Used
		uncounted int64
	}{
		"both ends of a context": {[]*journal.Entry{
			reported("a", end, noon, `{"usage":{"input_tokens":10,"output_tokens":5},"cost":0.5,"currency":"USD"}`),
			reported("a", protocol.KindReasoningCancel, noon, `{"tokens":7,"cost":0.25}`),
		}, Used{Tokens: 22, Cost: MoneyOf(0.75)}, 0},
		"the same work, measured too": {[]*journal.Entry{
			reported("a", end, noon, `{"usage":{"input_tokens":10},"cost":0.5,"currency":"USD"}`),
			reported("a", status, noon, `{"usage":{"input_tokens":12},"cost":0.4,"currency":"USD"}`),
		}, Used{Tokens: 12, Cost: MoneyOf(0.5)}, 0},
		"of another participant": {[]*journal.Entry{
			reported("b", end, noon, `{"tokens":7,"participant_id":"a","from":"a"}`),
		}, Used{}, 0},
		"another day": {[]*journal.Entry{
			reported("a", end, noon.Add(-12*time.Hour-1), `{"tokens":7}`),
			reported("a", end, noon.Add(-12*time.Hour), `{"tokens":1,"cost":1}`),
			reported("a", end, noon.Add(12*time.Hour), `{"tokens":7}`),
		}, Used{Tokens: 1, Cost: MoneyOf(1)}, 0},
		"no numbers": {[]*journal.Entry{
			reported("a", end, noon, `{"tokens":1e300,"cost":1}`),
			reported("a", end, noon, `{"tokens":-5,"cost":1}`),
			reported("a", end, noon, `{"tokens":1,"cost":1e300}`),
			reported("a", end, noon, `{"tokens":1,"cost":-1}`),
			reported("a", end, noon, `{"tokens":1,"cost":1e9999}`),
			reported("a", end, noon, `{"tokens":1,"cost":"NaN"}`),
			reported("a", end, noon, `{"tokens":1,"cost":2000000000}`),
		}, Used{Tokens: 5, Cost: MoneyOf(2)}, 7},
		"another currency": {[]*journal.Entry{
			reported("a", end, noon, `{"tokens":1,"cost":3,"currency":"EUR"}`),
			reported("a", end, noon, `{"tokens":1,"cost":3,"currency":"dollars"}`),
		}, Used{Tokens: 2}, 2},
		"without a count": {[]*journal.Entry{
			reported("a", end, noon, `{"uncounted":4,"model":"m"}`),
			reported("a", end, noon, `{"tokens":4,"cost":1,"uncounted":1}`),
		}, Used{Tokens: 4, Cost: MoneyOf(1)}, 6},
		"metadata of something else": {[]*journal.Entry{
			reported("a", end, noon, `{"approach":"search"}`), reported("a", protocol.KindReasoningThought, noon, `{"tokens":7}`),
		}, Used{}, 0},
		"calls": {[]*journal.Entry{called("a", noon, ""), called("a", noon, "p-1"), called("b", noon, ""), called("a", noon, "")}, Used{Calls: 2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			u := NewUsage()
			for _, e := range c.entries {
				u.Add(e, noon)
			}
			got, known := u.Used("a", "USD", noon)
			if got != c.want || known {
				t.Errorf("%+v, %v; want %+v", got, known, c.want)
			}
			if n := u.Uncounted("a", usd, noon); n != c.uncounted {
				t.Errorf("%d are uncounted, want %d", n, c.uncounted)
			}
		})
	}
}

// The sums do not depend on the order, and those of the space are those of its participants.
func TestUsage_AnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []protocol.Kind{protocol.KindReasoningConclusion, protocol.KindParticipantStatus}
	var list []*journal.Entry
	for i := range 300 {
		id := protocol.ParticipantID(fmt.Sprint("p", random.IntN(5)))
		list = append(list, called(id, noon, ""), reported(id, kinds[i%2], noon, fmt.Sprintf(`{"tokens":%d,"cost":%v,"currency":%q}`,
			random.IntN(1000), random.Float64(), []string{"USD", "EUR"}[random.IntN(2)])))
	}
	count := func() (all Used, each [5]Used) {
		u := NewUsage()
		for _, e := range list {
			u.Add(e, noon)
		}
		all, _ = u.Used("", "USD", noon)
		for i := range each {
			each[i], _ = u.Used(protocol.ParticipantID(fmt.Sprint("p", i)), "USD", noon)
		}
		return all, each
	}
	all, each := count()
	var total Used
	for _, x := range each {
		total.Tokens, total.Calls, total.Cost = total.Tokens+x.Tokens, total.Calls+x.Calls, total.Cost+x.Cost
	}
	if all != total || all.Calls != 300 {
		t.Errorf("the space has used %+v, its participants %+v", all, total)
	}
	for range 5 {
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		again, eachAgain := count()
		if again != all || eachAgain != each {
			t.Fatalf("in another order: %+v, want %+v", again, all)
		}
	}
}

func TestUsage_Bounds(t *testing.T) {
	t.Run("days", func(t *testing.T) {
		u := NewUsage()
		u.Add(called("a", noon, ""), noon)
		for d := range 100 { // of a clock that runs away
			u.Add(called("a", noon.Add(time.Duration(d+5)*24*time.Hour), ""), noon)
		}
		if got, _ := u.Used("a", "", noon); got.Calls != 1 || len(u.days) != maxDays {
			t.Errorf("%d days, and %+v today", len(u.days), got)
		}
	})
	t.Run("participants", func(t *testing.T) {
		u := NewUsage()
		for i := range int(maxCounted) + 10 {
			u.Add(called(protocol.ParticipantID(fmt.Sprint(i)), noon, ""), noon)
		}
		first, _ := u.Used("0", "", noon)
		late, _ := u.Used(protocol.ParticipantID(fmt.Sprint(int(maxCounted)+5)), "", noon)
		all, _ := u.Used("", "", noon)
		if first.Calls != 1 || late.Calls != 10 || all.Calls != maxCounted+10 || len(u.days[DayOf(noon)].of) != maxCounted+1 {
			t.Errorf("%+v, %+v, %+v", first, late, all)
		}
	})
	t.Run("currencies", func(t *testing.T) {
		u := NewUsage()
		for _, currency := range []string{"AAA", "BBB", "CCC", "DDD", "USD"} {
			u.Add(reported("a", protocol.KindReasoningConclusion, noon, fmt.Sprintf(`{"cost":1,"currency":%q}`, currency)), noon)
		}
		u.Add(reported("b", protocol.KindReasoningConclusion, noon, `{"cost":1}`), noon)
		all, _ := u.Used("", "USD", noon)
		if n := u.Uncounted("a", Budget{Cost: 1, Currency: "USD"}, noon); n != 5 || all.Cost != MoneyOf(1) {
			t.Errorf("%d are uncounted, and the space has used %s", n, all.Cost)
		}
	})
	t.Run("amounts", func(t *testing.T) {
		u := NewUsage()
		for range 12 { // the largest sum is kept
			u.Add(reported("a", protocol.KindReasoningConclusion, noon, `{"cost":1000000000}`), noon)
		}
		if got, _ := u.Used("a", "USD", noon); got.Cost.Amount() < 9e9 {
			t.Errorf("%+v", got)
		}
	})
}

func budgeted() *Config {
	all, err := capability.ParseJSON([]byte(`"*"`))
	if err != nil {
		panic(err)
	}
	person := ParticipantConfig{Capabilities: []*capability.Capability{all}}
	return &Config{
		Name: "lab", Budget: Budget{Cost: MoneyOf(10), Currency: "USD"},
		Participants: map[protocol.ParticipantID]ParticipantConfig{
			"alice": person, "coder": {Budget: Budget{Tokens: 1000, Calls: 3, Cost: MoneyOf(5), Currency: "USD"}}, "other": {},
		},
	}
}

func extension(from protocol.ParticipantID, at time.Time, payload string) *journal.Entry {
	return &journal.Entry{State: true, Envelope: protocol.Envelope{ID: "x", From: from, Kind: protocol.KindBudgetExtend, TS: at, Payload: []byte(payload)}}
}

func TestState_Ask(t *testing.T) {
	const end = protocol.KindReasoningConclusion
	for name, c := range map[string]struct {
		who     protocol.ParticipantID
		entries []*journal.Entry
		waiting int
		want    Ask
	}{
		"within":                 {"coder", []*journal.Entry{reported("coder", end, noon, `{"tokens":999,"cost":4.99}`), called("coder", noon, ""), called("coder", noon, "")}, 0, Ask{}},
		"tokens":                 {"coder", []*journal.Entry{reported("coder", end, noon, `{"tokens":1234}`)}, 0, Ask{"budget.tokens", "coder has used 1,234 of 1,000 tokens today"}},
		"cost":                   {"coder", []*journal.Entry{reported("coder", end, noon, `{"cost":5}`)}, 0, Ask{"budget.cost", "coder has used 5.00 of 5.00 USD today"}},
		"calls":                  {"coder", []*journal.Entry{called("coder", noon, ""), called("coder", noon, ""), called("coder", noon, "")}, 0, Ask{"budget.calls", "coder has made 3 of 3 calls today"}},
		"calls on the way":       {"coder", []*journal.Entry{called("coder", noon, "")}, 2, Ask{"budget.calls", "coder has made 3 of 3 calls today"}},
		"of the space":           {"other", []*journal.Entry{reported("coder", end, noon, `{"cost":4}`), reported("alice", end, noon, `{"cost":6.5}`)}, 0, Ask{"space_budget.cost", "the space has used 10.50 of 10.00 USD today"}},
		"of the space, a person": {"alice", []*journal.Entry{reported("coder", end, noon, `{"cost":12}`)}, 0, Ask{}},
		"extended": {"coder", []*journal.Entry{
			reported("coder", end, noon, `{"cost":5.25}`), extension("alice", noon, `{"participant_id":"coder","cost":1,"currency":"USD"}`),
		}, 0, Ask{}},
		"extended, and used up again": {"coder", []*journal.Entry{
			reported("coder", end, noon, `{"cost":7.5}`),
			extension("alice", noon, `{"participant_id":"coder","cost":1,"currency":"USD"}`), extension("alice", noon, `{"participant_id":"coder","cost":1,"currency":"USD"}`),
		}, 0, Ask{"budget.cost", "coder has used 7.50 of 7.00 USD today"}},
		"extended yesterday": {"coder", []*journal.Entry{
			extension("alice", noon.Add(-24*time.Hour), `{"participant_id":"coder","cost":1,"currency":"USD"}`), reported("coder", end, noon, `{"cost":5}`),
		}, 0, Ask{"budget.cost", "coder has used 5.00 of 5.00 USD today"}},
	} {
		t.Run(name, func(t *testing.T) {
			st, u := NewState(budgeted()), NewUsage()
			u.SetRead()
			for _, e := range c.entries {
				if e.State {
					if err := st.Fold(e); err != nil {
						t.Fatal(err)
					}
				}
				u.Add(e, noon)
			}
			st, err := restore(st.encode("log", noon), "log", st.Config)
			if err != nil {
				t.Fatal(err)
			}
			got := st.Ask(u, &protocol.Envelope{From: c.who}, called(c.who, noon, "").Payload(), c.waiting, noon)
			if got == nil {
				got = &Ask{}
			}
			if *got != c.want {
				t.Errorf("%+v, want %+v", *got, c.want)
			}
		})
	}
	t.Run("unread", func(t *testing.T) {
		st := NewState(budgeted())
		if got := st.Ask(NewUsage(), &protocol.Envelope{From: "coder"}, called("coder", noon, "").Payload(), 0, noon); got == nil || got.Text != "what coder has used today cannot be read" {
			t.Errorf("%+v", got)
		}
	})
}

func TestState_CheckExtend(t *testing.T) {
	for payload, want := range map[string]string{
		`{"participant_id":"coder","cost":1,"currency":"USD"}`: "",
		`{"participant_id":"coder","tokens":1,"calls":1}`:      "",
		`{"cost":1,"currency":"USD"}`:                          "",
		`{"cost":1,"currency":"EUR"}`:                          "invalid_payload: The budget of the space is in USD.",
		`{"participant_id":"coder","cost":1}`:                  "invalid_payload: The budget of coder is in USD.",
		`{"tokens":1}`:                                         "invalid_payload: The space has no budget for tokens.",
		`{"participant_id":"other","calls":1}`:                 "invalid_payload: Other has no budget for calls.",
		`{"participant_id":"nobody","calls":1}`:                `unknown_participant: This space knows no participant "nobody".`,
		`{"participant_id":"alice","calls":1}`:                 "capability_violation: Nobody extends its own budget; ask another participant.",
		`{"participant_id":"coder","tokens":0}`:                "invalid_payload: The amounts must",
		`{"participant_id":"coder","tokens":1.5}`:              "invalid_payload: The amounts must",
		`{"participant_id":"coder","calls":1e300}`:             "invalid_payload: The amounts must",
		`{"cost":1e300,"currency":"USD"}`:                      "invalid_payload: The amounts must",
		`{"cost":-1,"currency":"USD"}`:                         "invalid_payload: The amounts must",
	} {
		t.Run(payload, func(t *testing.T) {
			e := extension("alice", noon, payload)
			err := NewState(budgeted()).CheckExtend(&e.Envelope, e.Payload())
			got := ""
			if err != nil {
				got = err.Error()
			}
			if !strings.EqualFold(got[:min(len(got), max(len(want), 1))], want) || (got == "") != (want == "") {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// Of extensions, only those of the last day are kept.
func TestState_ExtensionsAreDropped(t *testing.T) {
	st := NewState(budgeted())
	for d := range 10 {
		for i := range 5 {
			e := extension("alice", noon.Add(time.Duration(d)*24*time.Hour), fmt.Sprintf(`{"participant_id":"p%d","tokens":1}`, i))
			if err := st.Fold(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	late := extension("alice", noon, `{"participant_id":"p1","tokens":7}`) // of a gateway whose clock was behind
	if err := st.Fold(late); err != nil || st.extended.Len() != 5 {
		t.Errorf("%d extensions, %v", st.extended.Len(), err)
	}
	if x, _ := st.extended.Get("p1"); x.Tokens != 1 {
		t.Errorf("%+v", x)
	}
}
