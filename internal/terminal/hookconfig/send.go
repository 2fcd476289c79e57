package hookconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of an event and of its answer, in bytes. The gateway accepts events of
// 1 MiB; of larger ones only the name is read.
const (
	maxStdin  = 64 << 20
	maxEvent  = 1 << 20
	maxAnswer = 1 << 20
)

// Exit codes of send for all agents: with failed they go on as without the hook,
// with blocked they do not make the call. Some of them continue a turn that ends with
// blocked, so other events fail with failed.
const (
	failed  = 1
	blocked = 2
)

// newSend returns the command that agents start for an event.
func newSend(target func(*cobra.Command) (*Target, error)) *cobra.Command {
	var timeout time.Duration
	var failOpen bool
	fail := func(event []byte, err error) error {
		text := termsafe.Words(err.Error())
		var e struct {
			Name string `json:"hook_event_name"`
		}
		// An event that cannot be read may be about a call, too.
		isGate := json.Unmarshal(event, &e) != nil || slices.Contains(api.HookGates, e.Name)
		if failOpen || !isGate {
			return &program.ExitError{Code: failed, Err: errors.New(text)}
		}
		return &program.ExitError{Code: blocked, Err: errors.New("the space could not be asked about this call, so it is not made: " + text)}
	}
	c := &cobra.Command{
		Use:   "send URL",
		Short: "Sends an event of an agent to the gateway and prints its answer",
		Long: `send reads the event of a hook from the standard input, sends it to the gateway,
and prints the answer for the agent. Coding agents start it; install writes it
into their settings.

Exit codes: 0 with an answer, 2 if an event about a call could not be sent, so the
agent does not make the call, and 1 for all other events and with --fail-open, so
the agent's own rules decide.`,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			event, err := readEvent(ctx, c.InOrStdin())
			if err != nil {
				return fail(nil, fmt.Errorf("read the event: %w", err))
			}
			if err := send(ctx, c, args, target, event, failOpen); err != nil {
				return fail(event, err)
			}
			return nil
		},
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		ctx, cancel := context.WithTimeout(c.Context(), timeout)
		defer cancel()
		event, _ := readEvent(ctx, c.InOrStdin()) // an event that is not known may be a call
		return fail(event, err)
	})
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait for the event and the answer")
	c.Flags().BoolVar(&failOpen, "fail-open", false, "exit with 1 if an event about a call cannot be sent")
	c.Flags().Bool("fail-closed", true, "the default; in settings of earlier versions")
	_ = c.Flags().MarkHidden("fail-closed") // it exists
	return c
}

// readEvent reads an event until the context ends. The read itself cannot be canceled; it ends
// with the program.
func readEvent(ctx context.Context, in io.Reader) ([]byte, error) {
	type result struct {
		event []byte
		err   error
	}
	done := make(chan result, 1)
	go func() {
		event, err := io.ReadAll(io.LimitReader(in, maxStdin))
		done <- result{event, err}
	}()
	select {
	case r := <-done:
		return r.event, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send sends an event to the address of the hooks of an agent, and prints the answer.
func send(ctx context.Context, c *cobra.Command, args []string, target func(*cobra.Command) (*Target, error), event []byte, failOpen bool) error {
	at := new(url.URL)
	if len(args) == 1 {
		at, _ = url.Parse(args[0])
	}
	if at == nil || at.Host == "" || at.User != nil {
		return errors.New("expected the URL of the hooks, https://host/api/spaces/NAME/hooks/AGENT")
	}
	before, rest, found := strings.Cut(at.Path, "/api/spaces/")
	space, agent, ok := strings.Cut(rest, "/hooks/")
	if !found || !ok {
		return fmt.Errorf("%s: expected a path that ends with /api/spaces/NAME/hooks/AGENT", at.Path)
	}
	if layouts[agent] == nil {
		return fmt.Errorf("%s: there are no hooks for %q; expected a path that ends with /hooks/ and one of %s", at.Path, agent, strings.Join(slices.Sorted(maps.Keys(layouts)), ", "))
	}
	if failOpen {
		q := at.Query()
		q.Set("fail", "open")
		at.RawQuery = q.Encode()
	}
	// The token of a profile is sent to the profile's own gateway only.
	gateway := url.URL{Scheme: at.Scheme, Host: at.Host, Path: before}
	if err := errors.Join(c.Flags().Set("gateway", gateway.String()), c.Flags().Set("space", space)); err != nil {
		return err
	}
	t, err := target(c)
	if err != nil {
		return err
	}
	if len(event) > maxEvent {
		return fmt.Errorf("the event has more than %d bytes", maxEvent)
	}
	answer, err := t.post(ctx, at, withRealPaths(event))
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(append(answer, '\n'))
	return err
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
