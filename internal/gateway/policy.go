package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// policyFile is the file in the data folder with the policy in force. A backtest of a
// stopped gateway compares with it.
const policyFile = "policy.json"

// policy is the part of a configuration file that decides about envelopes, without tokens
// and secrets, as it is stored.
type policy struct {
	Administration string                     `json:"administration,omitempty"`
	Safety         api.SafetyPolicy           `json:"safety"`
	Spaces         map[string]api.SpacePolicy `json:"spaces"`
}

// Words of a policy.
const (
	decideCallers  = "callers"
	decideExplicit = "explicit"
)

func spacePolicy(s *config.Space) api.SpacePolicy {
	p := api.SpacePolicy{Visibility: visibility(s.Everyone), Decide: decideCallers, Participants: make(map[protocol.ParticipantID][]json.RawMessage, len(s.Participants))}
	if s.DecideExplicitly {
		p.Decide = decideExplicit
	}
	for i := range s.Participants {
		x := &s.Participants[i]
		p.Participants[x.ID] = capability.Texts(x.Capabilities)
		if x.Root != "" {
			if p.Roots == nil {
				p.Roots = make(map[protocol.ParticipantID]string)
			}
			p.Roots[x.ID] = x.Root
		}
	}
	if s.JWT != nil {
		p.Guests = capability.Texts(s.JWT.Capabilities)
	}
	if !s.Deciders.Configured() {
		return p
	}
	p.Deciders = &api.DecidersPolicy{HumanOnly: capability.Texts(s.Deciders.HumanOnly)}
	for _, r := range s.Deciders.Rules {
		p.Deciders.Rules = append(p.Deciders.Rules, api.RulePolicy{Capability: json.RawMessage(r.Capability.String()), Reason: r.Reason})
	}
	for _, v := range s.Deciders.Reviewers {
		r := api.ReviewerPolicy{ID: v.ID, Mode: api.ModeShadow, For: capability.Texts(v.For), Decisions: v.Decisions, WithoutMiss: v.WithoutMiss}
		if v.Decides {
			r.Mode = api.ModeDecide
		}
		p.Deciders.Reviewers = append(p.Deciders.Reviewers, r)
	}
	for _, stage := range s.Deciders.People {
		p.Deciders.People = append(p.Deciders.People, api.StagePolicy{People: stage.People, AfterSeconds: stage.After.Seconds()})
	}
	return p
}

func safetyPolicy(s *config.Safety) api.SafetyPolicy {
	p := api.SafetyPolicy{Digest: safetyDigest(s), Kinds: kindNames(s.Kinds)}
	p.Rules, _ = safety.RuleIDs(s.Rules) // the pipeline was made of them
	return p
}

func kindNames(list []protocol.KindPattern) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].String()
	}
	return names
}

// safetyDigest is equal for equal settings. Secrets are not in it.
func safetyDigest(s *config.Safety) string {
	text, err := json.Marshal([]any{kindNames(s.Kinds), s.Action, s.Actions, s.Policy, s.MaxText, s.Digests})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// spaceOf returns the configuration of a space with this policy, with nothing else in it.
func spaceOf(name string, p *api.SpacePolicy) (config.Space, error) {
	s := config.Space{Name: name, Everyone: p.Visibility == visibility(true), DecideExplicitly: p.Decide == decideExplicit}
	for _, id := range slices.Sorted(maps.Keys(p.Participants)) {
		held, err := compile(p.Participants[id])
		if err != nil {
			return s, err
		}
		s.Participants = append(s.Participants, config.Participant{ID: id, Capabilities: held, Root: p.Roots[id]})
	}
	if p.Guests != nil {
		held, err := compile(p.Guests)
		if err != nil {
			return s, err
		}
		s.JWT = &config.JWT{Capabilities: held}
	}
	if p.Deciders == nil {
		return s, nil
	}
	d := &s.Deciders
	held, err := compile(p.Deciders.HumanOnly)
	d.HumanOnly = held
	for _, r := range p.Deciders.Rules {
		c, fault := capability.ParseJSON(r.Capability)
		err = cmp.Or(err, fault)
		d.Rules = append(d.Rules, authority.Rule{Capability: c, Reason: r.Reason})
	}
	for _, r := range p.Deciders.Reviewers {
		held, fault := compile(r.For)
		err = cmp.Or(err, fault)
		d.Reviewers = append(d.Reviewers, authority.Reviewer{
			ID: r.ID, Decides: r.Mode == api.ModeDecide, For: held, Decisions: r.Decisions, WithoutMiss: r.WithoutMiss,
		})
	}
	for _, stage := range p.Deciders.People {
		after := time.Duration(math.Round(stage.AfterSeconds * float64(time.Second)))
		d.People = append(d.People, authority.Stage{People: stage.People, After: after})
	}
	return s, err
}

func compile(list []json.RawMessage) ([]*capability.Capability, error) {
	out := make([]*capability.Capability, 0, len(list))
	for _, text := range list {
		c, err := capability.ParseJSON(text)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// notePolicy stores the policy in force in the data folder.
func (g *Gateway) notePolicy(cfg *config.Config) {
	data := g.options.Config.Data // a reload does not change it
	if data == InMemory {
		return
	}
	p := policy{Administration: cfg.Administration.Space, Safety: safetyPolicy(&cfg.Safety), Spaces: make(map[string]api.SpacePolicy, len(cfg.Spaces))}
	for i := range cfg.Spaces {
		p.Spaces[cfg.Spaces[i].Name] = spacePolicy(&cfg.Spaces[i])
	}
	name := filepath.Join(data, policyFile)
	text, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(name+".tmp", append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		g.log.Warn("the policy in force was not stored; a backtest cannot compare with it", "error", err)
	}
}

// Policy returns the policy in force of a space; nil if there is no such space.
func (g *Gateway) Policy(name string) *api.Policy {
	g.admin.mu.Lock()
	file := g.cfg.Load()
	s, ok := effective(file, g.admin.directory).Space(name)
	g.admin.mu.Unlock()
	if !ok {
		return nil
	}
	p := &api.Policy{SpacePolicy: spacePolicy(s), Added: []protocol.ParticipantID{}, Safety: safetyPolicy(&file.Safety)}
	inFile := map[protocol.ParticipantID]bool{}
	if from, ok := file.Space(name); ok {
		inFile = idsOf(from)
	}
	for _, x := range s.Participants {
		if !inFile[x.ID] {
			p.Added = append(p.Added, x.ID)
		}
	}
	return p
}

// BacktestPolicy returns what a configuration file says about a space. inForce has the
// participants that the administrative space has added, if its log is not read; nil: none.
func BacktestPolicy(cfg *config.Config, space string, inForce *api.Policy) (*backtest.Policy, error) {
	pipeline, err := SafetyOf(cfg, nil)
	if err != nil {
		return nil, err
	}
	own := *cfg
	own.Spaces = slices.Clone(cfg.Spaces)
	cfg = &own
	if s, ok := cfg.Space(space); ok && inForce != nil {
		s.Participants = slices.Clip(s.Participants) // of the caller
		for _, id := range inForce.Added {
			held, err := compile(inForce.Participants[id])
			if err != nil {
				return nil, err
			}
			if !idsOf(s)[id] {
				s.Participants = append(s.Participants, config.Participant{ID: id, Capabilities: held})
			}
		}
	}
	p := backtestPolicy(cfg, space)
	p.Safety, p.SafetyID = pipeline, safetyDigest(&cfg.Safety)
	p.Masks = func(kind protocol.Kind, rule string) bool { return pipeline.Applies(kind) && pipeline.Has(rule) }
	return p, nil
}

func backtestPolicy(cfg *config.Config, space string) *backtest.Policy {
	return &backtest.Policy{
		Administration: cfg.Administration.Space,
		Space: func(made authority.Directory) *authority.Config {
			out, _ := spacesOf(effective(cfg, made), cfg, nil)(space) // nil if there is none
			return out
		},
	}
}

// StoredPolicy returns what the policy that a gateway has stored in its data folder says
// about a space; nil if it has stored none.
func StoredPolicy(data, space string) (*backtest.Policy, error) {
	text, err := os.ReadFile(filepath.Join(data, policyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	var stored policy
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	var p *backtest.Policy
	if err == nil {
		p, err = stored.backtest(space)
	}
	if err != nil {
		return nil, fmt.Errorf("read the policy in force: %w", err)
	}
	return p, nil
}

// RemotePolicy returns what a policy in force says about its space.
func RemotePolicy(in *api.Policy, space string) (*backtest.Policy, error) {
	p := policy{Safety: in.Safety, Spaces: map[string]api.SpacePolicy{space: in.SpacePolicy}}
	return p.backtest(space)
}

// backtest returns what the policy says about a space.
func (p *policy) backtest(space string) (*backtest.Policy, error) {
	cfg := &config.Config{}
	cfg.Administration.Space = p.Administration
	for name := range p.Spaces {
		q := p.Spaces[name]
		s, err := spaceOf(name, &q)
		if err != nil {
			return nil, err
		}
		cfg.Spaces = append(cfg.Spaces, s)
	}
	var kinds []protocol.KindPattern
	for _, text := range p.Safety.Kinds {
		k, err := protocol.ParseKindPattern(text)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	out := backtestPolicy(cfg, space)
	out.SafetyID = p.Safety.Digest
	out.Masks = func(kind protocol.Kind, rule string) bool {
		return slices.Contains(p.Safety.Rules, rule) &&
			slices.ContainsFunc(kinds, func(k protocol.KindPattern) bool { return k.Match(kind) })
	}
	return out, nil
}
