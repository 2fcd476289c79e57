package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/protocol"
)

// target resolves the connection settings: from flags, then from the
// environment, then from a profile.
func (a *app) target(errOut io.Writer) (*target, error) {
	gateway, space := first(a.gateway, os.Getenv("MEUP_URL")), first(a.space, os.Getenv("MEUP_SPACE"))
	token, err := a.givenToken(errOut)
	if err != nil {
		return nil, err
	}
	p := &profile{}
	if a.profile != "" || gateway == "" || space == "" || token == "" {
		if p, err = a.readProfile(); err != nil {
			return nil, err
		}
	}
	t := &target{space: first(space, p.space), token: token}
	if t.base, err = gatewayURL(first(gateway, p.gateway)); err != nil {
		return nil, err
	}
	if !protocol.ValidSpaceName(t.space) {
		return nil, missingSpace(t.space)
	}
	if t.token == "" {
		if t.token, err = p.readToken(t.base, errOut); err != nil {
			return nil, err
		}
	}
	if strings.ContainsFunc(t.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, program.Usagef("the token has characters that no token has: expected printable ones without spaces")
	}
	return t, nil
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func gatewayURL(s string) (*url.URL, error) {
	if s == "" {
		return nil, program.Usagef("where is the gateway? Use --gateway, MEUP_URL or a profile")
	}
	u, err := parseGateway(s)
	if err != nil {
		return nil, program.Usage(err)
	}
	return u, nil
}

func missingSpace(name string) error {
	if name == "" {
		return program.Usagef("which space? Use --space, MEUP_SPACE or a profile")
	}
	return program.Usagef("space %q: expected 1 to 128 of A-Z a-z 0-9 . _ : -", name)
}

// givenToken returns the token of the flags or of the environment, or "".
func (a *app) givenToken(errOut io.Writer) (string, error) {
	switch {
	case a.tokenFile != "" && a.tokenEnv != "":
		return "", program.Usagef("--token-file and --token-env: one of them")
	case a.tokenFile != "":
		return tokenIn(a.tokenFile, errOut)
	case a.tokenEnv != "":
		return tokenOf(a.tokenEnv)
	}
	return strings.TrimSpace(os.Getenv("MEUP_TOKEN")), nil
}

// maxToken bounds a file with a token; tokens of identity providers are long.
const maxToken = 64 << 10

func tokenIn(path string, errOut io.Writer) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	t := strings.TrimSpace(string(raw))
	switch {
	case t == "":
		return "", fmt.Errorf("read token: %s is empty", path)
	case len(raw) > maxToken:
		return "", fmt.Errorf("read token: %s has more than %d bytes", path, maxToken)
	}
	warnIfOpen(errOut, path)
	return t, nil
}

func tokenOf(variable string) (string, error) {
	if t := strings.TrimSpace(os.Getenv(variable)); t != "" {
		return t, nil
	}
	return "", program.Usagef("no token: the environment variable %s is not set", variable)
}

// readProfile returns the selected profile, or nil.
func (a *app) readProfile() (*profile, error) {
	path, err := configPath()
	if err != nil {
		if a.profile != "" {
			return nil, program.Usagef("profile %q: %w", a.profile, err)
		}
		return &profile{}, nil
	}
	c, err := readConfig(path)
	if err != nil {
		return nil, program.Usage(err)
	}
	p := c.profiles[first(a.profile, c.usual)]
	switch {
	case p == nil && a.profile != "":
		return nil, program.Usagef("%s: there is no profile %q", path, a.profile)
	case p == nil:
		return &profile{}, nil
	}
	return p, nil
}

// readToken returns the profile's token. It is sent to the profile's own
// gateway only, regardless of the flags and the environment.
func (p *profile) readToken(base *url.URL, errOut io.Writer) (string, error) {
	if p.token == "" && p.tokenEnv == "" && p.tokenFile == "" {
		return "", program.Usagef("no token: set MEUP_TOKEN, or use --token-file, --token-env or a profile")
	}
	if p.gateway != "" {
		own, err := parseGateway(p.gateway)
		if err != nil || own.Scheme != base.Scheme || own.Host != base.Host {
			return "", program.Usagef("no token: that of the profile is for the gateway %s alone", p.gateway)
		}
	}
	switch {
	case p.tokenEnv != "":
		return tokenOf(p.tokenEnv)
	case p.tokenFile != "":
		path := p.tokenFile
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", program.Usage(fmt.Errorf("read token: %w", err))
			}
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(p.file), path)
		}
		return tokenIn(path, errOut)
	}
	warnIfOpen(errOut, p.file)
	return strings.TrimSpace(p.token), nil
}
