package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// An error that quotes a gateway cannot control the terminal, and one that was reported is not printed again.
func TestRunContext_Errors(t *testing.T) {
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
			printed, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
			if err != nil {
				t.Fatal(err)
			}
			former := os.Stderr
			os.Stderr = printed
			code := RunContext(t.Context(), &cobra.Command{Use: "fruit", RunE: func(*cobra.Command, []string) error { return c.err }}, nil)
			os.Stderr = former
			_ = printed.Close()
			text, err := os.ReadFile(printed.Name())
			if got := strings.ReplaceAll(string(text), "\r\n", "\n"); err != nil || got != c.want || code != c.code {
				t.Errorf("exit code %d, printed %q, %v", code, got, err)
			}
		})
	}
}
