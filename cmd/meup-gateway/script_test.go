package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"meup-gateway": func() { os.Exit(run(os.Args[1:])) }})
}

// TestScripts runs the program as a user would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: exportCommands, Setup: func(e *testscript.Env) error {
		e.Setenv("GORACE", os.Getenv("GORACE"))
		return nil
	}})
}
