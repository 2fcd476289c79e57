package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/textutil"
)

func newCheck() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Checks a configuration file",
		Long: `check prints every error in a configuration with file, line and column, and
exits with 1 if there is one. Warnings (a capability that can never match or
that a deny rule cancels, a participant without usable capabilities) are printed
and do not change the exit code.`,
		Example: "  meup-gateway check meup.yaml",
		Args: func(c *cobra.Command, args []string) error {
			if file != "" {
				return program.NoArgs(c, args)
			}
			return program.Args("FILE")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if file == "" {
				file = args[0]
			}
			cfg, faults := config.Load(file)
			for _, f := range faults {
				fmt.Fprintln(c.OutOrStdout(), f)
			}
			if cfg == nil || config.HasErrors(faults) {
				return errReported
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %s, no errors\n", file, textutil.Count(len(cfg.Spaces), "space"))
			fmt.Fprintf(c.OutOrStdout(), "adapters: %s\n", cmp.Or(strings.Join(cfg.Adapters, " "), "none"))
			return nil
		},
	}
	c.Flags().StringVar(&file, "config", "", "the configuration file, as for serve")
	return c
}
