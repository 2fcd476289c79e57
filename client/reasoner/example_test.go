package reasoner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// next prints the next action of an agent. A program passes os.Getenv.
func next(ctx context.Context, getenv func(string) string) error {
	options, err := reasoner.FromEnvironment(getenv) // REASONING_TRANSPORT selects http or nats
	if err != nil {
		return err
	}
	options.Timeout = 40 * time.Second // of one attempt: longer than --model-timeout of the service
	c, err := reasoner.Open(options)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := c.AgentIntent(ctx, &wire.AgentIntentRequest{SessionID: "s1", GoalText: "search project for TODOs"})
	var rejected *reasoner.APIError
	switch {
	case errors.As(err, &rejected):
		return fmt.Errorf("rejected with status %d: %s", rejected.Status, rejected.Message)
	case errors.Is(err, reasoner.ErrTimeout):
		return errors.New("no answer in time")
	case err != nil:
		return err
	case answer.Finish:
		fmt.Println(answer.FinalText)
	default:
		fmt.Println(answer.ToolName, string(answer.ToolArgs))
	}
	return nil
}

func Example() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"ok","intent_id":"agent-1","tool_name":"context.fts_search","tool_args":{"query":"TODO"}}`)
	}))
	defer service.Close()
	environment := map[string]string{reasoner.EnvURL: service.URL}
	if err := next(context.Background(), func(name string) string { return environment[name] }); err != nil {
		fmt.Println(err)
	}
	// Output: context.fts_search {"query":"TODO"}
}
