package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/program"
)

// spaceFlags are the flags of every command that joins a space.
type spaceFlags struct {
	gateway, space      string
	tokenEnv, tokenFile string
	connectTimeout      time.Duration
	logLevel, logFormat string
}

func (f *spaceFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.gateway, "gateway", os.Getenv("MEUP_URL"), "URL of the gateway, http://host:port or https://host (default $MEUP_URL)")
	fl.StringVar(&f.space, "space", os.Getenv("MEUP_SPACE"), "space to join (default $MEUP_SPACE)")
	fl.StringVar(&f.tokenEnv, "token-env", "MEUP_TOKEN", "environment variable that holds the token")
	fl.StringVar(&f.tokenFile, "token-file", "", "file that holds the token; overrides --token-env")
	fl.DurationVar(&f.connectTimeout, "connect-timeout", 30*time.Second, "timeout of the first connection to the gateway")
	fl.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fl.StringVar(&f.logFormat, "log-format", "text", "text or json")
}

// memberFlags are the flags that run, bridge and acp share.
type memberFlags struct {
	spaceFlags
	mcp, mcpHTTP   []string
	mcpEnv         []string
	toolTimeout    time.Duration
	toolMaxTimeout time.Duration
}

func (f *memberFlags) register(fl *pflag.FlagSet) {
	f.spaceFlags.register(fl)
	fl.StringArrayVar(&f.mcp, "mcp", nil, "command of an MCP server, with its arguments; run accepts it several times")
	fl.StringArrayVar(&f.mcpEnv, "mcp-env", nil, "environment variable to pass to the commands of --mcp, in addition to PATH, HOME and similar ones; may be repeated")
	fl.StringArrayVar(&f.mcpHTTP, "mcp-http", nil, "URL of an MCP server that uses streamable HTTP; run accepts it several times")
	fl.DurationVar(&f.toolTimeout, "tool-timeout", 30*time.Second, "timeout of one call to an MCP server or a tool; progress begins it anew")
	fl.DurationVar(&f.toolMaxTimeout, "tool-max-timeout", 10*time.Minute, "time after which a call to an MCP server or a tool ends in spite of its progress")
}

// check validates the flags before anything is started.
func (f *memberFlags) check() error {
	if err := f.spaceFlags.check(); err != nil {
		return err
	}
	switch {
	case f.toolTimeout <= 0:
		return program.Usagef("--tool-timeout must be positive")
	case f.toolMaxTimeout <= 0:
		return program.Usagef("--tool-max-timeout must be positive")
	}
	return nil
}

// check validates the flags before anything is started.
func (f *spaceFlags) check() error {
	switch {
	case f.gateway == "":
		return program.Usagef("no gateway: set MEUP_URL or use --gateway")
	case f.connectTimeout <= 0:
		return program.Usagef("--connect-timeout must be positive")
	}
	u, err := url.Parse(f.gateway)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		return program.Usagef("--gateway %q: expected http://host:port or https://host", f.gateway)
	}
	if f.space == "" && u.Query().Get("space") == "" {
		return program.Usagef("--space is missing")
	}
	return nil
}

// token reads the token. There is no flag for it, since all users of the
// machine can see the flags of a process.
func (f *spaceFlags) token() (string, error) {
	if f.tokenFile != "" {
		raw, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return "", fmt.Errorf("read token: %w", err)
		}
		if t := strings.TrimSpace(string(raw)); t != "" {
			return t, nil
		}
		return "", fmt.Errorf("read token: %s is empty", f.tokenFile)
	}
	if t := strings.TrimSpace(os.Getenv(f.tokenEnv)); t != "" {
		return t, nil
	}
	return "", program.Usagef("no token: set the environment variable %s, or name another one with --token-env, or use --token-file", f.tokenEnv)
}

// servers returns the MCP servers that the flags name. Their commands get the
// variables of mcptools.Environment and of --mcp-env.
func (f *memberFlags) servers() ([]mcptools.Server, error) {
	env := mcptools.Environment(f.mcpEnv...)
	var list []mcptools.Server
	for _, line := range f.mcp {
		words, err := splitWords(line)
		if err == nil && len(words) == 0 {
			err = errors.New("expected a command")
		}
		if err != nil {
			return nil, program.Usagef("--mcp %q: %w", line, err)
		}
		list = append(list, mcptools.Server{Command: words, Env: env})
	}
	for _, address := range f.mcpHTTP {
		u, err := url.Parse(address)
		if err == nil { // url.Parse takes ports of any number
			_, err = strconv.ParseUint(cmp.Or(u.Port(), "0"), 10, 16)
		}
		if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, program.Usagef("--mcp-http %q: expected http(s)://host[:port]/path", address)
		}
		list = append(list, mcptools.Server{URL: address})
	}
	return list, nil
}

// dial joins the space. It waits for a gateway that is not reachable yet, since
// both are often started together; if the gateway refuses, dial fails.
func (f *spaceFlags) dial(parent context.Context, token string, log *slog.Logger, o client.Options) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(parent, f.connectTimeout)
	defer cancel()
	o.URL, o.Space, o.Token, o.Logger, o.RetryDial = f.gateway, f.space, token, log, true
	o.Backoff = client.Backoff{Min: 250 * time.Millisecond, Max: 5 * time.Second}
	c, err := client.Dial(ctx, o)
	switch {
	case err == nil:
		participant.WarnUnrestricted(log, c.Welcome().You)
		return c, nil
	case parent.Err() != nil:
		return nil, fmt.Errorf("wait for the gateway: %w", parent.Err())
	case ctx.Err() != nil:
		return nil, fmt.Errorf("gave up after %s: %w", f.connectTimeout, err)
	}
	return nil, err
}

// start reads the settings that need more than the flags, then calls serve. It
// returns nil if ctx ends while serve is starting.
func (f *spaceFlags) start(ctx context.Context, serve func(token string, log *slog.Logger) error) error {
	level, err := program.ParseLevel(f.logLevel)
	if err != nil {
		return err
	}
	log, err := program.NewLogger(os.Stderr, level, f.logFormat)
	if err != nil {
		return err
	}
	token, err := f.token()
	if err != nil {
		return err
	}
	err = serve(token, log)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// start is that of spaceFlags, with the MCP servers.
func (f *memberFlags) start(ctx context.Context, serve func(token string, servers []mcptools.Server, log *slog.Logger) error) error {
	return f.spaceFlags.start(ctx, func(token string, log *slog.Logger) error {
		servers, err := f.servers()
		if err != nil {
			return err
		}
		return serve(token, servers, log)
	})
}

// splitWords splits a command line like a shell does for plain words: at
// spaces, with single and double quotes and the backslash. It expands nothing.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed, or the line ends with a backslash")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
