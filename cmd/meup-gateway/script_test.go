package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meup-protocol/meup/internal/program/programtest"
	"github.com/meup-protocol/meup/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestScripts runs the program as a user would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: exportCommands, Setup: programtest.Path})
}
