package program

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// An error that quotes a gateway cannot control the terminal, and one that was reported is not printed again.
func TestRun_Errors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
		code int
	}{
		"a failure":       {errors.New("refused: \x1b[31mred\a"), "fruit: refused: red\n", ExitFailed},
		"a usage error":   {Usagef("unknown \x1b]0;title"), "fruit: unknown ]0;title\nSee fruit --help.\n", ExitUsage},
		"reported before": {fmt.Errorf("check: %w", &ExitError{Code: ExitFailed}), "", ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			var printed strings.Builder
			env := &Environment{Err: &printed}
			code := Run(t.Context(), env, &cobra.Command{Use: "fruit", RunE: func(*cobra.Command, []string) error { return c.err }}, nil)
			if printed.String() != c.want || code != c.code {
				t.Errorf("exit code %d, printed %q", code, printed.String())
			}
		})
	}
}
