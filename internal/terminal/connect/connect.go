// Package connect resolves the connection of a terminal command: gateway, space and
// token from flags, then from the environment, then from a profile.
package connect

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Settings are the flags of a connection, and the environment of the command.
type Settings struct {
	Env                 *program.Environment
	Gateway, Space      string
	TokenEnv, TokenFile string
	Profile             string
}

// Register adds the flags.
func (s *Settings) Register(fl *pflag.FlagSet) {
	fl.StringVar(&s.Gateway, "gateway", "", "URL of the gateway, http://host:port or https://host (default $MEUP_URL)")
	fl.StringVar(&s.Space, "space", "", "name of the space (default $MEUP_SPACE)")
	fl.StringVar(&s.TokenFile, "token-file", "", "file that holds the token")
	fl.StringVar(&s.TokenEnv, "token-env", "", "environment variable that holds the token (default MEUP_TOKEN)")
	fl.StringVar(&s.Profile, "profile", "", "profile of the configuration file")
}

// Given returns the flags of the connection that were given, as the end of a command that
// uses the same connection: " --profile work"; "": none.
func Given(fl *pflag.FlagSet) (flags string) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(Settings).Register(own)
	fl.Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) != nil {
			flags += " --" + f.Name + " " + textutil.ShellWord(f.Value.String())
		}
	})
	return flags
}

// Target is the gateway, the space and the token to use.
type Target struct {
	Base  *url.URL // http or https
	Space string
	Token string
	API   *api.Client
}

// Socket returns the URL of the gateway's WebSocket. It names the dialect since
// a space may have another default.
func (t *Target) Socket() string {
	u := t.Base.JoinPath("ws")
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	u.RawQuery = "dialect=meup/v0.1"
	return u.String()
}

// DialOptions are the options with which every command joins.
func (t *Target) DialOptions(errOut io.Writer) client.Options {
	return client.Options{
		URL: t.Socket(), Space: t.Space, Token: t.Token,
		Backoff: client.Backoff{Min: 250 * time.Millisecond, Max: 10 * time.Second},
		Logger:  program.TextLogger(errOut, slog.LevelError),
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
		if at := strings.LastIndexByte(s, '@'); at >= 0 { // a password is not quoted
			s = "…" + s[at:]
		}
		return nil, fmt.Errorf("gateway %q: expected http://host:port or https://host", s)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/ws")
	u.RawQuery, u.Fragment, u.RawPath = "", "", ""
	return u, nil
}

// Target resolves the connection of a command to a space.
func (s *Settings) Target(c *cobra.Command) (*Target, error) { return s.resolve(c, true) }

// AnySpace resolves the connection of a command to a gateway; the space may be missing.
func (s *Settings) AnySpace(c *cobra.Command) (*Target, error) { return s.resolve(c, false) }

// Named returns the gateway and the space of the flags or of the environment; "": neither has one.
func (s *Settings) Named() (gateway, space string) {
	return cmp.Or(s.Gateway, s.Env.Getenv("MEUP_URL")), cmp.Or(s.Space, s.Env.Getenv("MEUP_SPACE"))
}

func (s *Settings) resolve(c *cobra.Command, needsSpace bool) (*Target, error) {
	gateway, space := s.Named()
	errOut := c.ErrOrStderr()
	token, err := s.GivenToken(errOut)
	if err != nil {
		return nil, err
	}
	p := &profile{}
	if s.Profile != "" || gateway == "" || needsSpace && space == "" || token == "" {
		p, err = s.readProfile()
		if err != nil {
			return nil, err
		}
	}
	base, err := gatewayURL(cmp.Or(gateway, string(p.Gateway)))
	if err != nil {
		return nil, err
	}
	space = cmp.Or(space, string(p.Space))
	if needsSpace && !protocol.ValidSpaceName(space) {
		return nil, missingSpace(space)
	}
	if token == "" {
		token, err = p.readToken(s.Env, base, errOut)
		if err != nil {
			return nil, err
		}
	}
	return newTarget(c.Context(), base, space, token)
}

// New returns the target of a gateway, a space and a token; all are required. Its idle
// connections are closed when ctx ends.
func New(ctx context.Context, gateway, space, token string) (*Target, error) {
	base, err := gatewayURL(gateway)
	if err != nil {
		return nil, err
	}
	if !protocol.ValidSpaceName(space) {
		return nil, missingSpace(space)
	}
	return newTarget(ctx, base, space, token)
}

func newTarget(ctx context.Context, base *url.URL, space, token string) (*Target, error) {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, program.Usagef("the token is invalid: expected printable ASCII characters without spaces")
	}
	client, err := api.New(api.Options{URL: base.String(), Token: token})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, client.Close)
	return &Target{Base: base, Space: space, Token: token, API: client}, nil
}

func gatewayURL(s string) (*url.URL, error) {
	if s == "" {
		return nil, program.Usagef("no gateway: set MEUP_URL, use --gateway, or write a profile with meup login")
	}
	u, err := parseGateway(s)
	if err != nil {
		return nil, program.Usage(err)
	}
	return u, nil
}

func missingSpace(name string) error {
	if name == "" {
		return program.Usagef("no space: set MEUP_SPACE, use --space, or write a profile with meup login")
	}
	return program.Usagef("space %q: expected 1 to 128 of A-Z a-z 0-9 . _ : -", name)
}

// GivenToken returns the token of the flags or of the environment, or "".
func (s *Settings) GivenToken(errOut io.Writer) (string, error) {
	switch {
	case s.TokenFile != "" && s.TokenEnv != "":
		return "", program.Usagef("use either --token-file or --token-env, not both")
	case s.TokenFile != "":
		return tokenIn(s.Env, s.TokenFile, errOut)
	case s.TokenEnv != "":
		return tokenOf(s.Env, s.TokenEnv)
	}
	return strings.TrimSpace(s.Env.Getenv("MEUP_TOKEN")), nil
}

// MaxToken bounds a file with a token; tokens of identity providers are long.
const MaxToken = 64 << 10

func tokenIn(env *program.Environment, path string, errOut io.Writer) (string, error) {
	f, err := env.Open(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, MaxToken+1))
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	t := strings.TrimSpace(string(raw))
	switch {
	case t == "":
		return "", fmt.Errorf("read token: %s is empty", path)
	case len(raw) > MaxToken:
		return "", fmt.Errorf("read token: %s has more than %d bytes", path, MaxToken)
	}
	warnIfOpen(env, errOut, path)
	return t, nil
}

func tokenOf(env *program.Environment, variable string) (string, error) {
	if t := strings.TrimSpace(env.Getenv(variable)); t != "" {
		return t, nil
	}
	return "", program.Usagef("no token: the environment variable %s is not set", variable)
}

// readProfile returns the selected profile; an empty one if there is none. A profile of the
// configuration precedes one of meup login with the same name.
func (s *Settings) readProfile() (*profile, error) {
	path, err := configPath(s.Env)
	if err != nil {
		if s.Profile != "" {
			return nil, program.Usagef("profile %q: %w", s.Profile, err)
		}
		return &profile{}, nil
	}
	c, err := readConfig(path)
	if err != nil {
		return nil, program.Usage(err)
	}
	logins, err := readConfig(loginPath(path))
	if err != nil {
		return nil, program.Usage(err)
	}
	name := cmp.Or(text(s.Profile), c.Profile, logins.Profile, "default")
	p := cmp.Or(c.Profiles[name], logins.Profiles[name])
	switch {
	case p == nil && s.Profile != "":
		return nil, program.Usagef("%s: profile %q not found", path, s.Profile)
	case p == nil:
		return &profile{}, nil
	}
	return p, nil
}

// readToken returns the profile's token. It is sent to the profile's own
// gateway only, regardless of the flags and the environment.
func (p *profile) readToken(env *program.Environment, base *url.URL, errOut io.Writer) (string, error) {
	if p.Token == "" && p.TokenEnv == "" && p.TokenFile == "" {
		return "", program.Usagef("no token: set MEUP_TOKEN, use --token-file or --token-env, or write a profile with meup login")
	}
	if p.Gateway != "" {
		own, err := parseGateway(string(p.Gateway))
		if err != nil || own.Scheme != base.Scheme || own.Host != base.Host {
			return "", program.Usagef("no token: the token of the profile is sent only to its own gateway, %s", p.Gateway)
		}
	}
	switch {
	case p.TokenEnv != "":
		return tokenOf(env, string(p.TokenEnv))
	case p.TokenFile != "":
		path := string(p.TokenFile)
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			home, err := env.Home()
			if err != nil {
				return "", program.Usage(fmt.Errorf("read token: %w", err))
			}
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(p.path), path)
		}
		return tokenIn(env, path, errOut)
	}
	warnIfOpen(env, errOut, p.path)
	return strings.TrimSpace(string(p.Token)), nil
}

// Warn prints a warning on standard error.
func Warn(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, "meup: "+format+"\n", args...) // standard error may be closed
}

// warnIfOpen warns about a token file that other users can read.
func warnIfOpen(env *program.Environment, w io.Writer, path string) {
	if info, err := env.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		Warn(w, "warning: %s holds a token and can be read by others; chmod 600 %[1]s", path)
	}
}
