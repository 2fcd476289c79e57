package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

func newListParticipants(s *connect.Settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list [SPACE]", Short: "Lists participants with their capabilities",
		Args: program.Args("[SPACE]"),
		Long: `list prints the participants of a space, or of all: file or log for where they come
from, the number of tokens that administration has issued, and the capabilities.` + exitCodes,
		RunE: runAdmin(s, &asJSON, nil, func(_ context.Context, x *adminSession, args []string) error {
			if err := x.narrow(args); err != nil {
				return err
			}
			if x.json {
				return x.encode(x.directory)
			}
			return x.table("SPACE\tPARTICIPANT\tSOURCE\tTOKENS\tCAPABILITIES\tNOTE", func(row func(...any)) {
				for _, s := range x.directory.Spaces {
					for _, p := range s.Participants {
						row(s.Name, p.ID, p.Source, len(p.Tokens), capabilities(&p), p.Inactive)
					}
				}
			})
		}),
	}
	jsonFlag(c, &asJSON, "print the directory as one JSON object")
	return c
}

// narrow keeps one space of the directory, if one is named.
func (x *adminSession) narrow(args []string) error {
	if len(args) == 0 {
		return nil
	}
	s, err := x.space(args[0])
	if err == nil {
		x.directory.Spaces = []api.DirectorySpace{*s}
	}
	return err
}

func capabilities(p *api.DirectoryParticipant) string {
	list := make([]string, 0, len(p.Capabilities))
	for _, c := range p.Capabilities {
		list = append(list, strings.Trim(string(c), `"`))
	}
	return strings.Join(list, " ")
}

func newAddParticipant(s *connect.Settings) *cobra.Command {
	var asJSON, replace, noToken bool
	var ttl time.Duration
	var l limits
	c := &cobra.Command{
		Use: "add SPACE WHO [CAPABILITY…]", Short: "Adds a participant, and prints its token",
		Args: program.Args("SPACE", "WHO", "[CAPABILITY…]"),
		Long: `add adds a participant to a space, with capabilities, and issues a token. The token
is generated here and printed once; the gateway receives only its SHA-256. A
capability is a pattern of kinds such as reasoning/*, or a JSON object with kind,
payload, to or context.

--replace replaces the capabilities and limits of a participant that
administration has added; its tokens stay, and none is issued.` + exitCodes,
		Example: `  meup admin participants add team-blue dora chat 'reasoning/*'
  meup admin participants add team-blue dora chat --replace`,
	}
	c.RunE = runAdmin(s, &asJSON, func([]string) error { return checkTTL(c, ttl) }, func(ctx context.Context, x *adminSession, args []string) error {
		list, err := parseCapabilities(args[2:])
		if err != nil {
			return err
		}
		if _, err := x.space(args[0]); err != nil {
			return err
		}
		payload := map[string]any{"space": args[0], "participant_id": args[1], "capabilities": list, "if_absent": !replace}
		l.add(c.Flags(), payload)
		r, err := x.send(ctx, protocol.KindAdminParticipantPut, payload)
		if err != nil {
			return err
		}
		out := adminResult{ID: r.ID, Seq: r.Seq}
		if noToken || replace {
			return x.print(out)
		}
		if err := x.issue(ctx, args[0], args[1], tokenOptions{ttl: ttl}, &out); err != nil {
			return fmt.Errorf("%s was added, without a token; meup admin tokens issue %s %s issues one: %w", args[1], args[0], args[1], err)
		}
		return x.print(out)
	})
	fl := c.Flags()
	fl.BoolVar(&replace, "replace", false, "replace capabilities and limits if the participant exists")
	fl.BoolVar(&noToken, "no-token", false, "issue no token")
	fl.DurationVar(&ttl, "ttl", 0, "how long the token is valid, such as 720h; 0: no end")
	l.register(fl)
	jsonFlag(c, &asJSON, `print {"id":…,"seq":…,"token":…,"token_id":…}`)
	return c
}

func checkTTL(c *cobra.Command, ttl time.Duration) error {
	if c.Flags().Changed("ttl") && ttl < time.Second && ttl != 0 {
		return program.Usagef("--ttl must be at least 1s")
	}
	return nil
}

func newRemoveParticipant(s *connect.Settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "remove SPACE WHO", Short: "Removes a participant with its tokens",
		Args: program.Args("SPACE", "WHO"),
		Long: `remove removes a participant that administration has added, with its tokens. Its
connections are closed.` + exitCodes,
		RunE: runAdmin(s, &asJSON, nil, func(ctx context.Context, x *adminSession, args []string) error {
			if _, err := x.participant(args[0], args[1]); err != nil {
				return err
			}
			r, err := x.send(ctx, protocol.KindAdminParticipantRemove, map[string]any{"space": args[0], "participant_id": args[1]})
			if err != nil {
				return err
			}
			return x.print(adminResult{ID: r.ID, Seq: r.Seq})
		}),
	}
	jsonFlag(c, &asJSON, receiptJSON)
	return c
}
