package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/protocol"
)

// maxRecent bounds the envelopes in which SuggestName looks for names.
const maxRecent = 200

// SuggestName adds the most similar participant to the error of an envelope that names an
// unknown one: of the connected ones, and those that recent envelopes are from or to.
func SuggestName(ctx context.Context, t *connect.Target, e *protocol.Envelope, err error) error {
	if !errors.Is(err, &protocol.Error{Code: protocol.CodeUnknownParticipant}) {
		return err
	}
	roster, unread := t.API.Roster(ctx, t.Space)
	if unread != nil {
		return err // without a suggestion
	}
	known := roster.Participants
	if page, err := t.API.Envelopes(ctx, t.Space, api.EnvelopeQuery{Descending: true, Limit: maxRecent}); err == nil {
		for i := range page.Envelopes {
			for _, id := range append(page.Envelopes[i].To, page.Envelopes[i].From) {
				known = append(known, protocol.Participant{ID: id})
			}
		}
	}
	p := e.ParsePayload()
	named := append(slices.Clone(e.To), protocol.ParticipantIn(p, "recipient"), protocol.ParticipantIn(p, "participant_id"))
	if question := conversation.DidYouMean(named, known); question != "" {
		return fmt.Errorf("%w %s", err, question)
	}
	return err
}

// Send sends an envelope and prints its receipt: ID SEQ, and the token of an invitation
// on separate lines.
func Send(c *cobra.Command, t *connect.Target, draft protocol.Envelope, asJSON bool) error {
	sent, err := t.API.Send(c.Context(), t.Space, draft)
	if err != nil {
		return SuggestName(c.Context(), t, &draft, err)
	}
	if draft.Kind == protocol.KindSpaceInvite && sent.Token == "" {
		connect.Warn(c.ErrOrStderr(), "no token: the gateway sends it only once, with the first answer to an invitation; to get a new one, invite again with another --id")
	}
	out := c.OutOrStdout()
	if asJSON {
		return json.NewEncoder(termsafe.JSONWriter(out)).Encode(sent)
	}
	text := fmt.Sprintf("%s %d\n", sent.ID, sent.Seq)
	if sent.Token != "" {
		text += "token: " + sent.Token + "\n"
	}
	if sent.ExpiresAt != "" {
		text += "expires_at: " + sent.ExpiresAt + "\n"
	}
	_, err = io.WriteString(out, text)
	return err
}
