package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

const exitCodes = `

Exit codes: 0 done; 1 rejected or failed; 2 usage error; 4 no connection, or the
token is not valid.`

// Admin returns the command admin with its commands. They send envelopes to the
// administrative space of the gateway.
func Admin(s *connect.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "admin", Short: "Administers spaces, participants and tokens of a gateway",
		Long: `admin changes which spaces a gateway has, which participants they have, and which
tokens are accepted, while the gateway runs. Changes apply at all gateways that
share the log, at once. They need a token of the administrative space
(administration in the configuration of the gateway), which records who made
them: meup history --envelopes --kinds 'admin/*' --space OPS shows them. What the
configuration file has, only the file changes.

--space is not needed.` + exitCodes,
		RunE: program.NoCommand, Args: program.NoArgs,
	}
	group := func(use, short string, list ...*cobra.Command) {
		g := &cobra.Command{Use: use, Short: short, Long: strings.ToLower(short[:1]) + short[1:] + "." + exitCodes, RunE: program.NoCommand, Args: program.NoArgs}
		g.AddCommand(list...)
		c.AddCommand(g)
	}
	group("spaces", "Lists, adds and removes spaces", newListSpaces(s), newAddSpace(s), newRemoveSpace(s))
	group("participants", "Lists, adds and removes participants of spaces", newListParticipants(s), newAddParticipant(s), newRemoveParticipant(s))
	group("tokens", "Lists, issues, rotates and revokes tokens of participants", newListTokens(s), newIssueToken(s), newRotateToken(s), newRevokeToken(s))
	return c
}

// adminSession is a connection to a gateway, and what the gateway has.
type adminSession struct {
	*connect.Target
	directory *api.Directory
	out       io.Writer
	json      bool
}

// runAdmin returns the RunE of a command. check checks flags and arguments before there is a
// connection; nil: nothing to check.
func runAdmin(s *connect.Settings, asJSON *bool, check func(args []string) error,
	do func(ctx context.Context, x *adminSession, args []string) error,
) func(*cobra.Command, []string) error {
	return connect.RunE(func(c *cobra.Command, args []string) error {
		if check != nil {
			if err := check(args); err != nil {
				return err
			}
		}
		t, err := s.AnySpace(c)
		if err != nil {
			return err
		}
		d, err := t.API.Directory(c.Context(), "") // of all spaces
		if err != nil {
			return err
		}
		return do(c.Context(), &adminSession{Target: t, directory: d, out: c.OutOrStdout(), json: *asJSON}, args)
	})
}

// send sends a change to the administrative space.
func (x *adminSession) send(ctx context.Context, kind protocol.Kind, payload map[string]any) (api.Receipt, error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return api.Receipt{}, fmt.Errorf("encode the payload: %w", err)
	}
	return x.API.Send(ctx, x.directory.Administration, protocol.Envelope{Kind: kind, Payload: text})
}

func (x *adminSession) space(name string) (*api.DirectorySpace, error) {
	var names []string
	for i := range x.directory.Spaces {
		s := &x.directory.Spaces[i]
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("there is no space %q; %s", name, hint(name, names, "meup admin spaces list lists them"))
}

func (x *adminSession) participant(space, id string) (*api.DirectoryParticipant, error) {
	s, err := x.space(space)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range s.Participants {
		p := &s.Participants[i]
		if string(p.ID) == id {
			return p, nil
		}
		ids = append(ids, string(p.ID))
	}
	return nil, fmt.Errorf("%s has no participant %q; %s", space, id, hint(id, ids, "meup admin participants list "+space+" lists them"))
}

// hint returns the most similar choice, or otherwise where to find all.
func hint(word string, choices []string, otherwise string) string {
	if near := textutil.Closest(word, choices); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// adminResult is what a change prints.
type adminResult struct {
	ID        protocol.ID  `json:"id"` // of the envelope
	Seq       protocol.Seq `json:"seq"`
	Token     string       `json:"token,omitempty"`
	TokenID   protocol.ID  `json:"token_id,omitempty"`
	ExpiresAt string       `json:"expires_at,omitempty"` // of the token
}

// print prints a result: ID SEQ, and what belongs to a token on lines of their own.
func (x *adminSession) print(r adminResult) error {
	if x.json {
		return x.encode(r)
	}
	text := fmt.Sprintf("%s %d\n", r.ID, r.Seq)
	for _, line := range [][2]string{{"token", r.Token}, {"token_id", string(r.TokenID)}, {"expires_at", r.ExpiresAt}} {
		if line[1] != "" {
			text += line[0] + ": " + line[1] + "\n"
		}
	}
	_, err := io.WriteString(x.out, text)
	return err
}

func (x *adminSession) encode(v any) error {
	return json.NewEncoder(termsafe.JSONWriter(x.out)).Encode(v)
}
