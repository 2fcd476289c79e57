package main

import (
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/hookconfig"
	"github.com/meup-protocol/meup/internal/terminal/connect"
)

func newHooks(a *app) *cobra.Command {
	return hookconfig.NewCommand(func(c *cobra.Command) (*hookconfig.Target, error) {
		t, err := a.Target(c.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		env := connect.First(a.TokenEnv, "MEUP_TOKEN")
		return &hookconfig.Target{Gateway: t.Base, Space: t.Space, Token: t.Token, TokenEnv: env, TokenFile: a.TokenFile, API: t.API}, nil
	}, connect.Finish)
}
