package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// firstConfig is the configuration that init writes, with the address and the space as its
// arguments.
const firstConfig = `# A gateway with one space. All keys: examples/config/full.yaml; checked by
# meup-gateway check meup.yaml. The tokens are in tokens.env.
listen: %q
data: ./meup-data
spaces:
  %q:
    participants:
      # You: alice may send everything.
      alice: {token_env: ALICE_TOKEN, capabilities: ["*"]}
      # The tools of an MCP server: meup-agent bridge.
      files: {token_env: FILES_TOKEN, capabilities: [mcp.response, mcp.request, participant.status]}
      # An agent that may list and search. It proposes its other calls, and alice decides.
      planner:
        token_env: PLANNER_TOKEN
        description: Answers questions about the files.
        capabilities: &agent
          - chat
          - reasoning/*
          - stream/*
          - mcp.response
          - mcp.proposal
          - mcp.withdraw
          - participant.status
          - participant.compact-done
          - {kind: mcp.request, payload: {method: tools/list}}
          - {kind: mcp.request, payload: {method: tools/call, params: {name: ["list_*", "search_*"]}}}
      # An agent of your own, with the same capabilities.
      bot: {token_env: BOT_TOKEN, capabilities: *agent}
`

const (
	configName = "meup.yaml"
	tokensName = "tokens.env"
)

func newInit() *cobra.Command {
	var listen, space string
	c := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Writes a first configuration, and its tokens",
		Long: `init writes meup.yaml, the configuration of a gateway with one space, and
tokens.env, which a shell reads: the tokens of the participants, and the address,
the space and the token of alice for meup. Only you can read tokens.env. Existing
files are not changed: init fails.`,
		Example: "  meup-gateway init\n  . ./tokens.env\n  meup-gateway serve --config meup.yaml",
		Args:    program.Args("[FOLDER]"),
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "address to listen on, host:port")
	c.Flags().StringVar(&space, "space", "lab", "name of the space")
	c.RunE = func(c *cobra.Command, args []string) error {
		folder := "."
		if len(args) > 0 {
			folder = args[0]
		}
		host, port, err := net.SplitHostPort(listen)
		if err != nil {
			return program.Usagef("--listen %q is not host:port", listen)
		}
		if !protocol.ValidSpaceName(space) {
			return program.Usagef("--space %q: expected 1 to 128 of A-Z a-z 0-9 . _ : -", space)
		}
		if host == "" || net.ParseIP(host).IsUnspecified() {
			host = "127.0.0.1"
		}
		env := fmt.Sprintf("# Secret. In a shell: . ./%s\nexport MEUP_URL=http://%s MEUP_SPACE=%s\n", tokensName, net.JoinHostPort(host, port), space)
		values := make(map[string]string)
		for _, name := range []string{"ALICE_TOKEN", "FILES_TOKEN", "PLANNER_TOKEN", "BOT_TOKEN"} {
			values[name] = textutil.NewToken()
			env += "export " + name + "=" + values[name] + "\n"
		}
		env += "export MEUP_TOKEN=$ALICE_TOKEN\n"
		text := fmt.Sprintf(firstConfig, listen, space)
		lookup := func(name string) (string, bool) { value, ok := values[name]; return value, ok }
		_, faults := config.Parse(configName, []byte(text), lookup, os.ReadFile)
		if i := slices.IndexFunc(faults, func(f config.Diagnostic) bool { return f.Severity == config.Error }); i >= 0 {
			return program.Usagef("with --listen %s: %v", listen, faults[i])
		}

		if err := os.MkdirAll(folder, 0o750); err != nil {
			return err
		}
		configFile, tokensFile := filepath.Join(folder, configName), filepath.Join(folder, tokensName)
		if err := writeNew(configFile, text, 0o644); err != nil {
			return err
		}
		if err := writeNew(tokensFile, env, 0o600); err != nil {
			return errors.Join(err, os.Remove(configFile))
		}
		sourced := tokensFile
		if !filepath.IsAbs(sourced) {
			sourced = "./" + sourced // a shell searches PATH for a name without a slash
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), `Wrote %s: the space %s with alice (you), files, planner and bot.
Wrote %s: their tokens, readable only by you.
Next: . %s && meup-gateway serve --config %s
`, configFile, space, tokensFile, textutil.ShellWord(sourced), textutil.ShellWord(configFile))
		return err
	}
	return c
}

// writeNew writes a file that does not exist.
func writeNew(path, text string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists, and is not changed; meup-gateway init FOLDER writes into another folder", path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	return f.Close()
}
