package meuptest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// modelTurn is one element of turns.json, an answer of the scripted model.
type modelTurn struct {
	Thinking string `json:"thinking"`
	Text     string `json:"text"`
	Calls    []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"calls"`
	Status int  `json:"status"` // refuses the request
	Hang   bool `json:"hang"`   // until the line "the model answers"
}

// startModel starts the model of the file turns.json.
func (c *conversation) startModel(t *testing.T) {
	var list []modelTurn
	if err := json.Unmarshal([]byte(c.files["turns.json"]), &list); err != nil {
		t.Fatalf("turns.json: %v", err)
	}
	c.release = make(chan struct{})
	turns := make([]llmtest.Turn, len(list))
	for i, l := range list {
		turns[i] = llmtest.Turn{Thinking: l.Thinking, Text: l.Text, Status: l.Status}
		for _, call := range l.Calls {
			turns[i].Calls = append(turns[i].Calls, llm.ToolCall{Name: call.Name, Arguments: call.Arguments})
		}
		if l.Hang {
			turns[i].Hang = c.release
		}
	}
	c.model = llmtest.Start(t, llmtest.Turns(turns...))
}

// modelDoes runs a line about the model: "answers", "gets request N {…}", "gets
// request N with TEXT", "gets request N without TEXT", or "gets N requests".
func (c *conversation) modelDoes(ctx context.Context, line string) error {
	if line == "answers" {
		select {
		case c.release <- struct{}{}:
			return nil
		case <-ctx.Done():
			return errors.New("no request waits for its answer")
		}
	}
	if count, ok := strings.CutSuffix(strings.TrimPrefix(line, "gets "), " requests"); ok {
		if got := len(c.model.Requests()); strconv.Itoa(got) != count {
			return fmt.Errorf("it got %d", got)
		}
		return nil
	}
	number, expected, _ := strings.Cut(strings.TrimPrefix(line, "gets request "), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("number of the request: %w", err)
	}
	r, err := c.model.Asked(ctx, n)
	if err != nil {
		return err
	}
	text := "Authorization: " + r.Header.Get("Authorization") + "\n"
	for _, m := range r.Messages {
		text += fmt.Sprintf("%s: %s\n", m.Role, m.Text)
	}
	verb, wanted, _ := strings.Cut(expected, " ")
	switch has := strings.Contains(text, wanted); {
	case strings.HasPrefix(expected, "{"):
		return c.vars.CompareAll(expected, string(r.Body))
	case verb == "with" && !has, verb == "without" && has:
		return fmt.Errorf("it is:\n%s", text)
	case verb != "with" && verb != "without":
		return fmt.Errorf("what is a request %q?", expected)
	}
	return nil
}

// startReceiver starts the server at ${callback}.
func (c *conversation) startReceiver(t *testing.T) {
	c.callbacks = make(chan string, 16)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case c.callbacks <- string(body):
		default: // the script expects none
		}
	}))
	t.Cleanup(s.Close)
	c.vars["callback"] = s.URL
}

// callbackGets compares the next callback.
func (c *conversation) callbackGets(ctx context.Context, expected string) error {
	if expected == "nothing" {
		select {
		case body := <-c.callbacks:
			return fmt.Errorf("got %s", body)
		default:
			return nil
		}
	}
	select {
	case body := <-c.callbacks:
		if err := c.vars.CompareAll(expected, body); err != nil {
			return fmt.Errorf("%w\ngot %s", err, body)
		}
		return nil
	case <-ctx.Done():
		return errors.New("there was no callback")
	}
}

// clientDoes runs a line about the Go client of the Reasoning API: "asks {…}
// {…}", "asks {…} fails TEXT", "submits {…} {…}", or "cancels ID". Its
// environment is the file client.env.
func (c *conversation) clientDoes(ctx context.Context, line string) error {
	o, err := reasoner.FromEnvironment(environment(c.files["client.env"]))
	if err != nil {
		return c.outcome(nil, err, strings.TrimSpace(line[strings.LastIndex(line, " fails ")+1:]))
	}
	o.HTTPClient, o.NATSURL, o.WaitForQueue = c.client, cmp.Or(o.NATSURL, c.programs.nats), true
	o.Timeout = cmp.Or(o.Timeout, testkit.Patience)
	o.Tools = strings.Fields(c.files["tools.txt"])
	client, err := reasoner.Open(o)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // the answer is there
	verb, rest, _ := strings.Cut(line, " ")
	if verb == "cancels" {
		found, err := client.Cancel(ctx, rest)
		if err == nil && !found {
			err = errors.New("there is no such job")
		}
		return err
	}
	body, expected, err := c.body(rest)
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	var req wire.AgentIntentRequest
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if verb == "submits" {
		accepted, err := client.AgentIntentAsync(ctx, &req)
		return c.outcome(accepted, err, expected)
	}
	intent, err := client.AgentIntent(ctx, &req)
	return c.outcome(intent, err, expected)
}

// outcome compares an answer to "{…}", or an error to "fails TEXT".
func (c *conversation) outcome(got any, err error, expected string) error {
	text, fails := strings.CutPrefix(expected, "fails ")
	switch {
	case fails && (err == nil || !strings.Contains(err.Error(), text)):
		return fmt.Errorf("the error is %q", fmt.Sprint(err))
	case fails:
		return nil
	case err != nil:
		return err
	}
	raw, err := json.Marshal(got)
	if err != nil {
		return err
	}
	if err := c.vars.CompareAll(expected, string(raw)); err != nil {
		return fmt.Errorf("%w\ngot %s", err, raw)
	}
	return nil
}

// repeatedly runs a request until its response is the expected one.
func (c *conversation) repeatedly(ctx context.Context, line string) error {
	for {
		method, rest, _ := strings.Cut(line, " ")
		err := c.request(ctx, method, rest)
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
