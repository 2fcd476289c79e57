package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/protocol"
)

// app holds the settings of all commands: the connection and the output.
type app struct {
	gateway, space      string
	tokenEnv, tokenFile string
	profile             string
	color               string
}

func (a *app) register(fl *pflag.FlagSet) {
	fl.StringVar(&a.gateway, "gateway", "", "URL of the gateway, http://host:port or https://host (default $MEUP_URL)")
	fl.StringVar(&a.space, "space", "", "name of the space (default $MEUP_SPACE)")
	fl.StringVar(&a.tokenFile, "token-file", "", "file that holds the token")
	fl.StringVar(&a.tokenEnv, "token-env", "", "environment variable that holds the token (default MEUP_TOKEN)")
	fl.StringVar(&a.profile, "profile", "", "profile of the configuration file")
	fl.StringVar(&a.color, "color", "auto", "auto: on a terminal, unless NO_COLOR is set; always; never")
}

// target is the gateway, the space and the token to use.
type target struct {
	base  *url.URL // http or https
	space string
	token string
	api   *api.Client
}

// socket returns the URL of the gateway's WebSocket. It names the dialect since
// a space may have another default.
func (t *target) socket() string {
	u := t.base.JoinPath("ws")
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	u.RawQuery = "dialect=meup/v0.1"
	return u.String()
}

// dialOptions are the options with which every command joins.
func (t *target) dialOptions(c *cobra.Command) client.Options {
	return client.Options{
		URL: t.socket(), Space: t.space, Token: t.token,
		Backoff: client.Backoff{Min: 250 * time.Millisecond, Max: 10 * time.Second},
		Logger:  program.TextLogger(c.ErrOrStderr(), slog.LevelError),
	}
}

// parseGateway parses the URL of a gateway in any of its forms: with http or
// ws, with or without the path of the socket.
func parseGateway(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err == nil {
		if secure, ok := map[string]string{"ws": "http", "wss": "https", "http": "http", "https": "https"}[u.Scheme]; ok {
			u.Scheme = secure
		} else {
			u.Host = ""
		}
	}
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("gateway %q: expected http://host:port or https://host", withoutUser(s))
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/ws")
	u.RawQuery, u.Fragment, u.RawPath = "", "", ""
	return u, nil
}

// withoutUser removes a password from a quoted URL.
func withoutUser(s string) string {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return "…" + s[at:]
	}
	return s
}

// style returns the colors for output to w.
func (a *app) style(w io.Writer) (blockrender.Style, error) {
	switch a.color {
	case "always":
		return blockrender.Colors(), nil
	case "never":
		return blockrender.Style{}, nil
	case "auto":
		if os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && tui.IsTerminal(w) {
			return blockrender.Colors(), nil
		}
		return blockrender.Style{}, nil
	}
	return blockrender.Style{}, program.Usagef("--color %q: expected auto, always or never", a.color)
}

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
	t := &target{space: first(space, string(p.Space)), token: token}
	if t.base, err = gatewayURL(first(gateway, string(p.Gateway))); err != nil {
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
		return nil, program.Usagef("the token is invalid: expected printable ASCII characters without spaces")
	}
	t.api, err = api.New(api.Options{URL: t.base.String(), Token: t.token})
	return t, err
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
		return nil, program.Usagef("no gateway: set MEUP_URL, or use --gateway or a profile")
	}
	u, err := parseGateway(s)
	if err != nil {
		return nil, program.Usage(err)
	}
	return u, nil
}

func missingSpace(name string) error {
	if name == "" {
		return program.Usagef("no space: set MEUP_SPACE, or use --space or a profile")
	}
	return program.Usagef("space %q: expected 1 to 128 of A-Z a-z 0-9 . _ : -", name)
}

// givenToken returns the token of the flags or of the environment, or "".
func (a *app) givenToken(errOut io.Writer) (string, error) {
	switch {
	case a.tokenFile != "" && a.tokenEnv != "":
		return "", program.Usagef("use either --token-file or --token-env, not both")
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
	p := c.Profiles[text(first(a.profile, string(c.Profile), "default"))]
	switch {
	case p == nil && a.profile != "":
		return nil, program.Usagef("%s: profile %q not found", path, a.profile)
	case p == nil:
		return &profile{}, nil
	}
	return p, nil
}

// readToken returns the profile's token. It is sent to the profile's own
// gateway only, regardless of the flags and the environment.
func (p *profile) readToken(base *url.URL, errOut io.Writer) (string, error) {
	if p.Token == "" && p.TokenEnv == "" && p.TokenFile == "" {
		return "", program.Usagef("no token: set MEUP_TOKEN, or use --token-file, --token-env or a profile")
	}
	if p.Gateway != "" {
		own, err := parseGateway(string(p.Gateway))
		if err != nil || own.Scheme != base.Scheme || own.Host != base.Host {
			return "", program.Usagef("no token: the token of the profile is sent only to its own gateway, %s", p.Gateway)
		}
	}
	switch {
	case p.TokenEnv != "":
		return tokenOf(string(p.TokenEnv))
	case p.TokenFile != "":
		path := string(p.TokenFile)
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", program.Usage(fmt.Errorf("read token: %w", err))
			}
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(p.path), path)
		}
		return tokenIn(path, errOut)
	}
	warnIfOpen(errOut, p.path)
	return strings.TrimSpace(string(p.Token)), nil
}
