package mcptools_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
)

// Progress begins the timeout of a call anew, up to the maximum.
func TestProgressExtendsTheTimeout(t *testing.T) {
	for _, test := range []struct {
		name           string
		every, runs    time.Duration
		ends           time.Duration // of the call
		deadlinePassed bool
	}{
		{"no progress", time.Hour, 2 * time.Minute, 30 * time.Second, true},
		{"progress", time.Second, 2 * time.Minute, 2 * time.Minute, false},
		{"progress that stops", 20 * time.Second, 2 * time.Minute, 2 * time.Minute, false},
		{"progress without end", time.Second, time.Hour, 10 * time.Minute, true},
		{"progress that is too slow", 31 * time.Second, 2 * time.Minute, 30 * time.Second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
				server.AddTool(&mcp.Tool{Name: "work", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					end := time.After(test.runs)
					for n := 1.0; ; n++ {
						select {
						case <-time.After(test.every):
							_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: n})
						case <-end:
							return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
						case <-ctx.Done():
							return nil, ctx.Err()
						}
					}
				})
				set, err := mcptools.Start(t.Context(), []mcptools.Server{{Name: "slow", InProcess: server}}, mcptools.Options{})
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				_, err = set.Call(t.Context(), "work", nil)
				if took := time.Since(begun); took != test.ends || errors.Is(err, context.DeadlineExceeded) != test.deadlinePassed || err != nil && !test.deadlinePassed {
					t.Errorf("ended after %s with %v, expected after %s", took, err, test.ends)
				}
				if err := set.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
