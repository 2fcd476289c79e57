// Command meup-agent is the reference agent: it joins a space, answers
// questions with the tools of MCP servers, and publishes its reasoning while it
// works.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/program"
)

// version is set by the linker for a release.
var version = "dev"

func main() {
	if err := program.Protect(); err != nil {
		fmt.Fprintln(os.Stderr, "meup-agent: other processes of this user can read its secrets:", err)
	}
	os.Exit(run(os.Args[1:]))
}

// run executes a command line and returns the exit code.
func run(args []string) int { return program.Run(newRoot(), args) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "meup-agent",
		Short: "An agent that answers with MCP tools and thinks aloud",
		Long: `meup-agent joins a space as a participant. It answers questions with the tools
of MCP servers, and everybody in the space sees why it calls which tool, what
came of it, and how it comes to its answer.

Exit codes: 0 ended as it was asked to, 1 failed, 2 called wrongly.`,
		Example: `  export MEUP_TOKEN=...
  meup-agent run --gateway ws://localhost:8080/ws --space lab --docs ./docs`,
		Args: program.NoArgs,
		RunE: program.NoCommand,
	}
	root.AddCommand(newRun(), newBridge(), program.NewVersion(version), newDocserver())
	return root
}
