package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/gateway/httpapi"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/protocol"
)

// version is set by the linker for a release.
var version = "dev"

func buildVersion() httpapi.Version {
	v := httpapi.Version{Version: program.Version(version), Go: runtime.Version(), Dialects: protocol.DialectNames()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	return v
}

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Prints the version",
		Args:  program.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			v := buildVersion()
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(v)
			}
			commit := v.Commit
			if commit != "" {
				commit = " " + commit
			}
			fmt.Fprintf(c.OutOrStdout(), "meup-gateway %s%s (%s)\n", v.Version, commit, v.Go)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}
