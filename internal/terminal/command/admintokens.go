package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

func newListTokens(s *connect.Settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list [SPACE [WHO]]", Short: "Lists the tokens that were issued",
		Args: program.Args("[SPACE]", "[WHO]"),
		Long: `list prints the ids of the tokens that administration has issued, who issued them,
and when they expire. Tokens themselves are stored nowhere.` + exitCodes,
		RunE: runAdmin(s, &asJSON, nil, func(_ context.Context, x *adminSession, args []string) error {
			if len(args) > 1 {
				p, err := x.participant(args[0], args[1])
				if err != nil {
					return err
				}
				x.directory.Spaces = []api.DirectorySpace{{Name: args[0], Participants: []api.DirectoryParticipant{*p}}}
			} else if err := x.narrow(args); err != nil {
				return err
			}
			if x.json {
				return x.encode(x.directory)
			}
			return x.table("SPACE\tPARTICIPANT\tTOKEN\tISSUED\tBY\tEXPIRES", func(row func(...any)) {
				for _, s := range x.directory.Spaces {
					for _, p := range s.Participants {
						for _, t := range p.Tokens {
							expires := moment(t.Expires)
							if t.Expired {
								expires += " (expired)"
							}
							row(s.Name, p.ID, t.ID, moment(t.At), t.By, expires)
						}
					}
				}
			})
		}),
	}
	jsonFlag(c, &asJSON, "print the directory as one JSON object")
	return c
}

// tokenOptions are the options of an issued token.
type tokenOptions struct {
	ttl     time.Duration // 0: no end
	rotates bool
	overlap time.Duration
}

// issue generates a token and issues it. The gateway receives its digest.
func (x *adminSession) issue(ctx context.Context, space, who string, o tokenOptions, out *adminResult) error {
	text := textutil.NewToken()
	sum := sha256.Sum256([]byte(text))
	payload := map[string]any{"space": space, "participant_id": who, "token_sha256": hex.EncodeToString(sum[:])}
	if o.ttl > 0 {
		payload["ttl_seconds"] = o.ttl.Seconds()
	}
	if o.rotates {
		payload["overlap_seconds"] = o.overlap.Seconds()
	}
	r, err := x.send(ctx, protocol.KindAdminTokenIssue, payload)
	if err != nil {
		return err
	}
	if out.ID == "" {
		out.ID, out.Seq = r.ID, r.Seq
	}
	out.Token, out.TokenID = text, r.ID
	if o.ttl > 0 {
		out.ExpiresAt = time.Now().Add(o.ttl).UTC().Format(time.RFC3339)
	}
	return nil
}

// issueTo issues a token to a participant that exists, and prints it.
func (x *adminSession) issueTo(ctx context.Context, args []string, o tokenOptions) error {
	if _, err := x.participant(args[0], args[1]); err != nil {
		return err
	}
	var out adminResult
	if err := x.issue(ctx, args[0], args[1], o, &out); err != nil {
		return err
	}
	return x.print(out)
}

const tokenJSON = `print {"id":…,"seq":…,"token":…,"token_id":…}` //nolint:gosec // a help text

func newIssueToken(s *connect.Settings) *cobra.Command {
	var asJSON bool
	var ttl time.Duration
	c := &cobra.Command{
		Use: "issue SPACE WHO", Short: "Issues a further token, and prints it",
		Args: program.Args("SPACE", "WHO"),
		Long: `issue issues another token to a participant; its other tokens stay valid. The token
is generated here and printed once; the gateway receives only its SHA-256.` + exitCodes,
	}
	c.RunE = runAdmin(s, &asJSON, func([]string) error { return checkTTL(c, ttl) }, func(ctx context.Context, x *adminSession, args []string) error {
		return x.issueTo(ctx, args, tokenOptions{ttl: ttl})
	})
	c.Flags().DurationVar(&ttl, "ttl", 0, "how long the token is valid, such as 720h; 0: no end")
	jsonFlag(c, &asJSON, tokenJSON)
	return c
}

func newRotateToken(s *connect.Settings) *cobra.Command {
	var asJSON bool
	var ttl, overlap time.Duration
	c := &cobra.Command{
		Use: "rotate SPACE WHO", Short: "Issues a token and lets the others expire",
		Args: program.Args("SPACE", "WHO"),
		Long: `rotate issues a token to a participant and lets its other tokens expire after
--overlap. Then connections with them are closed, and clients connect again with
the new token. Both happens in one step: there is no time without a valid token.` + exitCodes,
		Example: "  meup admin tokens rotate team-blue dora --overlap 24h",
	}
	c.RunE = runAdmin(s, &asJSON, func([]string) error {
		if overlap < 0 {
			return program.Usagef("--overlap must not be negative")
		}
		return checkTTL(c, ttl)
	}, func(ctx context.Context, x *adminSession, args []string) error {
		return x.issueTo(ctx, args, tokenOptions{ttl: ttl, rotates: true, overlap: overlap})
	})
	c.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the other tokens stay valid; 0: they end at once")
	c.Flags().DurationVar(&ttl, "ttl", 0, "how long the new token is valid; 0: no end")
	jsonFlag(c, &asJSON, tokenJSON)
	return c
}

func newRevokeToken(s *connect.Settings) *cobra.Command {
	var asJSON, all bool
	c := &cobra.Command{
		Use: "revoke SPACE WHO [TOKEN]", Short: "Revokes a token, or all tokens of a participant",
		Args: program.Args("SPACE", "WHO", "[TOKEN]"),
		Long: `revoke ends a token, by its id or the beginning of it, or with --all every token of
the participant. Connections with it are closed.` + exitCodes,
		Example: "  meup admin tokens revoke team-blue dora 0199f2c4\n  meup admin tokens revoke team-blue dora --all",
	}
	c.RunE = runAdmin(s, &asJSON, func(args []string) error {
		if (len(args) == 3) == all {
			return program.Usagef("expected either a TOKEN or --all; meup admin tokens list shows the ids")
		}
		return nil
	}, func(ctx context.Context, x *adminSession, args []string) error {
		p, err := x.participant(args[0], args[1])
		if err != nil {
			return err
		}
		payload := map[string]any{"space": args[0], "participant_id": args[1]}
		if all {
			payload["all"] = true
		} else {
			tok, err := connect.Select(args[2], "token", "meup admin tokens list "+args[0]+" "+args[1], p.Tokens, func(t *api.DirectoryToken) protocol.ID { return t.ID })
			if err != nil {
				return err
			}
			payload["token_id"] = tok.ID
		}
		r, err := x.send(ctx, protocol.KindAdminTokenRevoke, payload)
		if err != nil {
			return err
		}
		return x.print(adminResult{ID: r.ID, Seq: r.Seq})
	})
	c.Flags().BoolVar(&all, "all", false, "revoke all tokens of the participant")
	jsonFlag(c, &asJSON, receiptJSON)
	return c
}
