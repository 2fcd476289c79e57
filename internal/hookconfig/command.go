package hookconfig

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/privatedir"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// Target is the space that the hooks are for.
type Target struct {
	Gateway  *url.URL
	Space    string
	Token    string
	TokenEnv string // environment variable that the agent reads the token from
	API      *api.Client
}

// NewCommand returns the command hooks. target resolves the space from the flags
// of the program, and finish gives errors their exit codes.
func NewCommand(target func(*cobra.Command) (*Target, error), finish func(context.Context, error) error) *cobra.Command {
	c := &cobra.Command{
		Use:   "hooks",
		Short: "Lets a coding agent take part in the space by its hooks",
		Long: `hooks writes the hooks of a space into the settings of Claude Code. With them an
unmodified Claude Code publishes its prompts, texts and calls of tools in the
space, requests permissions from the other participants, and gets their messages.

The settings name an environment variable and never contain a token.`,
		Example: `  meup hooks install claude --gateway http://127.0.0.1:8080 --space lab
  meup hooks status claude
  meup hooks uninstall claude`,
		Args: program.NoArgs,
		RunE: program.NoCommand,
	}
	c.AddCommand(newInstall(target), newUninstall(target), newStatus(target))
	for _, sub := range c.Commands() {
		run := sub.RunE
		sub.RunE = func(c *cobra.Command, args []string) error { return finish(c.Context(), run(c, args)) }
	}
	return c
}

// place is where the settings are.
type place struct{ project, yes bool }

func (p *place) register(c *cobra.Command) {
	c.Flags().BoolVar(&p.project, "project", false, "the settings of the project, .claude/settings.json, instead of the user's")
	c.Args = onlyClaude
}

func onlyClaude(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] != "claude" {
		return program.Usagef("expected the name of an agent: claude")
	}
	return nil
}

// path returns the file of the settings.
func (p *place) path() (string, error) {
	dir := ""
	if !p.project {
		if dir = os.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
			return filepath.Join(dir, "settings.json"), nil
		}
		var err error
		if dir, err = os.UserHomeDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, ".claude", "settings.json"), nil
}

func newInstall(target func(*cobra.Command) (*Target, error)) *cobra.Command {
	var p place
	var h Hooks
	c := &cobra.Command{
		Use:   "install claude",
		Short: "Adds the hooks to the settings, after showing the change",
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := target(c)
			if err != nil {
				return err
			}
			if h.Wait < 0 || h.Wait > time.Hour || h.Approval < 0 || h.Approval > 24*time.Hour {
				return program.Usagef("--wait must be at most 1h, and --approval at most 24h")
			}
			h.Gateway, h.Space, h.TokenEnv = t.Gateway, t.Space, t.TokenEnv
			if err := p.change(c, h.Add); err != nil {
				return err
			}
			if os.Getenv(h.TokenEnv) == "" {
				printf(c.ErrOrStderr(), "meup: set the environment variable %s to the token where claude runs\n", h.TokenEnv)
			}
			if err := t.check(c.Context()); err != nil {
				printf(c.ErrOrStderr(), "meup: warning: %s\n", termsafe.Words(err.Error()))
			}
			return nil
		},
	}
	p.register(c)
	fl := c.Flags()
	fl.BoolVar(&p.yes, "yes", false, "do not ask before writing")
	fl.BoolVar(&h.Prompts, "prompts", false, "publish the user's prompts as chats, and the final texts as their answers")
	fl.BoolVar(&h.Headless, "headless", false, "for claude -p: wait for permissions before a call, since there is no user to ask")
	fl.BoolVar(&h.FailClosed, "fail-closed", false, "block calls of tools while the gateway cannot be reached")
	fl.DurationVar(&h.Wait, "wait", 0, "how long the end of a turn waits for a message (at most 1h)")
	fl.DurationVar(&h.Approval, "approval", 0, "how long a request for permission waits for a decision (default 9m50s)")
	return c
}

func newUninstall(target func(*cobra.Command) (*Target, error)) *cobra.Command {
	var p place
	c := &cobra.Command{
		Use:   "uninstall claude",
		Short: "Removes the hooks of the space from the settings",
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := target(c)
			if err != nil {
				return err
			}
			return p.change(c, func(settings []byte) ([]byte, error) { return Remove(settings, t.Gateway, t.Space) })
		},
	}
	p.register(c)
	c.Flags().BoolVar(&p.yes, "yes", false, "do not ask before writing")
	return c
}

func newStatus(target func(*cobra.Command) (*Target, error)) *cobra.Command {
	var p place
	c := &cobra.Command{
		Use:   "status claude",
		Short: "Reports whether the hooks are installed, and whether the gateway accepts them",
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := target(c)
			if err != nil {
				return err
			}
			path, err := p.path()
			if err != nil {
				return err
			}
			text, err := read(path)
			if err != nil {
				return err
			}
			found, all, err := Installed(text, t.Gateway, t.Space)
			switch {
			case err != nil:
				return fmt.Errorf("%s: %w", path, err)
			case found == 0:
				return fmt.Errorf("not installed in %s", path)
			case !all:
				return fmt.Errorf("%d of %d hooks are installed in %s; run meup hooks install claude", found, len(events), path)
			}
			printf(c.OutOrStdout(), "installed in %s\n", path)
			if err := t.check(c.Context()); err != nil {
				return err
			}
			s, err := t.API.SessionIn(c.Context(), t.Space)
			if err != nil {
				return err
			}
			printf(c.OutOrStdout(), "the gateway accepts them from %s in the space %s\n", termsafe.Words(string(s.In(t.Space))), t.Space)
			return nil
		},
	}
	p.register(c)
	return c
}

// change shows what an edit changes, asks, and writes it.
func (p *place) change(c *cobra.Command, edit func([]byte) ([]byte, error)) error {
	path, err := p.path()
	if err != nil {
		return err
	}
	before, err := read(path)
	if err != nil {
		return err
	}
	after, err := edit(before)
	if err != nil {
		return fmt.Errorf("%s was not changed: %w", path, err)
	}
	diff := Diff(string(before), string(after))
	if diff == "" {
		printf(c.OutOrStdout(), "%s: nothing to change\n", path)
		return nil
	}
	printf(c.OutOrStdout(), "%s:\n%s", path, termsafe.Text(diff))
	if !p.yes {
		printf(c.OutOrStdout(), "Write it? [y/N] ")
		line, err := bufio.NewReader(io.LimitReader(c.InOrStdin(), 1024)).ReadString('\n')
		if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
			if err != nil {
				return errors.New("not written: the change was not confirmed; use --yes")
			}
			return errors.New("not written")
		}
	}
	if err := privatedir.ReplaceFile(path, before, after); err != nil {
		return err
	}
	printf(c.OutOrStdout(), "written\n")
	return nil
}

// maxSettings bounds a file of settings, in bytes.
const maxSettings = 4 << 20

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSettings {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxSettings)
	}
	return text, nil
}

func printf(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...) // the output may be closed
}

// check sends an event without a name, which the gateway accepts and ignores.
func (t *Target) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := t.API.SessionIn(ctx, t.Space); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address(t.Gateway, t.Space).String(), strings.NewReader("{}"))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+t.Token)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only the status matters
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	var refused protocol.Error
	if text, err := io.ReadAll(io.LimitReader(resp.Body, 4096)); err == nil && json.Unmarshal(text, &refused) == nil && refused.Message != "" {
		return fmt.Errorf("the gateway refuses hooks: %s", refused.Message)
	}
	return fmt.Errorf("the gateway answers hooks with HTTP status %d", resp.StatusCode)
}
