package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// claimFlags are the flags of claim and release.
type claimFlags struct {
	names         []string
	claim, reason string
	duration      time.Duration
	json          bool
}

// maxClaim is how long a claim can be.
const maxClaim = 24 * time.Hour

// Claims returns the commands claims, claim and release.
func Claims(s *connect.Settings) []*cobra.Command {
	var asJSON bool
	list := &cobra.Command{
		Use: "claims", Short: "Lists the paths and names that participants work on",
		Long: `claims lists the files, folders and other things that participants have claimed: they
work on them, and nobody else should meanwhile. Each line has a path or a name, the
holder, the end and the reason; --json also has the ids for meup release --claim.

Exit codes: those of meup; 0 also if there is no claim.`,
		Example: `  meup claims
  meup claims --json | jq -r '.claims[] | select(.by == "claude") | .path'`,
		Args: program.NoArgs,
		RunE: connect.RunE(func(c *cobra.Command, _ []string) error { return listClaims(c, s, asJSON) }),
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print the claims as one JSON object")
	var taken, given claimFlags
	claim := &cobra.Command{
		Use: "claim [PATH…]", Short: "Claims files and folders, so that nobody else works on them",
		Long: `claim says that you work on files, folders with everything in them, or other things
(--name). It is rejected if somebody else holds one of them. A relative path is of the
working directory, and claimed as the absolute path that it has on this machine.

A claim ends with meup release, after the time of --for, or five minutes after your
last connection. Claim the same again to hold it for longer. A claim by itself keeps
nobody away: that is done by capabilities with "claims", which those who set up the
space give to agents.
` + receiptHelp + `

Exit codes: 0 claimed; 1 rejected or failed; 2 usage error; 4 no connection, or
the token is not valid.`,
		Example: `  meup claim docs internal/api.go --for 30m --reason 'the new API'
  meup claim --name release`,
		RunE: connect.RunE(func(c *cobra.Command, args []string) error { return sendClaim(c, s, protocol.KindClaim, &taken, args) }),
	}
	claim.Flags().DurationVar(&taken.duration, "for", 0, "how long, 1s to 24h (default 10m)")
	release := &cobra.Command{
		Use: "release [PATH…]", Short: "Releases what you have claimed",
		Long: `release ends your claims of these paths and of everything below them, of names
(--name), or of all that one claim named (--claim; its id is the output of meup
claim, and in meup claims --json). Nobody releases what others have claimed.
` + receiptHelp + `

Exit codes: 0 released, or not held; 1 rejected or failed; 2 usage error; 4 no
connection, or the token is not valid.`,
		Example: `  meup release docs
  meup release --name release
  meup release --claim 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f`,
		RunE: connect.RunE(func(c *cobra.Command, args []string) error {
			return sendClaim(c, s, protocol.KindRelease, &given, args)
		}),
	}
	release.Flags().StringVar(&given.claim, "claim", "", "id of the claim to release, instead of paths and names")
	for c, f := range map[*cobra.Command]*claimFlags{claim: &taken, release: &given} {
		fl := c.Flags()
		fl.StringArrayVar(&f.names, "name", nil, "name of something that is no file; may be repeated")
		fl.StringVar(&f.reason, "reason", "", "reason, visible to the participants of the space")
		fl.BoolVar(&f.json, "json", false, `print {"id":…,"seq":…}`)
	}
	return []*cobra.Command{list, claim, release}
}

func sendClaim(c *cobra.Command, s *connect.Settings, kind protocol.Kind, f *claimFlags, paths []string) error {
	if len(paths)+len(f.names) == 0 && f.claim == "" {
		if kind == protocol.KindRelease {
			return program.Usagef("expected a PATH, --name or --claim; meup claims lists what you have claimed")
		}
		return program.Usagef("expected a PATH or --name")
	}
	if f.duration != 0 && (f.duration < time.Second || f.duration > maxClaim) {
		return program.Usagef("--for %s: expected 1s to 24h", f.duration)
	}
	if f.claim != "" && !protocol.ValidID(f.claim) {
		return program.Usagef("--claim %q is not a valid id; meup claims --json has them", f.claim)
	}
	payload := struct {
		Names  []string `json:"names,omitempty"`
		Paths  []string `json:"paths,omitempty"`
		Reason string   `json:"reason,omitempty"`
		TTL    float64  `json:"ttl_seconds,omitempty"`
	}{Names: f.names, Reason: f.reason, TTL: f.duration.Seconds()}
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		payload.Paths = append(payload.Paths, filepath.ToSlash(path))
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	e := protocol.Envelope{Kind: kind, Payload: text}
	if f.claim != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(f.claim))
	}
	t, err := s.Target(c)
	if err != nil {
		return err
	}
	err = Send(c, t, e, f.json)
	if errors.Is(err, &protocol.Error{Code: protocol.CodeClaimed}) {
		return fmt.Errorf("%w (meup claims lists them)", err)
	}
	return err
}

func listClaims(c *cobra.Command, s *connect.Settings, asJSON bool) error {
	t, err := s.Target(c)
	if err != nil {
		return err
	}
	list, err := t.API.Claims(c.Context(), t.Space)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(termsafe.JSONWriter(c.OutOrStdout())).Encode(list)
	}
	if len(list.Claims) == 0 {
		connect.Warn(c.ErrOrStderr(), "no claims")
	}
	out := bufio.NewWriter(c.OutOrStdout())
	for i := range list.Claims {
		x := &list.Claims[i]
		what := x.Path
		if what == "" {
			what = "name " + x.Name
		}
		fmt.Fprintf(out, "%s  %s until %s", termsafe.Words(what), termsafe.Words(string(x.By)), x.ExpiresAt.Local().Format(time.DateTime))
		if x.Reason != "" {
			fmt.Fprint(out, "  "+termsafe.Cut(termsafe.Words(x.Reason), 200))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}
