package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/kit/program"
)

func newToken() *cobra.Command {
	var hash bool
	c := &cobra.Command{
		Use:   "token",
		Short: "Generates a token and its hash for the configuration",
		Long: `token prints a new random token for a participant, and the line for the
configuration, which has only its hash. With --hash it reads an existing token
from standard input.`,
		Example: "  meup-gateway token\n  printf %s \"$TOKEN\" | meup-gateway token --hash",
		Args:    program.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if !hash {
				token, digest := access.NewToken()
				fmt.Fprintf(c.OutOrStdout(), "token: %s\ntoken_sha256: %s\n", token, hex.EncodeToString(digest[:]))
				return nil
			}
			in := bufio.NewReader(c.InOrStdin())
			line, err := program.Interruptible(c.Context(), func() (string, error) { return in.ReadString('\n') })
			switch {
			case errors.Is(err, program.ErrInterrupted):
				fmt.Fprintln(c.ErrOrStderr()) // after the ^C of a terminal
				return err
			case err != nil && !errors.Is(err, io.EOF):
				return fmt.Errorf("read the token: %w", err)
			}
			token := strings.TrimRight(line, "\r\n")
			if token == "" {
				return errors.New("no token on standard input")
			}
			digest := access.Hash(token)
			fmt.Fprintf(c.OutOrStdout(), "token_sha256: %s\n", hex.EncodeToString(digest[:]))
			return nil
		},
	}
	c.Flags().BoolVar(&hash, "hash", false, "read a token from standard input and print its token_sha256")
	return c
}
