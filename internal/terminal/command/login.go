package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/tui"
)

func newLogin(s *connect.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "login [PROFILE]",
		Short: "Keeps a gateway, a space and a token as a profile",
		Long: `login asks for the gateway, the space and the token that no flag or environment
variable gives, and proposes the gateway and the space of the profile if it exists.
It checks the token at the gateway, and keeps all three as a profile in
~/.config/meup/logins.yaml, which only you can read. The first profile becomes the
default; --profile selects another one. Without a terminal, the token is read from
standard input. meup logout removes a profile.

Exit codes: those of meup; 4 if the gateway does not accept the token.`,
		Example: `  meup login --gateway https://gateway.example.org --space lab
  meup login home --gateway http://127.0.0.1:8080 --space demo < token.txt`,
		Args: program.Args("[PROFILE]"),
		RunE: connect.RunE(func(c *cobra.Command, args []string) error {
			name := cmp.Or(s.Profile, "default")
			if len(args) == 1 {
				name = args[0]
			}
			in := program.NewLines(io.LimitReader(c.InOrStdin(), connect.MaxToken))
			interactive := tui.IsTerminal(c.InOrStdin())
			settings := *s
			settings.Gateway, settings.Space = s.Named()
			var err error
			if interactive {
				gateway, space := connect.Kept(s.Env, name)
				settings.Gateway, err = askFor(c, in, "Gateway", cmp.Or(settings.Gateway, gateway, "http://127.0.0.1:8080"))
				if err != nil {
					return err
				}
				settings.Space, err = askFor(c, in, "Space", cmp.Or(settings.Space, space))
				if err != nil {
					return err
				}
			}
			token, err := s.GivenToken(c.ErrOrStderr())
			if err == nil && token == "" {
				token, err = readToken(c, interactive)
			}
			if err != nil {
				return err
			}
			t, err := connect.New(c.Context(), settings.Gateway, settings.Space, token)
			if err != nil {
				return err
			}
			session, err := t.API.SessionIn(c.Context(), t.Space)
			if err != nil {
				return err
			}
			path, err := connect.Save(s.Env, name, t)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "You are %s in %s. Profile %s is in %s.\n", session.In(t.Space), t.Space, name, path)
			return err
		}),
	}
}

// askFor prompts for a value; an empty line keeps the proposed one.
func askFor(c *cobra.Command, in *program.Lines, label, proposed string) (string, error) {
	suffix := ": "
	if proposed != "" {
		suffix = " [" + proposed + "]: "
	}
	line, err := in.Ask(c.Context(), c.ErrOrStderr(), label+suffix)
	if errors.Is(err, io.EOF) {
		return "", errors.New("the input ended; no profile was written")
	}
	return cmp.Or(line, proposed), err
}

// readToken reads the token: from a terminal without showing it, otherwise from
// standard input.
func readToken(c *cobra.Command, interactive bool) (string, error) {
	var raw []byte
	var err error
	if f, ok := c.InOrStdin().(interface{ Fd() uintptr }); ok && interactive {
		fmt.Fprint(c.ErrOrStderr(), "Token (not shown): ")
		raw, err = readHidden(c.Context(), f.Fd())
		fmt.Fprintln(c.ErrOrStderr())
	} else {
		raw, err = program.Interruptible(c.Context(), func() ([]byte, error) { return io.ReadAll(io.LimitReader(c.InOrStdin(), connect.MaxToken)) })
	}
	token := strings.TrimSpace(string(raw))
	if err == nil && token == "" {
		err = program.Usagef("no token: type it, or give it on standard input, in MEUP_TOKEN or by --token-file")
	}
	return token, err
}

// How often, and after which pause, an interrupted read of a token looks at the terminal's mode.
const (
	modeChecks = 100
	modeCheck  = 5 * time.Millisecond
)

// readHidden reads a line from a terminal that does not show it. If ctx ends first, the
// terminal shows its input again.
func readHidden(ctx context.Context, terminal uintptr) ([]byte, error) {
	before, err := term.GetState(terminal)
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	raw, err := program.Interruptible(ctx, func() ([]byte, error) { return term.ReadPassword(terminal) })
	if errors.Is(err, program.ErrInterrupted) {
		for range modeChecks { // the read may not have changed the mode yet
			if now, err := term.GetState(terminal); err != nil || *now != *before {
				break
			}
			time.Sleep(modeCheck)
		}
		return nil, errors.Join(err, term.Restore(terminal, before))
	}
	return raw, err
}

func newLogout(s *connect.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "logout [PROFILE]",
		Short: "Removes a profile that login wrote, with its token",
		Long: `logout removes a profile of meup login from this computer. The token stays valid at
the gateway.`,
		Args: program.Args("[PROFILE]"),
		RunE: connect.RunE(func(c *cobra.Command, args []string) error {
			path, err := connect.Remove(s.Env, cmp.Or(append(args, "default")...))
			if err == nil {
				_, err = fmt.Fprintf(c.OutOrStdout(), "Removed from %s.\n", path)
			}
			return err
		}),
	}
}
