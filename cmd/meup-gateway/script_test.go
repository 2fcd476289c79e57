package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meup-protocol/meup/internal/testing/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, "meup-gateway", main) }

// TestScripts runs the program as a user would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: exportCommands, Setup: programtest.Race})
}
