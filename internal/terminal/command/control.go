// Package command has the commands of meup about who may do what in a space: [Manage] changes
// participants, capabilities and pauses, and the profiles with which other commands connect,
// [Admin] the spaces, participants and tokens of a gateway; [Proposals] and [Decisions] show and
// decide proposed calls, [Reviewers] shows those who decide on them, [Audit] what was decided,
// [Budgets] what participants use, and [Claims] what they work on.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/protocol"
)

const receiptHelp = "The output is the id and the seq of the envelope: ID SEQ."

// control is a command that sends one envelope about a participant.
type control struct {
	use, short, long, example string
	kind                      protocol.Kind
	// subject and list are the fields of the payload for the participant and for the
	// capabilities; empty: it is addressed, and there are no capabilities.
	subject, list string
	// duration is the flag for a time, and field its field; empty: there is none.
	duration, field string
}

// controls are the commands that grant, revoke, invite, kick, pause and resume.
var controls = []control{
	{
		use: "grant WHO CAPABILITY…", short: "Grants capabilities to a participant", kind: protocol.KindCapabilityGrant,
		subject: "recipient", list: "capabilities",
		duration: "ttl", field: "ttl_seconds",
		long: `grant gives a participant capabilities that you hold, until they are revoked or
--ttl ends. A capability is a pattern of kinds such as reasoning/*, or a JSON
object with kind, payload, to or context. The id of the output is the grant's, for
meup revoke --grant.`,
		example: `  meup grant planner chat 'reasoning/*' --ttl 10m
  meup grant planner '{"kind":"mcp.request","payload":{"params":{"name":"read_*"}}}'`,
	},
	{
		use: "revoke WHO|GRANT [CAPABILITY…]", short: "Revokes granted capabilities", kind: protocol.KindCapabilityRevoke,
		subject: "recipient", list: "capabilities",
		long: `revoke takes back all active grants to a participant, one grant, or capabilities
from all grants to the participant, and everything that was granted on from them.
/revoke in meup join does the same.`,
		example: `  meup revoke planner
  meup revoke 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f
  meup revoke planner 'mcp.request'`,
	},
	{
		use: "invite WHO [CAPABILITY…]", short: "Invites a participant, and prints its token", kind: protocol.KindSpaceInvite,
		subject: "participant_id", list: "initial_capabilities",
		duration: "ttl", field: "ttl_seconds",
		long: `invite lets a new participant join the space, with capabilities that you hold. The
token is printed once, on a line of its own; it is neither logged nor shown to
others. --ttl ends the invitation. A participant that is invited already gets
another token, and these capabilities in addition, only with --replace: the earlier
token is then no longer valid. A participant without a capability may only read.`,
		example: `  meup invite dora chat 'reasoning/*' --ttl 24h`,
	},
	{
		use: "kick WHO", short: "Removes a participant until it is invited again", kind: protocol.KindSpaceKick, subject: "participant_id",
		long: `kick closes the connections of a participant and rejects its token until it is
invited again.`,
	},
	{
		use: "pause WHO", short: "Pauses a participant", kind: protocol.KindParticipantPause,
		duration: "for", field: "timeout_seconds",
		long: `pause makes the gateway reject the envelopes of a participant, until meup resume, or
until the time of --for is over. Its status, its responses to requests and its cancellations still pass.`,
		example: `  meup pause planner --for 10m --reason 'wait for the review'`,
	},
	{
		use: "resume WHO", short: "Ends the pause of a participant", kind: protocol.KindParticipantResume,
		long: `resume lets a paused participant send again.`,
	},
}

// controlFlags are the flags of a control.
type controlFlags struct {
	reason, grant, id, decision string
	duration                    time.Duration
	json, replace               bool
}

// Manage returns the commands that manage spaces, participants and profiles. style
// returns the colors for an output.
func Manage(s *connect.Settings, style styler) []*cobra.Command {
	list := []*cobra.Command{newSpaces(s), newWho(s, style), newLogin(s), newLogout(s)}
	for i := range controls {
		list = append(list, newControl(s, &controls[i]))
	}
	return list
}

func newControl(s *connect.Settings, k *control) *cobra.Command {
	var f controlFlags
	c := &cobra.Command{
		Use: k.use, Short: k.short, Example: k.example, Args: program.Args(strings.Fields(k.use)[1:]...),
		Long: k.long + "\n" + receiptHelp + `

Exit codes: 0 admitted; 1 rejected or failed; 2 usage error; 4 no connection, or
the token is not valid.`,
		RunE: connect.RunE(func(c *cobra.Command, args []string) error { return runControl(c, s, k, &f, args) }),
	}
	fl := c.Flags()
	fl.StringVar(&f.reason, "reason", "", "reason, visible to the participants of the space")
	fl.StringVar(&f.id, "id", "", "id of the envelope, which makes it safe to send it again (default: a new one)")
	fl.BoolVar(&f.json, "json", false, `print {"id":…,"seq":…}, and "token" of an invitation`)
	if k.duration != "" {
		fl.DurationVar(&f.duration, k.duration, 0, "how long, such as 10m; 0: no end")
	}
	if k.kind == protocol.KindCapabilityRevoke {
		fl.StringVar(&f.grant, "grant", "", "id of the grant to revoke, of the participant WHO")
	}
	if k.kind == protocol.KindReviewerDemote {
		fl.StringVar(&f.decision, "decision", "", "id of the request or the rejection that was wrong")
	}
	if k.kind == protocol.KindSpaceInvite {
		fl.BoolVar(&f.replace, "replace", false, "give a participant that is invited already another token")
	}
	return c
}

func runControl(c *cobra.Command, s *connect.Settings, k *control, f *controlFlags, args []string) error {
	e, err := k.draft(f, args)
	if err != nil {
		return err
	}
	t, err := s.Target(c)
	if err != nil {
		return err
	}
	switch {
	case k.kind == protocol.KindSpaceInvite && !f.replace:
		if err := checkInvited(c.Context(), t, f, args); err != nil {
			return err
		}
	case k.kind == protocol.KindCapabilityRevoke && len(args) == 1 && f.grant == "":
		return revokeAll(c, t, f, args[0])
	case k.kind == protocol.KindReviewerPromote, k.kind == protocol.KindReviewerDemote:
		return changeMode(c, t, f, e)
	}
	if k.kind == protocol.KindSpaceInvite || k.kind == protocol.KindCapabilityGrant {
		known := append(protocol.Kinds(), "observe", "decide")
		for _, text := range args[1:] {
			kind, ok := protocol.ParseKind(text)
			if ok && !slices.Contains(known, kind) && !kind.IsReasoning() && !strings.HasPrefix(string(kind), "x.") {
				connect.Warn(c.ErrOrStderr(), "no kind of the protocol is %s; kinds of applications begin with x.", kind)
			}
		}
	}
	if err := Send(c, t, e, f.json); err != nil {
		return err
	}
	if k.kind == protocol.KindSpaceInvite && len(args) == 1 {
		connect.Warn(c.ErrOrStderr(), "the invitation gives %s no capabilities; without others it may only read. To give it some: meup grant %[1]s CAPABILITY…, such as chat", args[0])
	}
	return nil
}

// checkInvited returns an error if a participant is invited already, by another invitation
// than the one that is sent again. args are the participant and the capabilities, of which
// the error has the ones that are not applied.
func checkInvited(ctx context.Context, t *connect.Target, f *controlFlags, args []string) error {
	e, err := conversation.InvitedBy(ctx, t.API, t.Space, protocol.ParticipantID(args[0]))
	if err != nil || e == nil || e.ID == protocol.ID(f.id) {
		return err
	}
	given := make(map[string]bool)
	for c := range e.ParsePayload().Get("initial_capabilities").Elements {
		given[string(c.AppendCanonical(nil))] = true
	}
	wanted, err := parseCapabilities(args[1:])
	if err != nil {
		return err
	}
	var missing []string
	for i, c := range wanted {
		doc, err := protocol.ParseJSON(c, protocol.MaxDepth)
		if err != nil || !given[string(doc.Root().AppendCanonical(nil))] {
			missing = append(missing, textutil.ShellWord(args[1+i]))
		}
	}
	if len(missing) == 0 {
		return fmt.Errorf("%s was invited at %s: its token is valid; to replace it with another one, add --replace", args[0], e.TS.Local().Format(time.DateTime))
	}
	list := strings.Join(missing, " ")
	return fmt.Errorf("%s was invited at %s without %s, which was not applied. To give it that too: meup grant %[1]s %[3]s; for another token as well, add --replace",
		args[0], e.TS.Local().Format(time.DateTime), list)
}

// revokeAll revokes the active grants to a participant, or the one with this id, of which a
// part is enough if no participant is meant.
func revokeAll(c *cobra.Command, t *connect.Target, f *controlFlags, of string) error {
	list, err := conversation.FetchGrants(c.Context(), t.API, t.Space)
	if err != nil {
		return err
	}
	active := conversation.ActiveGrants(list, of, time.Now())
	if len(active) == 0 {
		roster, err := t.API.Roster(c.Context(), t.Space)
		if err != nil {
			return err
		}
		if who := protocol.ParticipantID(of); roster.Connected(who) || conversation.GrantReceived(list, who) {
			return noGrant(of)
		}
		g, err := connect.Select(of, "active grant", "meup tail --kinds 'capability/*'", conversation.ActiveGrants(list, "", time.Now()), func(g *conversation.Grant) protocol.ID { return g.ID })
		if errors.Is(err, connect.ErrNoMatch) {
			err = noGrant(of)
		}
		if err != nil {
			return err
		}
		active = append(active, *g)
	}
	for i, g := range active {
		p := map[string]any{"recipient": g.Recipient, "grant_id": g.ID}
		if f.reason != "" {
			p["reason"] = f.reason
		}
		e := protocol.Envelope{Kind: protocol.KindCapabilityRevoke}
		e.Payload, err = json.Marshal(p)
		if err != nil {
			return err
		}
		if i == 0 {
			e.ID = protocol.ID(f.id)
		}
		if err := Send(c, t, e, f.json); err != nil {
			return err
		}
	}
	return nil
}

func noGrant(of string) error {
	return fmt.Errorf("no active grant matches %s; capabilities of the configuration and of invitations cannot be revoked (meup kick ends an invitation)", of)
}

func (k *control) draft(f *controlFlags, args []string) (protocol.Envelope, error) {
	e := protocol.Envelope{ID: protocol.ID(f.id), Kind: k.kind}
	capabilities, err := k.check(f, args)
	if err != nil {
		return e, err
	}
	who := protocol.ParticipantID(args[0])
	p := map[string]any{}
	add := func(key string, value any, set bool) {
		if set {
			p[key] = value
		}
	}
	add(k.subject, who, k.subject != "")
	add(k.list, capabilities, len(capabilities) > 0)
	add(k.field, f.duration.Seconds(), f.duration > 0)
	add("reason", f.reason, f.reason != "")
	add("grant_id", f.grant, f.grant != "")
	if f.decision != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(f.decision))
	}
	// The target of a pause is addressed, and so is the recipient of a grant: clients of
	// MEW treat a grant without addressees as a grant to themselves.
	if k.subject == "" || k.kind == protocol.KindCapabilityGrant {
		e.To = []protocol.ParticipantID{who}
	}
	e.Payload, err = json.Marshal(p)
	if err != nil {
		return e, fmt.Errorf("encode the payload: %w", err)
	}
	return e, nil
}

// check validates flags and arguments, and returns the capabilities.
func (k *control) check(f *controlFlags, args []string) ([]json.RawMessage, error) {
	if !protocol.ValidParticipantID(args[0]) {
		return nil, program.Usagef("%q: expected the name of a participant, 1 to 128 of A-Z a-z 0-9 . _ : - @ + |", args[0])
	}
	rest := args[1:]
	switch {
	case k.kind == protocol.KindCapabilityRevoke && len(rest) > 0 && f.grant != "":
		return nil, program.Usagef("expected either --grant ID or capabilities; meup tail shows the ids of grants")
	case f.duration < 0 || f.duration > 0 && f.duration < time.Second:
		return nil, program.Usagef("--%s must be at least 1s", k.duration)
	case f.id != "" && !protocol.ValidID(f.id):
		return nil, program.Usagef("--id %q: expected 1 to 128 of A-Z a-z 0-9 . _ : -", f.id)
	case f.decision != "" && !protocol.ValidID(f.decision):
		return nil, program.Usagef("--decision %q is not a valid id", f.decision)
	case f.grant != "" && !protocol.ValidID(f.grant):
		return nil, program.Usagef("--grant %q is not a valid id", f.grant)
	}
	return parseCapabilities(rest)
}

// parseCapabilities parses patterns of kinds and JSON objects.
func parseCapabilities(list []string) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(list))
	for _, text := range list {
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			if _, err := protocol.ParseJSON([]byte(text), protocol.MaxDepth); err != nil {
				return nil, program.Usagef("capability %q is not valid JSON: %w", text, err)
			}
			out = append(out, json.RawMessage(text))
			continue
		}
		if strings.TrimSpace(text) == "" {
			return nil, program.Usagef("a capability is empty")
		}
		raw, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}
