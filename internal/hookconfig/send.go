package hookconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of an event and of its answer, in bytes. The gateway accepts events of
// 1 MiB.
const (
	maxEvent  = 1 << 20
	maxAnswer = 1 << 20
)

// Exit codes of send for all agents: with failed they go on as without the hook,
// with blocked they do not make the call.
const (
	failed  = 1
	blocked = 2
)

// newSend returns the command that agents start for an event.
func newSend(target func(*cobra.Command) (*Target, error)) *cobra.Command {
	var timeout time.Duration
	var failClosed bool
	c := &cobra.Command{
		Use:   "send URL",
		Short: "Sends an event of an agent to the gateway and prints its answer",
		Long: `send reads the event of a hook from the standard input, sends it to the gateway,
and prints the answer for the agent. Coding agents start it; install writes it
into their settings.

Exit codes: 0 with an answer, 1 if the event could not be sent, so the agent's
own rules decide, 2 instead of 1 with --fail-closed, so the agent does not make
the call.`,
		RunE: func(c *cobra.Command, args []string) error {
			err := send(c, args, target, timeout)
			switch {
			case err == nil:
				return nil
			case failClosed:
				return &program.ExitError{Code: blocked, Err: fmt.Errorf("the space could not be asked: %s", termsafe.Words(err.Error()))}
			}
			return &program.ExitError{Code: failed, Err: errors.New(termsafe.Words(err.Error()))}
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &program.ExitError{Code: failed, Err: err} })
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait for the answer")
	c.Flags().BoolVar(&failClosed, "fail-closed", false, "exit with 2 if the event cannot be sent")
	return c
}

func send(c *cobra.Command, args []string, target func(*cobra.Command) (*Target, error), timeout time.Duration) error {
	if len(args) != 1 {
		return errors.New("expected the URL of the hooks, https://host/api/spaces/NAME/hooks/AGENT")
	}
	at, gateway, space, err := parseAddress(args[0])
	if err != nil {
		return err
	}
	// The token of a profile is sent to the profile's own gateway only.
	if err := errors.Join(c.Flags().Set("gateway", gateway), c.Flags().Set("space", space)); err != nil {
		return err
	}
	t, err := target(c)
	if err != nil {
		return err
	}
	event, err := io.ReadAll(io.LimitReader(c.InOrStdin(), maxEvent+1))
	if err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	if len(event) > maxEvent {
		return fmt.Errorf("the event has more than %d bytes", maxEvent)
	}
	ctx, cancel := context.WithTimeout(c.Context(), timeout)
	defer cancel()
	answer, err := t.post(ctx, at, event)
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(append(answer, '\n'))
	return err
}

// parseAddress returns the parts of the address of the hooks of an agent.
func parseAddress(text string) (at *url.URL, gateway, space string, err error) {
	at, err = url.Parse(text)
	if err != nil || at.Host == "" || at.User != nil {
		return nil, "", "", errors.New("expected the URL of the hooks, https://host/api/spaces/NAME/hooks/AGENT")
	}
	before, rest, found := strings.Cut(at.Path, "/api/spaces/")
	space, agent, ok := strings.Cut(rest, "/hooks/")
	if !found || !ok || layouts[agent] == nil {
		return nil, "", "", fmt.Errorf("%s: expected a path that ends with /api/spaces/NAME/hooks/AGENT", at.Path)
	}
	return at, (&url.URL{Scheme: at.Scheme, Host: at.Host, Path: before}).String(), space, nil
}

// post sends an event, and returns the answer: a JSON object.
func (t *Target) post(ctx context.Context, at *url.URL, event []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+t.Token)
	r.Header.Set("Content-Type", "application/json")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read as far as needed
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		var refused protocol.Error
		if json.Unmarshal(body, &refused) == nil && refused.Message != "" {
			return nil, fmt.Errorf("the gateway refuses hooks: %s", refused.Message)
		}
		return nil, fmt.Errorf("the gateway answers hooks with HTTP status %d", resp.StatusCode)
	}
	if doc, err := protocol.ParseJSON(body, protocol.MaxDepth); len(body) > maxAnswer || err != nil || doc.Root().Type() != protocol.TypeObject {
		return nil, errors.New("the answer is no JSON object; is this the address of a gateway?")
	}
	return body, nil
}
