package gateway

import (
	"cmp"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// Reasons why a space or a participant of the administrative space has no effect.
const (
	shadowedSpace       = "the configuration file decides about this name"
	shadowedParticipant = "the configuration file has this participant"
	orphaned            = "the configuration file no longer has this space"
)

// effective returns the configuration file together with the directory. The file
// takes precedence: of a space that both have, the settings and the participants of
// the file count, and participants with other ids are added.
func effective(file *config.Config, d authority.Directory) *config.Config {
	cfg := *file
	cfg.Spaces = slices.Clone(file.Spaces)
	find := finder(file)
	index := make(map[string]int, len(file.Spaces))
	for i := range cfg.Spaces {
		index[cfg.Spaces[i].Name] = i
	}
	for s := range d.Spaces {
		i, inFile := index[s.Name]
		switch {
		case inactive(s, find, file) != "":
			continue
		case !inFile:
			i = len(cfg.Spaces)
			cfg.Spaces = append(cfg.Spaces, config.Space{
				Name: s.Name, Dialect: s.Settings.Dialect, Everyone: s.Settings.Everyone,
				DecideExplicitly: s.Settings.DecideExplicitly, Limits: s.Settings.Limits.Over(file.Limits),
			})
		}
		addParticipants(&cfg.Spaces[i], s)
	}
	return &cfg
}

// inactive returns why a space of the directory has no effect beside the file; "": it
// has one.
func inactive(s *authority.DirectorySpace, find func(string) (*config.Space, bool), file *config.Config) string {
	from, found := find(s.Name)
	switch {
	case s.Name == file.Administration.Space, found && from.Name != s.Name:
		return shadowedSpace
	case !found && !s.Made:
		return orphaned
	}
	return ""
}

func addParticipants(to *config.Space, s *authority.DirectorySpace) {
	inFile := idsOf(to)
	hashes := make(map[[32]byte]bool, len(to.Participants))
	for i := range to.Participants {
		hashes[to.Participants[i].TokenHash] = true
	}
	to.Participants = slices.Clip(to.Participants) // the file's is not changed
	for p := range s.Participants {
		if inFile[p.ID] {
			continue
		}
		q := config.Participant{ID: p.ID, Capabilities: p.Capabilities, Limits: p.Limits.Over(to.Limits)}
		for _, t := range p.Tokens {
			if !hashes[t.Hash] {
				q.Tokens = append(q.Tokens, config.Token{Hash: t.Hash, Expires: t.Expires})
			}
		}
		to.Participants = append(to.Participants, q)
	}
}

// idsOf returns the ids of the participants of a space.
func idsOf(s *config.Space) map[protocol.ParticipantID]bool {
	ids := make(map[protocol.ParticipantID]bool, len(s.Participants))
	for i := range s.Participants {
		ids[s.Participants[i].ID] = true
	}
	return ids
}

// administersBeside returns the check of a change against a configuration file.
func administersBeside(file *config.Config) func(c authority.DirectoryChange, made bool) error {
	find := finder(file)
	return func(c authority.DirectoryChange, made bool) error {
		if c.Space == file.Administration.Space {
			return inFile("/space", "%s is the administrative space; only the configuration file changes it.", c.Space)
		}
		hasToken := func(s config.Space) bool {
			return slices.ContainsFunc(s.Participants, func(p config.Participant) bool { return p.TokenHash == c.Hash })
		}
		if c.Kind == protocol.KindAdminTokenIssue && slices.ContainsFunc(file.Spaces, hasToken) {
			return inFile("/token_sha256", "A participant of the configuration file has this token.")
		}
		s, found := find(c.Space)
		switch {
		case !found && !made && c.Kind == protocol.KindAdminParticipantPut:
			return inFile("/space", "There is no space %s; make it first.", c.Space)
		case !found:
			return nil
		case s.Name != c.Space: // by a glob; what was made before the file had it can be removed
			if slices.Contains([]protocol.Kind{protocol.KindAdminSpaceRemove, protocol.KindAdminParticipantRemove, protocol.KindAdminTokenRevoke}, c.Kind) {
				return nil
			}
			return inFile("/space", "The configuration file makes the space %s by %s; change that, or use another name.", c.Space, s.Name)
		}
		switch c.Kind {
		case protocol.KindAdminSpacePut:
			return inFile("/space", "The configuration file has the space %s; change it there.", c.Space)
		case protocol.KindAdminSpaceRemove:
			if !made {
				return inFile("/space", "The configuration file has the space %s; change it there.", c.Space)
			}
		case protocol.KindAdminParticipantPut, protocol.KindAdminTokenIssue:
			if slices.ContainsFunc(s.Participants, func(p config.Participant) bool { return p.ID == c.Participant }) {
				return inFile("/participant_id", "The configuration file has the participant %s of %s; change it, and its token, there.", c.Participant, c.Space)
			}
		}
		return nil
	}
}

// inFile rejects a change because of the configuration file.
func inFile(path, format string, args ...any) error {
	e := protocol.Errorf(protocol.CodeInvalidPayload, format, args...)
	e.Path, e.Detail = path, "the configuration file takes precedence"
	return e
}

// AdministrativeSpace returns the name of the administrative space; "": there is
// none.
func (g *Gateway) AdministrativeSpace() string { return g.cfg.Load().Administration.Space }

// Directory returns the space of this name, or all for "", as they are in effect,
// and what has no effect, with the reason.
func (g *Gateway) Directory(name string) *api.Directory {
	g.admin.mu.Lock()
	file, d := g.cfg.Load(), g.admin.directory
	g.admin.mu.Unlock()
	out := &api.Directory{Administration: file.Administration.Space, Spaces: []api.DirectorySpace{}}
	for i := range file.Spaces {
		s := &file.Spaces[i]
		if name != "" && s.Name != name {
			continue
		}
		item := api.DirectorySpace{Name: s.Name, Source: api.SourceFile, Dialect: s.Dialect.String(), Visibility: visibility(s.Everyone), Participants: []api.DirectoryParticipant{}}
		if s.JWT != nil {
			item.Issuer = s.JWT.Issuer
		}
		for _, p := range s.Participants {
			item.Participants = append(item.Participants, api.DirectoryParticipant{ID: p.ID, Source: api.SourceFile, Capabilities: capability.Texts(p.Capabilities)})
		}
		if added := d.Space(s.Name); added != nil {
			appendAdded(&item, added, s)
		}
		out.Spaces = append(out.Spaces, item)
	}
	find := finder(file)
	for s := range d.Spaces {
		if from, found := find(s.Name); found && from.Name == s.Name || name != "" && s.Name != name {
			continue
		}
		item := api.DirectorySpace{
			Name: s.Name, Source: api.SourceLog, By: s.By, At: s.At, Dialect: s.Settings.Dialect.String(), Visibility: visibility(s.Settings.Everyone),
			Inactive: inactive(s, find, file), Participants: []api.DirectoryParticipant{},
		}
		appendAdded(&item, s, &config.Space{})
		out.Spaces = append(out.Spaces, item)
	}
	slices.SortFunc(out.Spaces, func(a, b api.DirectorySpace) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// appendAdded lists the participants that the directory adds to a space of the file.
func appendAdded(item *api.DirectorySpace, s *authority.DirectorySpace, file *config.Space) {
	now, inFile := time.Now(), idsOf(file)
	for p := range s.Participants {
		q := api.DirectoryParticipant{ID: p.ID, Source: api.SourceLog, By: p.By, At: p.At, Capabilities: capability.Texts(p.Capabilities), Inactive: item.Inactive}
		if inFile[p.ID] {
			q.Inactive = shadowedParticipant
		}
		for _, t := range p.Tokens {
			q.Tokens = append(q.Tokens, api.DirectoryToken{
				ID: t.ID, By: t.By, At: t.At, Expires: t.Expires, Expired: !t.Expires.IsZero() && !now.Before(t.Expires),
			})
		}
		item.Participants = append(item.Participants, q)
	}
	slices.SortStableFunc(item.Participants, func(a, b api.DirectoryParticipant) int { return cmp.Compare(a.ID, b.ID) })
}

func visibility(everyone bool) string {
	if everyone {
		return "everyone"
	}
	return "addressed"
}
