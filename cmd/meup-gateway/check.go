package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/textutil"
)

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check CONFIG",
		Short: "Checks a configuration file",
		Long: `check prints every error in a configuration with file, line and column, and
exits with 1 if there is one. Warnings (a capability that can never match or
that a deny rule cancels, a participant without usable capabilities) are printed
and do not change the exit code.`,
		Example: "  meup-gateway check meup.yaml",
		Args:    exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, faults := config.Load(args[0])
			for _, f := range faults {
				fmt.Fprintln(c.OutOrStdout(), f)
			}
			if cfg == nil || config.HasErrors(faults) {
				return errReported
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %s, no errors\n", args[0], textutil.Count(len(cfg.Spaces), "space"))
			fmt.Fprintf(c.OutOrStdout(), "adapters: %s\n", cmp.Or(strings.Join(cfg.Adapters, " "), "none"))
			return nil
		},
	}
}
