// Command meup-reasoner is the Reasoning API: it decides the next action of
// agents, which send requests over HTTP or through a queue.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/kit/program"
)

// version is set by the linker for a release.
var version = "dev"

func main() { os.Exit(program.Main(run)) }

// run executes a command line and returns the exit code.
func run(ctx context.Context, env *program.Environment, args []string) int {
	root := &cobra.Command{
		Use:   "meup-reasoner",
		Short: "Decides the next action of agents",
		Long: `meup-reasoner is the Reasoning API: from a goal, a history and the available tools
it decides which tool an agent should call next, or that the agent has finished.
A language model decides if one is named, otherwise rules do.

Exit codes: 0 ended as requested, 1 failed, 2 usage error.`,
		Example: `  meup-reasoner serve
  curl -sX POST http://127.0.0.1:9000/agent_intent -H 'Content-Type: application/json' \
    -d '{"session_id":"s1","goal_text":"search project for TODOs"}'`,
		Args: program.NoArgs,
		RunE: program.NoCommand,
	}
	root.AddCommand(newServe(), newWorker(), program.NewVersion(version))
	program.Describe(root, version)
	return program.Run(ctx, env, root, args)
}
