package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/terminal/hookconfig"
)

func newHooks(a *app) *cobra.Command {
	given := func() hookconfig.Place {
		gateway, space := a.Named()
		return hookconfig.Place{Gateway: gateway, Space: space}
	}
	target := func(c *cobra.Command, at hookconfig.Place) (*hookconfig.Target, error) {
		s := a.Settings
		s.Gateway, s.Space = cmp.Or(given().Gateway, at.Gateway), cmp.Or(given().Space, at.Space)
		t, err := s.Target(c)
		if err != nil {
			return nil, err
		}
		env := cmp.Or(a.TokenEnv, "MEUP_TOKEN")
		return &hookconfig.Target{Gateway: t.Base, Space: t.Space, Token: t.Token, TokenEnv: env, TokenFile: a.TokenFile, API: t.API}, nil
	}
	return hookconfig.NewCommand(hookconfig.Resolver{Env: a.Env, Given: given, Target: target})
}
