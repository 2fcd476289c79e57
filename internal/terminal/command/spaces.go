package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/protocol"
)

func newSpaces(s *connect.Settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "spaces",
		Short: "Lists the spaces that your token is valid for",
		Long: `spaces lists the spaces that the token is valid for, with the participant that it
identifies there, and the patterns of spaces that are created when they are
joined. --space is not needed.

Exit codes: those of meup.`,
		Args: program.NoArgs,
		RunE: connect.RunE(func(c *cobra.Command, _ []string) error {
			t, err := s.AnySpace(c)
			if err != nil {
				return err
			}
			session, err := t.API.Session(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(termsafe.JSONWriter(c.OutOrStdout())).Encode(session)
			}
			out := bufio.NewWriter(c.OutOrStdout())
			if len(session.Spaces)+len(session.Globs) == 0 {
				connect.Warn(c.ErrOrStderr(), "the token is valid for no space")
			}
			for _, s := range session.Spaces {
				fmt.Fprintf(out, "%s  as %s\n", termsafe.Words(s.Name), termsafe.Words(string(s.Participant)))
			}
			for _, glob := range session.Globs {
				fmt.Fprintf(out, "%s  (created when joined)\n", termsafe.Words(glob))
			}
			return out.Flush()
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the session as one JSON object")
	return c
}

func newWho(s *connect.Settings, style styler) *cobra.Command {
	var all, asJSON bool
	var wait []string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "who",
		Short: "Lists the connected participants and their capabilities",
		Long: `who lists the participants that are connected to the space, and what each of them
may do: the beginning of it, and with --all everything. Your own participant comes
first, connected or not. With --wait, it first waits until these participants are connected, and for a gateway that does not
listen yet; after --timeout it ends with exit code 3.

Exit codes: those of meup.`,
		Example: "  meup who\n  meup who --wait planner,files",
		Args:    program.NoArgs,
	}
	c.Flags().BoolVar(&all, "all", false, "describe all capabilities, and none shortened")
	c.Flags().BoolVar(&asJSON, "json", false, "print the roster as one JSON object")
	c.Flags().StringSliceVar(&wait, "wait", nil, "wait until these participants are connected")
	c.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "how long --wait waits")
	c.RunE = connect.RunE(func(c *cobra.Command, _ []string) error {
		if timeout <= 0 {
			return program.Usagef("--timeout must be positive")
		}
		colors, t, err := style.target(c, s)
		if err != nil {
			return err
		}
		var roster *api.Roster
		if len(wait) > 0 {
			var names []protocol.ParticipantID
			for _, name := range wait {
				names = append(names, protocol.ParticipantID(name))
			}
			roster, err = awaitRoster(c.Context(), s.Env, c.ErrOrStderr(), t, names, timeout)
		} else {
			roster, err = t.API.Roster(c.Context(), t.Space)
		}
		if err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(termsafe.JSONWriter(c.OutOrStdout())).Encode(roster)
		}
		out, width := bufio.NewWriter(c.OutOrStdout()), tui.TerminalWidth(c.OutOrStdout())
		shortened := false
		line := func(p *protocol.Participant, note string) {
			may, cut := block.BriefCapabilities(p.Capabilities)
			if all {
				may, cut = strings.Join(block.Capabilities(p.Capabilities), "; "), false
			}
			shortened = shortened || cut
			if slices.Contains(roster.Paused, p.ID) {
				note += " (paused)"
			}
			text := fmt.Sprintf("%s%s  %s", colors.Paint(colors.Name, termsafe.Words(string(p.ID))), note, may)
			if width > 0 {
				text = strings.Join(tui.WrapHanging(text, width), "\n")
			}
			fmt.Fprintln(out, text)
			if p.Description != "" {
				fmt.Fprintln(out, "  "+termsafe.Words(p.Description))
			}
		}
		note := " (you, not connected)"
		for i := range roster.Participants {
			if roster.Participants[i].ID == roster.You.ID {
				note = " (you)"
			}
		}
		line(&roster.You, note)
		for i := range roster.Participants {
			if p := &roster.Participants[i]; p.ID != roster.You.ID {
				line(p, "")
			}
		}
		if err := out.Flush(); err != nil || !shortened {
			return err
		}
		connect.Warn(c.ErrOrStderr(), "capabilities were shortened; all of them: meup who --all%s", connect.Given(c.Flags()))
		return nil
	})
	return c
}

// rosterInterval is the time between two requests of awaitRoster, and quietTime how long it
// waits before it reports the reason.
const (
	rosterInterval = 200 * time.Millisecond
	quietTime      = time.Second
)

// awaitRoster returns the roster when all of these participants are connected. It also
// waits for a gateway that does not listen yet. After a second, it reports the reason once.
func awaitRoster(ctx context.Context, env *program.Environment, errOut io.Writer, t *connect.Target, names []protocol.ParticipantID, timeout time.Duration) (*api.Roster, error) {
	late, cancel := context.WithCancel(ctx)
	defer cancel()
	defer env.After(timeout, cancel).Stop()
	again := time.NewTicker(rosterInterval)
	defer again.Stop()
	quiet := time.After(quietTime)
	reason := "the gateway did not answer"
	for {
		roster, err := t.API.Roster(late, t.Space)
		var refused *api.StatusError
		switch {
		case err == nil:
			missing := slices.DeleteFunc(slices.Clone(names), roster.Connected)
			if len(missing) == 0 {
				return roster, nil
			}
			reason = "not connected: " + conversation.Names(missing)
			if question := conversation.DidYouMean(missing, roster.Participants); question != "" {
				reason += ". " + question
			}
		case ctx.Err() != nil, errors.As(err, &refused) && !refused.Temporary():
			return nil, err
		case late.Err() == nil:
			reason = connect.Finish(ctx, err).Error()
		}
		select {
		case <-quiet:
			connect.Warn(errOut, "waiting up to %s; %s", timeout, reason)
		default:
		}
		select {
		case <-again.C:
		case <-late.Done():
			if ctx.Err() != nil {
				return nil, program.ErrInterrupted
			}
			return nil, &program.ExitError{Code: connect.ExitTimedOut, Err: fmt.Errorf("gave up after %s; %s", timeout, reason)}
		}
	}
}
