package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

// finder returns a function like [config.Config.Space] whose cost for a name without a
// star does not depend on the number of spaces.
func finder(cfg *config.Config) func(name string) (*config.Space, bool) {
	exact := make(map[string]*config.Space, len(cfg.Spaces))
	var globs config.Config
	for i := range cfg.Spaces {
		s := &cfg.Spaces[i]
		exact[s.Name] = s
		if strings.Contains(s.Name, "*") {
			globs.Spaces = append(globs.Spaces, *s)
		}
	}
	return func(name string) (*config.Space, bool) {
		if s, ok := exact[name]; ok {
			return s, true
		}
		s, ok := globs.Space(name)
		if !ok {
			return nil, false
		}
		return exact[s.Name], true
	}
}

// spacesOf returns a function that resolves space names by a configuration, with
// what the administrative space adds to the file.
func spacesOf(cfg, file *config.Config, held func(space string, id protocol.ParticipantID) ([]json.RawMessage, error)) func(name string) (*authority.Config, bool) {
	var shared sync.Map // *config.Space to the function that returns the configuration of its spaces
	find := finder(cfg)
	administers := administersBeside(file)
	return func(name string) (*authority.Config, bool) {
		if !protocol.ValidSpaceName(name) {
			return nil, false
		}
		s, ok := find(name)
		if !ok {
			return nil, false
		}
		named, ok := shared.Load(s)
		if !ok {
			c := spaceConfig(s)
			if s.Name == file.Administration.Space {
				c.Administers, c.Held = administers, held
			}
			named, _ = shared.LoadOrStore(s, c.Shared())
		}
		return named.(func(string) *authority.Config)(name), true //nolint:forcetypeassert // the map holds nothing else
	}
}

// heldIn returns what a participant holds in a space, which it opens.
func (g *Gateway) heldIn(name string, id protocol.ParticipantID) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(g.background, heldTimeout)
	defer cancel()
	s, err := g.hub.Space(ctx, name)
	switch {
	case errors.Is(err, space.ErrNoSpace):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return s.Held(id), nil
}

// heldTimeout bounds the opening of a space for a check of an administrator.
const heldTimeout = 10 * time.Second

func spaceConfig(s *config.Space) *authority.Config {
	out := &authority.Config{
		Pattern: s.Name, Dialect: s.Dialect, Everyone: s.Everyone, DecideExplicitly: s.DecideExplicitly, Deciders: s.Deciders,
		Participants: make(map[protocol.ParticipantID]authority.ParticipantConfig, len(s.Participants)),
		Invited:      participantConfig(nil, s.Limits),
		Budget:       budget(&s.Budget), Loops: authority.Loops(s.Loops),
	}
	for _, p := range s.Participants {
		c := participantConfig(p.Capabilities, p.Limits)
		c.Description, c.Root, c.Budget = p.Description, p.Root, budget(&p.Budget)
		out.Participants[p.ID] = c
	}
	if s.JWT != nil {
		guests := participantConfig(s.JWT.Capabilities, s.JWT.Limits)
		guests.Budget = budget(&s.JWT.Budget)
		out.Guests = &guests
	}
	return out
}

func budget(b *config.Budget) authority.Budget {
	return authority.Budget{
		Tokens: int64(b.Tokens), Calls: int64(b.Calls), Cost: authority.MoneyOf(b.Cost), Currency: cmp.Or(b.Currency, exchange.DefaultCurrency),
	}
}

func participantConfig(c []*capability.Capability, l limit.Limits) authority.ParticipantConfig {
	limits := protocol.Limits{ // as a welcome has them
		Rate: l.Rate, Burst: l.Burst, BytesPerSecond: l.BytesPerSecond, MessageBytes: l.MessageBytes,
		Connections: l.Connections, OpenContexts: l.OpenContexts, ContextDepth: l.ContextDepth,
	}
	for _, k := range l.Kinds {
		limits.Kinds = append(limits.Kinds, protocol.KindLimit{Kind: k.Pattern.String(), Rate: k.Rate, Burst: k.Burst})
	}
	return authority.ParticipantConfig{Capabilities: c, Limits: limits, NewLimiter: func(old authority.Limiter) authority.Limiter {
		if b, ok := old.(limiter); ok {
			b.Update(l, time.Now())
			return b
		}
		return limiter{limit.New(l)}
	}}
}

// tokensOf returns the tokens and JWT settings of a configuration.
func tokensOf(cfg *config.Config) access.TokenTable {
	find := finder(cfg)
	t := access.TokenTable{Find: func(name string) (string, bool) {
		s, ok := find(name)
		if !ok {
			return "", false
		}
		return s.Name, true
	}}
	for _, s := range cfg.Spaces {
		a := access.SpaceTokens{Name: s.Name}
		for _, p := range s.Participants {
			if p.TokenHash != ([32]byte{}) {
				a.Tokens = append(a.Tokens, access.Token{Participant: p.ID, Hash: p.TokenHash})
				continue
			}
			a.Reserved = append(a.Reserved, p.ID)
			for _, token := range p.Tokens {
				a.Tokens = append(a.Tokens, access.Token{Participant: p.ID, Hash: token.Hash, Expires: token.Expires})
			}
		}
		if s.JWT != nil {
			a.JWT = &access.JWT{Issuer: s.JWT.Issuer, Audience: s.JWT.Audience, ParticipantClaim: s.JWT.ParticipantClaim}
		}
		t.Spaces = append(t.Spaces, a)
	}
	return t
}

// fixedDifferences lists the settings that differ between two configurations
// and need a restart.
func fixedDifferences(a, b *config.Config) []string {
	var list []string
	note := func(name string, differs bool) {
		if differs {
			list = append(list, name)
		}
	}
	note("listen", a.Listen != b.Listen)
	note("data", a.Data != b.Data)
	note("nats", a.NATS != b.NATS)
	note("replicas", a.Replicas != b.Replicas)
	note("tls", a.TLS.Enabled() != b.TLS.Enabled())
	note("retention", a.Retention != b.Retention)
	note("ring", a.Ring != b.Ring)
	note("origins", !slices.Equal(a.Origins, b.Origins))
	note("adapters", !slices.Equal(a.Adapters, b.Adapters))
	note("max_connections", a.MaxConnections != b.MaxConnections)
	note("ping_interval", a.PingInterval != b.PingInterval)
	note("idle_timeout", a.IdleTimeout != b.IdleTimeout)
	note("handshake_timeout", a.HandshakeTimeout != b.HandshakeTimeout)
	note("drain_timeout", a.DrainTimeout != b.DrainTimeout)
	note("login_failures", a.LoginFailures != b.LoginFailures)
	note("log", a.Log != b.Log)
	note("metrics_listen", a.MetricsListen != b.MetricsListen)
	note("pprof_listen", a.PprofListen != b.PprofListen)
	return list
}

// limiter adapts a participant's buckets to [authority.Limiter].
type limiter struct{ *limit.Bucket }

// Reserve charges bytes and kinds.
func (l limiter) Reserve(now time.Time, kind protocol.Kind, bytes int) (authority.Reservation, error) {
	r, err := l.Bucket.Reserve(now, kind, bytes)
	if err != nil {
		return nil, err
	}
	return &r, nil
}
