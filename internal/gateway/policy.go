package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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

// policy is the part of a configuration that decides about envelopes, without tokens and
// secrets, as it is stored.
type policy struct {
	Administration string                 `json:"administration,omitempty"`
	Safety         policySafety           `json:"safety"`
	Spaces         map[string]policySpace `json:"spaces"`
}

type policySafety struct {
	Digest string   `json:"digest"` // of the settings
	Kinds  []string `json:"kinds"`
	Rules  []string `json:"rules"` // their names
}

type policySpace struct {
	Everyone         bool                                         `json:"everyone,omitempty"`
	DecideExplicitly bool                                         `json:"decide_explicitly,omitempty"`
	Participants     map[protocol.ParticipantID][]json.RawMessage `json:"participants"`
	Guests           *[]json.RawMessage                           `json:"guests,omitempty"` // of the issuer; nil: there is none
}

func policyOf(cfg *config.Config) (policy, error) {
	rules, err := safety.RuleIDs(cfg.Safety.Rules)
	if err != nil {
		return policy{}, err
	}
	p := policy{
		Administration: cfg.Administration.Space, Spaces: make(map[string]policySpace, len(cfg.Spaces)),
		Safety: policySafety{Digest: safetyDigest(&cfg.Safety), Kinds: kindNames(cfg.Safety.Kinds), Rules: rules},
	}
	for i := range cfg.Spaces {
		s := &cfg.Spaces[i]
		q := policySpace{Everyone: s.Everyone, DecideExplicitly: s.DecideExplicitly, Participants: make(map[protocol.ParticipantID][]json.RawMessage, len(s.Participants))}
		for j := range s.Participants {
			q.Participants[s.Participants[j].ID] = texts(s.Participants[j].Capabilities)
		}
		if s.JWT != nil {
			guests := texts(s.JWT.Capabilities)
			q.Guests = &guests
		}
		p.Spaces[s.Name] = q
	}
	return p, nil
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

// config returns the configuration of a policy, with nothing else in it.
func (p *policy) config() (*config.Config, error) {
	cfg := &config.Config{}
	cfg.Administration.Space = p.Administration
	for name, q := range p.Spaces {
		s := config.Space{Name: name, Everyone: q.Everyone, DecideExplicitly: q.DecideExplicitly}
		for id, list := range q.Participants {
			held, err := compile(list)
			if err != nil {
				return nil, err
			}
			s.Participants = append(s.Participants, config.Participant{ID: id, Capabilities: held})
		}
		if q.Guests != nil {
			held, err := compile(*q.Guests)
			if err != nil {
				return nil, err
			}
			s.JWT = &config.JWT{Capabilities: held}
		}
		cfg.Spaces = append(cfg.Spaces, s)
	}
	return cfg, nil
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
	p, err := policyOf(cfg)
	var text []byte
	if err == nil {
		text, err = json.Marshal(p)
	}
	if err == nil {
		err = replaceFile(filepath.Join(data, policyFile), append(text, '\n'))
	}
	if err != nil {
		g.log.Warn("the policy in force was not stored; a backtest cannot compare with it", "error", err)
	}
}

func replaceFile(name string, content []byte) error {
	next := name + ".tmp"
	err := os.WriteFile(next, content, 0o600)
	if err == nil {
		err = os.Rename(next, name)
	}
	return err
}

// BacktestPolicy returns what a configuration says about a space.
func BacktestPolicy(cfg *config.Config, space string) (*backtest.Policy, error) {
	pipeline, err := SafetyOf(cfg, nil)
	if err != nil {
		return nil, err
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
	var cfg *config.Config
	if err == nil {
		cfg, err = stored.config()
	}
	if err != nil {
		return nil, fmt.Errorf("read the policy in force: %w", err)
	}
	var kinds []protocol.KindPattern
	for _, text := range stored.Safety.Kinds {
		k, err := protocol.ParseKindPattern(text)
		if err != nil {
			return nil, fmt.Errorf("read the policy in force: %w", err)
		}
		kinds = append(kinds, k)
	}
	p := backtestPolicy(cfg, space)
	p.SafetyID = stored.Safety.Digest
	p.Masks = func(kind protocol.Kind, rule string) bool {
		return slices.Contains(stored.Safety.Rules, rule) &&
			slices.ContainsFunc(kinds, func(k protocol.KindPattern) bool { return k.Match(kind) })
	}
	return p, nil
}
