package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

func newCheck() *cobra.Command {
	var file string
	var lenient bool
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Checks a configuration file",
		Long: `check prints every error in a configuration with file, line and column, and
exits with 1 if there is one. A capability that nothing can match, since it names
an unknown kind or field, is an error too, and so is one that compares a command, a
path or a URL of a known tool as text; serve accepts both with a warning, and so
does --lenient. Other warnings (a capability that a deny rule cancels, a
participant without usable capabilities) do not change the exit code.`,
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
			mistakes := 0
			for i := range faults {
				if faults[i].Mistake && !lenient {
					faults[i].Severity = config.Error
					mistakes++
				}
				fmt.Fprintln(c.OutOrStdout(), faults[i])
			}
			switch {
			case cfg == nil:
				return errReported
			case mistakes > 0:
				fmt.Fprintf(c.ErrOrStderr(), "meup-gateway: %s; serve accepts this file with warnings, and so does check --lenient\n", textutil.Count(mistakes, "error"))
				return errReported
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %s, no errors\n", file, textutil.Count(len(cfg.Spaces), "space"))
			fmt.Fprintf(c.OutOrStdout(), "adapters: %s\n", cmp.Or(strings.Join(cfg.Adapters, " "), "none"))
			return nil
		},
	}
	c.Flags().BoolVar(&lenient, "lenient", false, "only warn of capabilities that nothing can match or that compare commands as text")
	c.Flags().StringVar(&file, "config", "", "the configuration file, as for serve")
	return c
}

// loadForLog reads a configuration for a command that reads a log. The variables of tokens need
// not be set: they are usually set for the gateway only.
func loadForLog(file string, stderr io.Writer) (*config.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	cfg, faults := config.Parse(file, text, config.AnyEnv, os.ReadFile)
	if cfg != nil {
		faults = append(faults, cfg.ApplyEnv(os.LookupEnv)...)
	}
	report := printFaults(stderr)
	for _, fault := range faults {
		if fault.Severity == config.Error {
			report(fault)
		}
	}
	if cfg == nil || config.HasErrors(faults) {
		return nil, errReported
	}
	return cfg, nil
}
