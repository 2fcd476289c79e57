package hookconfig

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

func newStatus(r Resolver) *cobra.Command {
	p := place{env: r.Env}
	c := &cobra.Command{
		Use:   "status claude|codex|cursor",
		Short: "Reports whether the hooks are installed, and whose calls the gateway accepts by them",
		Long: `status checks the hooks in the settings: whether all are there, whether the gateway
accepts the token, which participant it belongs to, and what becomes of its calls. The
token is the one that the settings name, unless --token-env, --token-file or --profile
names another one, or with --project, whose settings may be another person's: the
gateway is then yours, too. It warns if it is about another token, and if the
participant lacks a capability without which something is not shown.

Exit codes: 0 calls are reported; 1 a hook is missing, or the participant may neither
make calls nor propose them, or is paused, so that each call is denied; 2 usage error;
4 no connection, or the token is not valid.`,
		RunE: func(c *cobra.Command, _ []string) error {
			at, _, err := p.installed(r.Given())
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
			h, err := hookOf(text, p.program, at)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			list, err := places(text, p.program)
			if err == nil && len(list) == 0 { // whatever gateway and token they would have
				return fmt.Errorf("not installed in %s; run meup hooks install %s", path, p.program)
			}
			note, err := h.useToken(c, &p)
			if err != nil {
				return err
			}
			own := at
			if p.project { // its settings may name any gateway
				own.Gateway = r.Given().Gateway
			}
			t, err := r.Target(c, own)
			if err != nil {
				return err
			}
			found, all, err := installed(text, p.program, t.Gateway, t.Space)
			switch {
			case err != nil:
				return fmt.Errorf("%s: %w", path, err)
			case found == 0 && at.Gateway != own.Gateway:
				return fmt.Errorf("not installed in %s for your gateway, %s; it has hooks of %s, which gets no token of yours unless --gateway names it", path, t.Gateway, termsafe.Words(at.Gateway))
			case found == 0:
				return fmt.Errorf("not installed in %s", path)
			case !all:
				return fmt.Errorf("%d of %d hooks are installed in %s; run meup hooks install %s", found, len(layouts[p.program].events), path, p.program)
			}
			printf(c.OutOrStdout(), "installed in %s\n", path)
			if note != "" {
				printf(c.ErrOrStderr(), "meup: warning: %s\n", termsafe.Words(note))
			}
			if h.url == nil { // the user named the gateway by another address
				h.url = address(p.program, t.Gateway, t.Space)
			}
			who, s, err := t.check(c.Context(), h.url)
			if err != nil {
				return err
			}
			printf(c.OutOrStdout(), "the gateway accepts them from %s in the space %s\n", termsafe.Words(string(who)), t.Space)
			if s == nil {
				return nil
			}
			if err := denied(s); err != nil {
				return err
			}
			printf(c.OutOrStdout(), "calls of %s: %s\n", termsafe.Words(string(who)), calls(s))
			for _, kind := range s.Lacks {
				printf(c.ErrOrStderr(), "meup: warning: %s: %s lacks the capability %s\n", cmp.Or(missing[kind], "something is not shown"), termsafe.Words(string(who)), termsafe.Words(string(kind)))
			}
			return nil
		},
	}
	p.register(c)
	return c
}

// hook is what the settings say of the hooks of a space.
type hook struct {
	url       *url.URL // nil: there are none
	env, file string   // the environment variable or the file with their token; "": it is in neither
}

// hookOf returns the hooks of a space.
func hookOf(settings []byte, program string, at Place) (h hook, err error) {
	handlers, err := handlersOf(settings, program)
	if err != nil {
		return h, err
	}
	at.Gateway = strings.TrimRight(at.Gateway, "/")
	for _, text := range handlers {
		if found, ok := placeOf(addressOf(text), program); !ok || found != at {
			continue
		}
		h.url = urlOf(text)
		var x struct {
			Headers struct{ Authorization string }
			Command string
		}
		if json.Unmarshal(text, &x) != nil {
			continue
		}
		if m := bearer.FindStringSubmatch(x.Headers.Authorization); m != nil {
			h.env = m[1]
			return h, nil
		}
		if m := tokenFlag.FindStringSubmatch(x.Command); m != nil {
			value := cmp.Or(m[2], m[3], m[4])
			if m[1] == "file" {
				h.file = value
			} else {
				h.env = value
			}
			return h, nil
		}
	}
	return h, nil
}

// useToken makes a command use the token that the hooks take, unless the user named one. note says
// that it is not used. Settings of a project may be another person's, and name any file or
// variable together with any gateway, so their token is not read.
func (h *hook) useToken(c *cobra.Command, p *place) (note string, err error) {
	given := slices.ContainsFunc([]string{"token-env", "token-file", "profile"}, func(name string) bool { return c.Flags().Changed(name) })
	switch {
	case given || h.env == "" && h.file == "" || p.project && h.env == "MEUP_TOKEN":
		return "", nil
	case p.project:
		return fmt.Sprintf("the hooks of this project take their token from %s; this is about the token of this command, which may be another one: --token-file and --token-env name it", cmp.Or(h.file, h.env)), nil
	case h.file != "":
		return "", c.Flags().Set("token-file", h.file)
	case p.env.Getenv(h.env) == "":
		return fmt.Sprintf("the hooks take their token from %s, which is not set here; this is about the token of this command, which may be another one", h.env), nil
	}
	return "", c.Flags().Set("token-env", h.env)
}

var (
	bearer    = regexp.MustCompile(`^Bearer \$\{?(\w+)\}?$`)
	tokenFlag = regexp.MustCompile(`--token-(env|file) (?:'([^']*)'|"([^"]*)"|(\S+))`)
)

// missing says what is not shown without a kind.
var missing = map[protocol.Kind]string{
	protocol.KindReasoningStart:   "the session is not shown",
	protocol.KindReasoningThought: "the reasons of calls are not shown",
	protocol.KindMCPResponse:      "results of calls are not shown",
	protocol.KindMCPWithdraw:      "proposals on which the agent's user decides stay open",
	protocol.KindChat:             "its answers to messages are not sent",
	protocol.KindClaim:            "files are not claimed",
	protocol.KindRelease:          "claims end with their time",
}

// denied returns why each call by the hooks is denied; nil: not each is.
func denied(s *api.HookStatus) error {
	name := termsafe.Words(string(s.Participant))
	switch {
	case s.Paused:
		return fmt.Errorf("each call is denied: %s is paused", name)
	case !s.Makes && !s.Leaves && !s.Proposes:
		return fmt.Errorf("each call is denied: %[1]s may neither make nor propose calls (mcp.request to %[1]s, mcp.proposal); is this the token of another participant?", name)
	}
	return nil
}

// calls says what becomes of calls.
func calls(s *api.HookStatus) string {
	var parts []string
	if s.Makes {
		parts = append(parts, "some are made without a question")
	}
	if s.Leaves {
		parts = append(parts, "some are left to the agent's own rules")
	}
	if s.Proposes {
		return strings.Join(append(parts, "the others are proposed"), ", ")
	}
	return strings.Join(append(parts, "the others are denied"), ", ")
}

// check returns the participant of the token, and what becomes of the events that are sent to an
// address; nil: the gateway is older, and does not say.
func (t *Target) check(ctx context.Context, at *url.URL) (who protocol.ParticipantID, s *api.HookStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	session, err := t.API.SessionIn(ctx, t.Space)
	if err != nil {
		return "", nil, err
	}
	answer, err := t.post(ctx, at, []byte(`{"hook_event_name":"`+api.HookStatusEvent+`"}`))
	if err != nil {
		return "", nil, err
	}
	s = new(api.HookStatus)
	if err := json.Unmarshal(answer, s); err != nil {
		return "", nil, fmt.Errorf("read the answer of the gateway: %w", err)
	}
	if s.Participant == "" {
		return session.In(t.Space), nil, nil
	}
	return s.Participant, s, nil
}
