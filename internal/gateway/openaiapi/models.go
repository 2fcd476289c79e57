package openaiapi

import (
	"context"
	"net/http"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the list of models.
const (
	maxOpened = 64   // spaces whose participants are listed; the others are listed alone
	maxModels = 2000 // in all
)

func modelObject(id, owner string) map[string]any {
	return map[string]any{"id": id, "object": "model", "created": 0, "owned_by": owner}
}

// models lists the spaces of the token and the participants that are connected there.
func (a *asker) models(w http.ResponseWriter, r *http.Request) error {
	list := []any{}
	for i, s := range a.Spaces() {
		list = append(list, modelObject(s.Name, "meup"))
		if i >= maxOpened {
			continue
		}
		agents, err := a.agents(r.Context(), s.Name)
		if err != nil {
			return err
		}
		for _, id := range agents {
			list = append(list, modelObject(s.Name+"/"+string(id), s.Name))
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list[:min(len(list), maxModels)]})
	return nil
}

// model describes one model. A participant that is not connected has none, as in the
// list.
func (a *asker) model(w http.ResponseWriter, r *http.Request) (err error) {
	in := &input{model: r.PathValue("id")}
	in.space, in.to, err = parseModel(in.model)
	if err != nil {
		return err
	}
	if _, err := a.enter(r.Context(), in); err != nil {
		return err
	}
	if in.to == "" {
		writeJSON(w, http.StatusOK, modelObject(in.model, "meup"))
		return nil
	}
	agents, err := a.agents(r.Context(), in.space)
	if err != nil {
		return err
	}
	for _, id := range agents {
		if id == in.to {
			writeJSON(w, http.StatusOK, modelObject(in.model, in.space))
			return nil
		}
	}
	return unknownModel(in.model)
}

// agents returns the other participants that are connected and could answer a
// question: the ones that may send a chat to the asker, or to all, without the hosts of tools.
func (a *asker) agents(ctx context.Context, space string) (list []protocol.ParticipantID, err error) {
	roster, err := a.Client.Roster(ctx, space)
	if err != nil {
		return nil, err
	}
	doc, err := protocol.ParseJSON([]byte(`{"message":""}`), protocol.MaxDepth)
	if err != nil {
		return nil, err
	}
	toAll := capability.Request{Kind: protocol.KindChat, Payload: doc.Root()}
	toAsker := toAll
	toAsker.To = []protocol.ParticipantID{roster.You.ID}
	for _, p := range roster.Participants {
		if p.ID == roster.You.ID || len(p.Serves) > 0 {
			continue
		}
		var rights []*capability.Capability
		for _, text := range p.Capabilities {
			if c, err := capability.ParseJSON(text); err == nil {
				rights = append(rights, c)
			}
		}
		set := capability.NewSet(rights...)
		if set.Decide(&toAll).Allowed || set.Decide(&toAsker).Allowed {
			list = append(list, p.ID)
		}
	}
	return list, nil
}
