package connect

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/meup-protocol/meup/internal/kit/privatedir"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/protocol"
)

// loginHeader is the comment of the file that Save and Remove rewrite.
const loginHeader = "# Written by meup login and meup logout. Your own profiles belong into config.yaml.\n"

// loginPath returns the file of the profiles that meup login writes, beside the
// configuration.
func loginPath(config string) string { return filepath.Join(filepath.Dir(config), "logins.yaml") }

// Kept returns the gateway and the space of a profile, or else of the default one; "": there
// is none.
func Kept(env *program.Environment, name string) (gateway, space string) {
	for _, s := range []Settings{{Env: env, Profile: name}, {Env: env}} {
		if p, err := s.readProfile(); err == nil && p.Gateway != "" {
			return string(p.Gateway), string(p.Space)
		}
	}
	return "", ""
}

// Save writes a profile with its token into the file of the logins, which only its
// owner can read. The first profile becomes the default. Save returns the path.
func Save(env *program.Environment, name string, t *Target) (path string, err error) {
	if !protocol.ValidSpaceName(name) {
		return "", program.Usagef("profile %q: expected 1 to 128 of A-Z a-z 0-9 . _ : -", name)
	}
	return rewrite(env, func(config, logins *configuration) error {
		if config.Profiles[text(name)] != nil {
			return program.Usagef("profile %q is in your own configuration; choose another name", name)
		}
		logins.Profiles[text(name)] = &profile{Gateway: text(t.Base.String()), Space: text(t.Space), Token: text(t.Token)}
		if config.Profile == "" && logins.Profile == "" && config.Profiles["default"] == nil {
			logins.Profile = text(name)
		}
		return nil
	})
}

// Remove deletes a profile of meup login, and returns the path of its file.
func Remove(env *program.Environment, name string) (path string, err error) {
	return rewrite(env, func(_, logins *configuration) error {
		if logins.Profiles[text(name)] == nil {
			return program.Usagef("meup login wrote no profile %q", name)
		}
		delete(logins.Profiles, text(name))
		if logins.Profile == text(name) {
			logins.Profile = ""
		}
		return nil
	})
}

// rewrite changes the file of the logins.
func rewrite(env *program.Environment, change func(config, logins *configuration) error) (path string, err error) {
	file, err := configPath(env)
	if err != nil {
		return "", program.Usage(err)
	}
	config, err := readConfig(file)
	if err != nil {
		return "", program.Usage(err)
	}
	path = loginPath(file)
	before, err := readFile(path)
	if err != nil {
		return "", err
	}
	logins, err := parseConfig(path, before)
	if err != nil {
		return "", program.Usage(err)
	}
	if logins.Profiles == nil {
		logins.Profiles = make(map[text]*profile)
	}
	if err := change(config, logins); err != nil {
		return "", err
	}
	out := bytes.NewBufferString(loginHeader)
	if err := yaml.NewEncoder(out).Encode(logins); err != nil {
		return "", fmt.Errorf("encode %s: %w", path, err)
	}
	return path, privatedir.ReplaceFile(path, before, out.Bytes())
}
