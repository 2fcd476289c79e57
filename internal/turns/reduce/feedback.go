package reduce

import (
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// maxFeedback bounds the feedback that is shown of a turn: of more, the newest.
const maxFeedback = 256

// renderFeedback returns the feedback that counts, in order of the log: the last one of
// each participant about each envelope that the turn shows.
func (b *Builder) renderFeedback(d *Display) []api.Feedback {
	if len(b.feedback) == 0 {
		return nil
	}
	type subject struct {
		from  protocol.ParticipantID
		about protocol.ID
	}
	shown := b.shownItems()
	seen := make(map[subject]bool)
	var list []api.Feedback
	for _, it := range slices.Backward(b.feedback) {
		env := it.Env()
		for _, id := range env.Correlation.IDs {
			about := shown[id]
			if about == nil || seen[subject{env.From, id}] || len(list) == maxFeedback {
				continue
			}
			seen[subject{env.From, id}] = true
			if it.value == protocol.FeedbackNone {
				continue
			}
			list = append(list, api.Feedback{
				ID: env.ID, From: env.From, SentAt: protocol.Time{Time: env.TS}, Value: it.value, Note: d.of(it).text,
				About: id, AboutKind: about.Env().Kind, AboutFrom: about.Env().From,
			})
		}
	}
	slices.Reverse(list)
	return list
}

// shownItems returns the items that the turn shows, by id.
func (b *Builder) shownItems() map[protocol.ID]*Item {
	shown := make(map[protocol.ID]*Item)
	add := func(items ...*Item) {
		for _, it := range items {
			if it != nil {
				shown[it.Env().ID] = it
			}
		}
	}
	add(b.chat)
	add(b.answers...)
	for _, c := range b.contexts {
		add(c.start, c.closed)
	}
	for _, t := range b.inOrder {
		add(t.it)
	}
	for _, c := range b.calls {
		add(c.it, c.fulfillment, c.end)
	}
	return shown
}
