package hookconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/privatedir"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/connect"
)

// Target is the space that the hooks are for.
type Target struct {
	Gateway  *url.URL
	Space    string
	Token    string
	TokenEnv string // environment variable that the agent reads the token from
	// TokenFile is the file that the token was read from; "": none. Agents that
	// start a command use it instead of TokenEnv.
	TokenFile string
	API       *api.Client
}

// Resolver finds the space of the hooks.
type Resolver struct {
	Env *program.Environment
	// Given returns the gateway and the space that the user named; "": not named.
	Given func() Place
	// Target resolves the space; what the user did not name is taken from the place.
	Target func(*cobra.Command, Place) (*Target, error)
}

// NewCommand returns the command hooks.
func NewCommand(r Resolver) *cobra.Command {
	target := func(c *cobra.Command) (*Target, error) { return r.Target(c, Place{}) }
	c := &cobra.Command{
		Use:   "hooks",
		Short: "Lets a coding agent take part in the space by its hooks",
		Long: `hooks writes the hooks of a space into the settings of Claude Code (claude),
Codex (codex) or Cursor (cursor). With them an unmodified agent publishes its
prompts, texts and calls of tools in the space, requests permissions from the
other participants, and gets their messages.

The settings name an environment variable or a file and never contain a token.`,
		Example: `  meup hooks install claude --gateway http://127.0.0.1:8080 --space lab
  meup hooks install codex --token-file ~/.config/meup/codex-token
  meup hooks status claude
  meup hooks uninstall claude`,
		Args: program.NoArgs,
		RunE: program.NoCommand,
	}
	c.AddCommand(newInstall(r.Env, target), newUninstall(r), newStatus(r), newSend(target), newImport(r.Env))
	for _, sub := range c.Commands() {
		sub.RunE = connect.RunE(sub.RunE)
	}
	return c
}

// place is where the settings are.
type place struct {
	env          *program.Environment
	program      string
	project, yes bool
}

func (p *place) register(c *cobra.Command) {
	c.Flags().BoolVar(&p.project, "project", false, "the settings of the project, such as .claude/settings.json, instead of the user's")
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 || layouts[args[0]] == nil {
			return program.Usagef("expected the name of an agent: claude, codex or cursor")
		}
		p.program = args[0]
		return nil
	}
}

func (p *place) path() (string, error) { return layouts[p.program].path(p.env, p.project) }

// installed returns the only space whose hooks the settings have and that the user may
// mean; false: the user named it, or there is none. Errors: there are several.
func (p *place) installed(given Place) (at Place, found bool, err error) {
	if given.Gateway != "" && given.Space != "" {
		return given, false, nil
	}
	path, err := p.path()
	if err != nil {
		return given, false, err
	}
	text, err := read(path)
	if err != nil {
		return given, false, err
	}
	list, err := places(text, p.program)
	if err != nil {
		return given, false, fmt.Errorf("%s: %w", path, err)
	}
	list = slices.DeleteFunc(list, func(at Place) bool {
		return given.Space != "" && at.Space != given.Space || given.Gateway != "" && at.Gateway != strings.TrimRight(given.Gateway, "/")
	})
	switch len(list) {
	case 0:
		return given, false, nil
	case 1:
		return list[0], true, nil
	}
	texts := make([]string, len(list))
	for i, at := range list {
		texts[i] = at.String()
	}
	return given, false, program.Usagef("%s has hooks of several spaces; name one: %s", path, termsafe.Words(strings.Join(texts, ", or ")))
}

func newInstall(env *program.Environment, target func(*cobra.Command) (*Target, error)) *cobra.Command {
	p := place{env: env}
	var h Hooks
	c := &cobra.Command{
		Use:   "install claude|codex|cursor",
		Short: "Adds the hooks to the settings, after showing the change",
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := target(c)
			if err != nil {
				return err
			}
			if err := h.complete(&p, t); err != nil {
				return err
			}
			if err := p.change(c, h.Add); err != nil {
				return err
			}
			if h.TokenFile == "" && env.Getenv(h.TokenEnv) == "" {
				printf(c.ErrOrStderr(), "meup: set the environment variable %s to the token where %s runs\n", h.TokenEnv, h.Program)
			}
			if after := layouts[h.Program].after; after != "" {
				printf(c.ErrOrStderr(), "meup: %s\n", after)
			}
			_, s, err := t.check(c.Context(), h.url())
			if err == nil && s != nil {
				err = denied(s)
			}
			if err != nil {
				printf(c.ErrOrStderr(), "meup: warning: %s\n", termsafe.Words(err.Error()))
			}
			return nil
		},
	}
	p.register(c)
	fl := c.Flags()
	fl.BoolVar(&p.yes, "yes", false, "do not ask before writing")
	fl.BoolVar(&h.Claims, "claims", false, "claim the files of calls whose capabilities require claims, until the end of the turn")
	fl.BoolVar(&h.Prompts, "prompts", false, "publish the user's prompts as chats, and the final texts as their answers")
	fl.BoolVar(&h.Headless, "headless", false, "for claude -p: wait for permissions before a call, since there is no user to ask")
	fl.BoolVar(&h.FailOpen, "fail-open", false, "leave calls to the agent's own rules while the space cannot be asked; they are blocked otherwise")
	fl.DurationVar(&h.Wait, "wait", 0, "how long the end of a turn waits for a message (at most 1h)")
	fl.DurationVar(&h.Approval, "approval", 0, "how long a call waits for a decision (default 9m50s; 1m if Codex would ask its user)")
	fl.StringVar(&h.Command, "command", "", "the program meup in the commands of Codex and Cursor (default this one, with --project meup)")
	return c
}

// complete sets the rest of the hooks, and checks them.
func (h *Hooks) complete(p *place, t *Target) error {
	if h.Wait < 0 || h.Wait > time.Hour || h.Approval < 0 || h.Approval > 24*time.Hour {
		return program.Usagef("--wait must be at most 1h, and --approval at most 24h")
	}
	h.Program, h.Gateway, h.Space, h.TokenEnv = p.program, t.Gateway, t.Space, t.TokenEnv
	if h.Program == "claude" {
		if h.Command != "" {
			return program.Usagef("--command is for Codex and Cursor: Claude Code sends its hooks itself")
		}
		return nil
	}
	if h.Headless {
		return program.Usagef("--headless is for claude: %s always waits for permissions before a call", h.Program)
	}
	var err error
	if t.TokenFile != "" {
		h.TokenFile, err = filepath.Abs(p.env.Path(t.TokenFile))
		if err != nil {
			return err
		}
	}
	switch {
	case h.Command != "":
	case p.project:
		h.Command = "meup"
	default:
		h.Command, err = os.Executable()
	}
	return err
}

func newUninstall(r Resolver) *cobra.Command {
	p := place{env: r.Env}
	c := &cobra.Command{
		Use:   "uninstall claude|codex|cursor",
		Short: "Removes the hooks of the space from the settings",
		RunE: func(c *cobra.Command, _ []string) error {
			at, found, err := p.installed(r.Given())
			if err != nil {
				return err
			}
			gateway, space := (*url.URL)(nil), at.Space
			if found { // it needs no token
				gateway, err = url.Parse(at.Gateway)
				if err != nil {
					return err
				}
			} else {
				t, err := r.Target(c, at)
				if err != nil {
					return err
				}
				gateway, space = t.Gateway, t.Space
			}
			return p.change(c, func(settings []byte) ([]byte, error) { return remove(settings, p.program, gateway, space) })
		},
	}
	p.register(c)
	c.Flags().BoolVar(&p.yes, "yes", false, "do not ask before writing")
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
		confirmed, err := program.Confirm(c.Context(), c.InOrStdin(), c.OutOrStdout(), "Write it?")
		if err != nil {
			return err
		}
		if !confirmed {
			return errors.New("not written: the change was not confirmed; --yes writes it without a question")
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
