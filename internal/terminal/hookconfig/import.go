package hookconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/terminal/permissions"
	"github.com/meup-protocol/meup/protocol"
)

func newImport(env *program.Environment) *cobra.Command {
	var asJSON bool
	var o permissions.Options
	c := &cobra.Command{
		Use:   "import claude|codex|cursor [FILE...]",
		Short: "Translates the permission rules of an agent into capabilities",
		Long: `import reads the rules by which an agent allows, asks about and denies the calls of
its tools, and prints capabilities with the same effect for the participant of its
hooks. Without a FILE it reads the files of the user and of the project in this
folder. It writes no file.

A capability allows at most what its rule allows, and denies at least what its
rule denies. Rules that were not translated are listed with the reason.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || layouts[args[0]] == nil {
				return program.Usagef("expected the name of an agent: claude, codex or cursor")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.Participant == "" {
				o.Participant = args[0]
			}
			if !protocol.ValidParticipantID(o.Participant) {
				return program.Usagef("--participant %q is no name of a participant", o.Participant)
			}
			files, err := ruleFiles(env, args[0], args[1:])
			if err != nil {
				return err
			}
			o.Home, err = env.Home()
			if err != nil {
				return err
			}
			o.Windows = runtime.GOOS == "windows"
			result, err := permissions.Translate(args[0], files, o)
			if err != nil {
				return err
			}
			if asJSON {
				return result.WriteJSON(c.OutOrStdout())
			}
			return result.WriteYAML(c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&o.Participant, "participant", "", "the participant of the hooks (default the name of the agent)")
	c.Flags().BoolVar(&o.Options, "options", false, "let an allowed prefix of a command have options after it, as the agent does")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// ruleFiles returns the files that were named, or those that the agent reads.
func ruleFiles(env *program.Environment, agent string, named []string) ([]permissions.File, error) {
	user, err := layouts[agent].path(env, false)
	if err != nil {
		return nil, err
	}
	user = filepath.Dir(user)
	paths := named
	if len(named) == 0 {
		paths, err = knownFiles(env, agent, user)
		if err != nil {
			return nil, err
		}
	}
	var out []permissions.File
	seen := map[string]bool{} // the home directory may be the project
	for _, path := range paths {
		path = env.Path(path)
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if seen[absolute] {
			continue
		}
		seen[absolute] = true
		text, err := read(path)
		switch {
		case err != nil:
			return nil, err
		case text == nil && len(named) > 0:
			return nil, fmt.Errorf("%s does not exist", path)
		case text == nil:
			continue
		}
		// The rules of settings with one leading slash begin at the folder of the project, and of
		// other settings at their own.
		folder := filepath.Dir(absolute)
		if filepath.Base(folder) == layouts["claude"].dir && folder != user {
			folder = filepath.Dir(folder)
		}
		managed := filepath.Base(path) == managedSettings || filepath.Base(filepath.Dir(path)) == managedFolder
		out = append(out, permissions.File{Path: path, Root: folder, Managed: managed, Text: text})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there are no rules of %s: none of %s exists; name a file", agent, strings.Join(paths, ", "))
	}
	return out, nil
}

// The settings of an administrator of Claude Code, and the folder of further ones.
const (
	managedSettings = "managed-settings.json"
	managedFolder   = "managed-settings.d"
)

// managedPlaces are the folders of these settings by the operating system.
var managedPlaces = map[string]string{
	"darwin":  "/Library/Application Support/ClaudeCode",
	"windows": `C:\Program Files\ClaudeCode`,
}

// knownFiles returns the files in which an agent looks for rules. Those of a folder exist, the
// others may.
func knownFiles(env *program.Environment, agent, user string) (paths []string, err error) {
	project := layouts[agent].dir
	switch agent {
	case "codex":
		for _, dir := range []string{user, project} {
			paths = append(paths, filepath.Join(dir, "config.toml"))
			rules, err := filesIn(env, filepath.Join(dir, "rules"), ".rules")
			if err != nil {
				return nil, err
			}
			paths = append(paths, rules...)
		}
		return paths, nil
	case "cursor":
		if dir := env.Getenv("XDG_CONFIG_HOME"); dir != "" {
			paths = append(paths, filepath.Join(dir, "cursor", "cli-config.json"))
		}
		return append(paths,
			filepath.Join(user, "cli-config.json"), filepath.Join(user, "permissions.json"),
			filepath.Join(project, "cli.json"), filepath.Join(project, "permissions.json")), nil
	}
	managed := managedPlaces[runtime.GOOS]
	if managed == "" {
		managed = "/etc/claude-code"
	}
	further, err := filesIn(env, filepath.Join(managed, managedFolder), ".json")
	if err != nil {
		return nil, err
	}
	paths = append([]string{filepath.Join(managed, managedSettings)}, further...)
	return append(paths, filepath.Join(user, "settings.json"), filepath.Join(project, "settings.json"), filepath.Join(project, "settings.local.json")), nil
}

// filesIn returns the files of a folder with an extension.
func filesIn(env *program.Environment, dir, extension string) (paths []string, err error) {
	entries, err := os.ReadDir(env.Path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), extension) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return slices.Compact(paths), nil
}
