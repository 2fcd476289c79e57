package exchange

import (
	"encoding/json"

	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/protocol"
)

// saved is the state of Answers, as JSON: of each table the younger and the older
// generation.
type saved struct {
	Chats    [2]map[protocol.ID]chat              `json:"chats"`
	Contexts [2]map[string]struct{}               `json:"contexts"`
	Takers   [2]map[protocol.ParticipantID]*taker `json:"takers"`
	Last     protocol.ID                          `json:"last,omitempty"`
}

// Save returns the state for [RestoreAnswers].
func (t *Answers) Save() ([]byte, error) {
	s := saved{Last: t.last}
	s.Chats[0], s.Chats[1] = t.chats.Generations()
	s.Contexts[0], s.Contexts[1] = t.contexts.Generations()
	s.Takers[0], s.Takers[1] = t.takers.Generations()
	return json.Marshal(s)
}

// RestoreAnswers returns Answers with a state that was saved.
func RestoreAnswers(state []byte) (*Answers, error) {
	var s saved
	if err := json.Unmarshal(state, &s); err != nil {
		return nil, err
	}
	for _, takers := range s.Takers {
		for id, w := range takers {
			if w == nil {
				takers[id] = new(taker)
			}
		}
	}
	return &Answers{
		chats:    recent.Restore(maxChats, s.Chats[0], s.Chats[1]),
		contexts: recent.Restore(maxContexts, s.Contexts[0], s.Contexts[1]),
		takers:   recent.Restore(maxTakers, s.Takers[0], s.Takers[1]),
		last:     s.Last,
	}, nil
}
