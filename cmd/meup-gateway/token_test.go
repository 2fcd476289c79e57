package main

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/meup-protocol/meup/internal/kit/program"
)

// Ctrl-C ends a command that waits for a token, with the exit code of an interruption.
func TestToken_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, typed := io.Pipe()
	defer func() { _ = typed.Close() }()
	var out, errs bytes.Buffer
	env := &program.Environment{In: in, Out: &out, Err: &errs}
	done := make(chan int)
	go func() { done <- program.Run(ctx, env, newRoot(), []string{"token", "--hash"}) }()
	if _, err := typed.Write([]byte("secr")); err != nil { // it is read, so the command waits
		t.Fatal(err)
	}
	cancel()
	if code := <-done; code != program.ExitInterrupted || out.Len() > 0 || errs.String() != "\nmeup-gateway: interrupted\n" {
		t.Errorf("exit code %d, output %q, errors %q", code, out.String(), errs.String())
	}
}
