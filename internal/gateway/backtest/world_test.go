package backtest_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// rules are the participants of a space with their capabilities, as JSON. The participant
// guests has those of the issuer's users.
type rules map[protocol.ParticipantID][]string

const guests = "guests"

// but returns the rules with other capabilities of one participant; none: without it.
func (r rules) but(id protocol.ParticipantID, capabilities ...string) rules {
	out := rules{}
	for p, list := range r {
		if p != id {
			out[p] = list
		}
	}
	if capabilities != nil {
		out[id] = capabilities
	}
	return out
}

func (r rules) config(t testing.TB) *authority.Config {
	t.Helper()
	cfg := &authority.Config{Participants: make(map[protocol.ParticipantID]authority.ParticipantConfig)}
	for id, list := range r {
		var p authority.ParticipantConfig
		if id == deciders {
			continue
		}
		for _, text := range list {
			c, err := capability.ParseJSON([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			p.Capabilities = append(p.Capabilities, c)
		}
		if id == guests {
			cfg.Guests = &p
		} else {
			cfg.Participants[id] = p
		}
	}
	if len(r[deciders]) > 0 {
		cfg.Deciders = decidersOf(t, r[deciders])
	}
	return cfg.Shared()("lab")
}

// deciders, among the rules, has a rule of the deciders, a pattern of human_only and a pattern of
// what the reviewer rev may decide on ("" for one that is absent), and then its mode.
const deciders = "deciders"

func decidersOf(t testing.TB, list []string) authority.Deciders {
	t.Helper()
	d := authority.Deciders{
		Reviewers: []authority.Reviewer{{ID: "rev", Decides: list[3] == "decide", Decisions: 1, WithoutMiss: 1}},
		People:    []authority.Stage{{People: []string{"alice"}}, {People: []string{"bob"}, After: time.Minute}},
	}
	compile := func(text string) (out []*capability.Capability) {
		if text == "" {
			return nil
		}
		c, err := capability.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return append(out, c)
	}
	for _, c := range compile(list[0]) {
		d.Rules = append(d.Rules, authority.Rule{Capability: c})
	}
	d.HumanOnly, d.Reviewers[0].For = compile(list[1]), compile(list[2])
	return d
}

// policy returns the rules as a policy; c configures its safety rules.
func (r rules) policy(t testing.TB, c safety.Config) *backtest.Policy {
	t.Helper()
	cfg := r.config(t)
	p := pipeline(t, c)
	return &backtest.Policy{
		Space: func(authority.Directory) *authority.Config { return cfg }, Safety: p, SafetyID: fmt.Sprint(c),
		Masks: func(kind protocol.Kind, rule string) bool { return p.Applies(kind) && p.Has(rule) },
	}
}

func pipeline(t testing.TB, c safety.Config) *safety.Pipeline {
	t.Helper()
	p, err := safety.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// redactor masks as a gateway does.
type redactor struct{ *safety.Pipeline }

func (r redactor) Envelope(_ context.Context, kind protocol.Kind, payload, extra protocol.Value) (ring.Redaction, error) {
	v, err := r.Pipeline.Envelope(kind, payload, extra)
	return ring.Redaction{Payload: v.Payload, Extra: v.Extra, Work: v.Work}, err
}

func (redactor) Stream() ring.Redactor { panic("no streams here") }

// world is a space with a log, in which time passes when a test says so.
type world struct {
	t     testing.TB
	log   *journal.Memory
	hub   *space.Hub
	space *space.Space
	now   time.Time
	made  int
}

func newWorld(t testing.TB, r rules, c safety.Config) *world {
	t.Helper()
	w := &world{t: t, log: journal.NewMemory(journal.MemoryOptions{}), now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	w.hub = space.NewHub(space.Services{
		Journal: w.log, Validate: schemas.Payload, Safety: redactor{pipeline(t, c)}, Clock: func() time.Time { return w.now },
		NewID: func() protocol.ID { w.made++; return protocol.ID(fmt.Sprint("made-", w.made)) },
		NewToken: func() (string, [32]byte) {
			w.made++
			return fmt.Sprint("token-", w.made), [32]byte{byte(w.made), byte(w.made >> 8)}
		},
	}, configured(r.config(t)))
	var err error
	w.space, err = w.hub.Space(context.Background(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func configured(cfg *authority.Config) func(string) (*authority.Config, bool) {
	return func(name string) (*authority.Config, bool) { return cfg, name == "lab" }
}

func (w *world) reload(r rules) { w.hub.Reload(configured(r.config(w.t))) }

// say sends an envelope a second later, and returns its rejection.
func (w *world) say(from protocol.ParticipantID, frame string) error {
	return w.sayAs(ring.Viewer{ID: from}, protocol.DialectMEUP01, frame)
}

func (w *world) sayAs(from ring.Viewer, d protocol.Dialect, frame string) error {
	w.now = w.now.Add(time.Second)
	sender, err := w.space.Sender(context.Background(), from)
	if err != nil {
		return err
	}
	sender.Dialect = d
	in, err := protocol.Decode([]byte(frame), d, protocol.DefaultContextDepth)
	result := sender.Publish(context.Background(), []admission.Decoded{{In: in, Err: err}})[0]
	if result.Err != nil {
		return result.Err
	}
	return nil
}

// must sends envelopes that have to be admitted.
func (w *world) must(from protocol.ParticipantID, frames ...string) {
	w.t.Helper()
	for _, f := range frames {
		if err := w.say(from, f); err != nil {
			w.t.Fatalf("%s: %s: %v", from, f, err)
		}
	}
}

// mustNot sends an envelope that has to be rejected.
func (w *world) mustNot(from protocol.ParticipantID, frame string) {
	w.t.Helper()
	if w.say(from, frame) == nil {
		w.t.Fatalf("%s: %s was admitted", from, frame)
	}
}

// run compares a policy with the log.
func (w *world) run(o backtest.Options) *api.Backtest {
	w.t.Helper()
	if o.Log == nil {
		o.Log = w.log
	}
	o.Space = "lab"
	if o.Examples == 0 {
		o.Examples = 100
	}
	report, err := backtest.Run(context.Background(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	if n := report.Allowed + report.Refused + report.Asked + report.Masked + report.Unmasked; n != report.Different {
		w.t.Errorf("the parts of %d are %d", report.Different, n)
	}
	return report
}

// same checks that nothing differs.
func (w *world) same(o backtest.Options) {
	w.t.Helper()
	r := w.run(o)
	if r.Different != 0 {
		for _, g := range r.Groups {
			w.t.Logf("%+v", g)
		}
		w.t.Errorf("%d of %d envelopes differ", r.Different, r.Envelopes)
	}
}

// cut is a log of which retention has dropped the beginning.
type cut struct {
	journal.Reader
	before protocol.Seq
}

func (c cut) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		for e, err := range c.Reader.Range(ctx, space, q) {
			if (err != nil || e.State || e.Envelope.Seq >= c.before) && !yield(e, err) {
				return
			}
		}
	}
}

func (c cut) Lookup(ctx context.Context, space string, id protocol.ID) (*journal.Entry, error) {
	e, err := c.Reader.Lookup(ctx, space, id)
	if err == nil && !e.State && e.Envelope.Seq < c.before {
		return nil, journal.ErrNotFound
	}
	return e, err
}

// visible is the part of a log that a participant sees through the API of a gateway.
type visible struct {
	journal.Reader
	to protocol.ParticipantID // "": one who observes
}

func (v visible) show(e *journal.Entry) *journal.Entry {
	sees := ring.Visibility{Viewer: ring.Viewer{ID: v.to}, Observes: v.to == ""}
	if e.Hidden || !sees.Allows(&e.Envelope, e.Audience) {
		return nil
	}
	return &journal.Entry{Envelope: e.Envelope, State: e.State}
}

func (v visible) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		for e, err := range v.Reader.Range(ctx, space, q) {
			shown := e
			if err == nil {
				shown = v.show(e)
			}
			if (err != nil || shown != nil) && !yield(shown, err) {
				return
			}
		}
	}
}

func (v visible) Lookup(ctx context.Context, space string, id protocol.ID) (*journal.Entry, error) {
	e, err := v.Reader.Lookup(ctx, space, id)
	if err == nil {
		e = v.show(e)
	}
	if err == nil && e == nil {
		err = journal.ErrNotFound
	}
	return e, err
}

// summary lists the groups of a report: what becomes of how many, of whom.
func summary(r *api.Backtest) []string {
	var list []string
	for _, g := range r.Groups {
		by := ""
		if len(g.RejectedBy) > 0 {
			by = fmt.Sprint(" rejected by ", g.RejectedBy)
		}
		if len(g.ApprovedBy) > 0 {
			by += fmt.Sprint(" approved by ", g.ApprovedBy)
		}
		list = append(list, fmt.Sprintf("%s %d %s of %s%s: %s%s", g.Outcome, g.Count, g.Kind, g.Participant, by, g.Rule, g.Why))
	}
	slices.Sort(list)
	return list
}
