package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
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
	fl.StringVar(&a.space, "space", "", "the space (default $MEUP_SPACE)")
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
}

// http returns a client of the gateway's API.
func (t *target) http() (*api.Client, error) {
	return api.New(api.Options{URL: t.base.String(), Token: t.token})
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
		return blockrender.Colours(), nil
	case "never":
		return blockrender.Style{}, nil
	case "auto":
		if os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w) {
			return blockrender.Colours(), nil
		}
		return blockrender.Style{}, nil
	}
	return blockrender.Style{}, program.Usagef("--color %q: expected auto, always or never", a.color)
}
