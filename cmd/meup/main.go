// Command meup is the terminal client: it joins a space, follows it, sends to
// it, and shows its conversations with their reasoning.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/command"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/tui"
)

// version is set by the linker for a release.
var version = "dev"

func main() { os.Exit(program.Main(run)) }

// run executes a command line and returns the exit code.
func run(ctx context.Context, env *program.Environment, args []string) int {
	return program.Run(ctx, env, newRoot(env), args)
}

func newRoot(env *program.Environment) *cobra.Command {
	a := app{Settings: connect.Settings{Env: env}}
	root := &cobra.Command{
		Use:   "meup",
		Short: "A space of humans, agents and tools, in a terminal",
		Long: `meup is the terminal client of a space: join it, follow it, send to it, read
conversations, explain why an agent called a tool, decide on proposed calls, and
manage its participants.

Connection settings come from flags, then from the environment (MEUP_URL,
MEUP_SPACE, MEUP_TOKEN), then from a profile in ~/.config/meup/config.yaml:

  profile: work
  profiles:
    work: {gateway: "https://gateway.example.org", space: lab, token_env: LAB_TOKEN}

meup login writes a profile.

No flag takes a token itself, because all users of a machine can see the flags
of its programs.

Exit codes: 0 success, 1 rejected or failed, 2 usage error, 3 timeout,
4 no connection, or the token is not valid; 130 Ctrl-C.`,
		Example: `  export MEUP_URL=http://localhost:8080 MEUP_SPACE=lab MEUP_TOKEN=...
  meup join
  meup send --wait '@guide what is in the docs folder?'
  meup tail --json | jq -r .kind`,
		Args: program.NoArgs,
		RunE: program.NoCommand,
	}
	a.register(root.PersistentFlags())
	root.AddCommand(
		newJoin(&a), newTail(&a), newSend(&a), newHistory(&a), newReasoning(&a), command.Proposals(&a.Settings, a.style), command.Audit(&a.Settings, a.style), command.Reviewers(&a.Settings, a.style), command.Budgets(&a.Settings, a.style), newSearch(&a), newMCP(&a), newACP(&a), newHooks(&a),
		program.NewVersion(version),
	)
	root.AddCommand(command.Decisions(&a.Settings, a.style)...)
	root.AddCommand(command.Claims(&a.Settings)...)
	root.AddCommand(command.Manage(&a.Settings, a.style)...)
	root.AddCommand(command.Admin(&a.Settings))
	program.Describe(root, version)
	return root
}

// app holds the settings of all commands: the connection and the output.
type app struct {
	connect.Settings
	color string
}

func (a *app) register(fl *pflag.FlagSet) {
	a.Register(fl)
	fl.StringVar(&a.color, "color", "auto", "auto: on a terminal, unless NO_COLOR is set; always; never")
}

// target returns the style of the output of a command, and the space that it is about.
func (a *app) target(c *cobra.Command) (block.Style, *connect.Target, error) {
	style, err := a.style(c.OutOrStdout())
	if err != nil {
		return style, nil, err
	}
	t, err := a.Target(c)
	return style, t, err
}

// style returns the colors for output to w.
func (a *app) style(w io.Writer) (block.Style, error) {
	switch a.color {
	case "always":
		return block.Colors(), nil
	case "never":
		return block.Style{}, nil
	case "auto":
		if a.Env.Getenv("NO_COLOR") == "" && a.Env.Getenv("TERM") != "dumb" && tui.IsTerminal(w) {
			return block.Colors(), nil
		}
		return block.Style{}, nil
	}
	return block.Style{}, program.Usagef("--color %q: expected auto, always or never", a.color)
}
