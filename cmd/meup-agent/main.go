// Command meup-agent is the reference agent: it joins a space, answers
// questions with the tools of MCP servers, and publishes its reasoning while it
// works.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/mcp/toolserver"
)

// version is set by the linker for a release.
var version = "dev"

func main() {
	if err := program.Protect(); err != nil {
		fmt.Fprintln(os.Stderr, "meup-agent: other processes of this user can read its secrets:", err)
	}
	os.Exit(program.Main(run))
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, env *program.Environment, args []string) int {
	root := &cobra.Command{
		Use:   "meup-agent",
		Short: "An agent that answers questions with MCP tools",
		Long: `meup-agent joins a space as a participant. It answers questions with the tools
of MCP servers, and publishes its reasoning: why it calls which tool, the results,
and how it arrives at the answer.

Exit codes: 0 ended as requested, 1 failed, 2 invalid usage.`,
		Example: `  export MEUP_TOKEN=...
  meup-agent run --gateway http://localhost:8080 --space lab --docs ./docs`,
		Args: program.NoArgs,
		RunE: program.NoCommand,
	}
	root.AddCommand(newRun(), newBridge(), newACP(), newReview(), program.NewVersion(version), newDocserver())
	program.Describe(root, version)
	return program.Run(ctx, env, root, args)
}

// newDocserver returns the command of the MCP server for --docs, so that --docs
// needs no separate program. Other MCP clients can use it too.
func newDocserver() *cobra.Command {
	return &cobra.Command{
		Use:   "docserver DIR",
		Short: "Serve a folder of text files over MCP, on standard input and output",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return program.Usagef("docserver takes one folder")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			err := toolserver.ServeDocuments(c.Context(), args[0], program.Version(version), os.Stdin, os.Stdout)
			if c.Context().Err() != nil {
				return nil // terminated
			}
			return err
		},
	}
}
