package main

import (
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/agent/docserver"
	"github.com/meup-protocol/meup/internal/program"
)

// newDocserver returns the command of the MCP server for --docs, so that --docs
// needs no separate program. Other MCP clients can use it too.
func newDocserver() *cobra.Command {
	return &cobra.Command{
		Use:    "docserver DIR",
		Short:  "Serves a folder of text files over MCP, on standard input and output",
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return program.Usagef("docserver takes one folder")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			err := docserver.Serve(c.Context(), args[0], program.Version(version))
			if c.Context().Err() != nil {
				return nil // terminated
			}
			return err
		},
	}
}
