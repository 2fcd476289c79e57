package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/gateway/mcpserver"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// A call that waits sends progress that increases, and that of another
// participant only if it is higher.
func TestRepeat(t *testing.T) {
	steps, release := make(chan float64, 1000), make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx = mcpserver.WithReport(ctx, r, r.Params.Meta)
		stop := mcpserver.RepeatProgress(ctx, time.Millisecond)
		<-release
		stop()
		if to := mcpserver.ReportOf(ctx); to != nil {
			to.Send(ctx, &mcp.ProgressNotificationParams{Progress: 50})
			to.Send(ctx, &mcp.ProgressNotificationParams{Progress: 40})
			to.Send(ctx, &mcp.ProgressNotificationParams{Progress: 60})
		}
		return &mcp.CallToolResult{}, nil
	})
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { steps <- r.Params.Progress },
	})
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), here, nil); err != nil {
		t.Fatal(err)
	}
	s, err := client.Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	params := &mcp.CallToolParams{Name: "wait"}
	params.SetProgressToken("p")
	done := make(chan error, 1)
	go func() { _, err := s.CallTool(t.Context(), params); done <- err }()
	last := -1.0
	for range 3 {
		next := <-steps
		if next <= last {
			t.Errorf("%v after %v", next, last)
		}
		last = next
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for last < 60 {
		next := <-steps
		if next <= last || next == 40 {
			t.Errorf("%v after %v", next, last)
		}
		last = next
	}
}

// A participant that reports a huge progress does not end the ticks: a client without any
// gives up the call.
func TestRepeat_AfterHugeProgress(t *testing.T) {
	for _, huge := range []float64{1e17, math.MaxFloat64} {
		t.Run(fmt.Sprint(huge), func(t *testing.T) {
			steps, ticked := make(chan float64, 1000), make(chan struct{})
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			server.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				ctx = mcpserver.WithReport(ctx, r, r.Params.Meta)
				mcpserver.ReportOf(ctx).Send(ctx, &mcp.ProgressNotificationParams{Progress: huge})
				stop := mcpserver.RepeatProgress(ctx, time.Millisecond)
				<-ticked
				stop()
				return &mcp.CallToolResult{}, nil
			})
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { steps <- r.Params.Progress },
			})
			here, there := mcp.NewInMemoryTransports()
			if _, err := server.Connect(t.Context(), here, nil); err != nil {
				t.Fatal(err)
			}
			s, err := client.Connect(t.Context(), there, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			params := &mcp.CallToolParams{Name: "wait"}
			params.SetProgressToken("p")
			done := make(chan error, 1)
			go func() { _, err := s.CallTool(t.Context(), params); done <- err }()
			last := -1.0
			for range 4 {
				select {
				case next := <-steps:
					if next <= last {
						t.Errorf("%v after %v", next, last)
					}
					last = next
				case <-testkit.Deadline(t).Done():
					t.Fatalf("nothing follows %v", last)
				}
			}
			close(ticked)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		})
	}
}
