package a2a

import (
	"net/url"
	"strings"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/protocol"
)

// card returns the card of the space, or of the agent, without its participants.
func (c *call) card() *wire.AgentCard {
	address, name, description := "/a2a/"+url.PathEscape(c.space), c.space, "Ask the participants of the space "+c.space+"."
	if c.agent != "" {
		address += "/agents/" + url.PathEscape(string(c.agent))
		name, description = string(c.agent)+" in "+c.space, "Ask "+string(c.agent)+", a participant of the space "+c.space+"."
	}
	scheme := "http://"
	if c.r.TLS != nil || c.r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https://"
	}
	rpc := wire.NewAgentInterface(scheme+c.r.Host+address, wire.TransportProtocolJSONRPC)
	rpc.Tenant = c.space
	modes := []string{"text/markdown", "text/plain"}
	return &wire.AgentCard{
		Name: name, Description: description, Version: c.server.options.Version,
		SupportedInterfaces: []*wire.AgentInterface{rpc, wire.NewAgentInterface(scheme+c.r.Host+address, wire.TransportProtocolHTTPJSON)},
		Capabilities: wire.AgentCapabilities{Streaming: true, ExtendedAgentCard: true, Extensions: []wire.AgentExtension{
			{URI: cursorExtension, Description: "Each event has its position in the log; SubscribeToTask with the header Last-Event-ID continues after it."},
			{URI: draftsExtension, Description: "Text is sent while it grows, as chunks of artifacts whose ids begin with draft-."},
		}},
		DefaultInputModes: append(modes, "application/json"), DefaultOutputModes: modes,
		SecuritySchemes:      wire.NamedSecuritySchemes{"bearer": wire.HTTPAuthSecurityScheme{Scheme: "Bearer"}},
		SecurityRequirements: wire.SecurityRequirementsOptions{{"bearer": {}}},
		Skills:               []wire.AgentSkill{{ID: "ask", Name: "Ask", Description: description, Tags: []string{"question"}}},
	}
}

// extendedCard is the operation GetExtendedAgentCard: the card of the space with a skill
// for each connected participant that the client may ask, or that of a connected agent
// with its description.
func (c *call) extendedCard() (any, error) {
	roster, err := c.Client.Roster(c.r.Context(), c.space)
	if err != nil {
		return nil, protocol.AsError(err)
	}
	card := c.card()
	for _, p := range roster.Participants {
		switch {
		case p.ID == c.agent:
			card.Description = described(p, card.Description)
			card.Skills[0].Description = card.Description
		case c.agent != "" || p.ID == c.you || len(card.Skills) > maxPage:
		default:
			card.Skills = append(card.Skills, wire.AgentSkill{
				ID: "agents/" + string(p.ID), Name: string(p.ID), Tags: append([]string{"participant"}, p.Serves...),
				Description: described(p, "Ask "+string(p.ID)+" alone, at the address /a2a/"+c.space+"/agents/"+string(p.ID)+"."),
			})
		}
	}
	return card, nil
}

// described returns a text after the description of a participant.
func described(p protocol.Participant, text string) string {
	return strings.TrimSpace(p.Description + "\n" + text)
}
