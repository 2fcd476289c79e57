package main

import (
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/agent/docserver"
	"github.com/meup-protocol/meup/internal/program"
)

// newDocserver is the MCP server behind --docs, so that it needs no program of
// its own. Whoever has another MCP client may use it too.
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
				return nil // it was asked to end
			}
			return err
		},
	}
}
