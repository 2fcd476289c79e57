package main

import (
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/hookconfig"
)

func newHooks(a *app) *cobra.Command {
	return hookconfig.NewCommand(func(c *cobra.Command) (*hookconfig.Target, error) {
		t, err := a.target(c.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		env := first(a.tokenEnv, "MEUP_TOKEN")
		return &hookconfig.Target{Gateway: t.base, Space: t.space, Token: t.token, TokenEnv: env, API: t.api}, nil
	}, finish)
}
