package agent_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/agent"
)

// An agent that shares its reasoning, calls a tool of another participant, and answers.
// TestExample runs it against a gateway.
func Example() {
	log.Fatal(planner(context.Background()))
}

// A participant that offers a tool to the others.
func Example_tools() {
	log.Fatal(weather(context.Background()))
}

// An agent that asks another one.
func ExampleQuestion_Ask() {
	bot := agent.Agent{Client: client.Options{URL: os.Getenv("MEUP_URL"), Space: "lab", Token: os.Getenv("PLANNER_TOKEN")}, OnQuestion: cautious}
	bot.Main()
}

func cautious(ctx context.Context, q *agent.Question) (string, error) {
	answer, err := q.Ask(ctx, "critic", "Is it safe?", agent.AskOptions{})
	if err != nil || answer.Outcome != agent.AskAnswered {
		return "The critic has no answer.", err
	}
	return answer.Text, nil
}

func planner(ctx context.Context) error {
	bot := agent.Agent{Client: client.Options{URL: os.Getenv("MEUP_URL"), Space: "lab", Token: os.Getenv("PLANNER_TOKEN")}}
	bot.OnQuestion = func(ctx context.Context, q *agent.Question) (string, error) {
		if err := q.Think(ctx, "The weather service has the temperature."); err != nil {
			return "", err
		}
		result, err := q.CallTool(ctx, "weather", "temperature", map[string]string{"city": "Oslo"})
		if err != nil {
			return "", err
		}
		q.Conclude("It returned " + result.Text + ".")
		return "In Oslo it is " + result.Text + " °C.", nil
	}
	return bot.Run(ctx)
}

func weather(ctx context.Context) error {
	type arguments struct {
		City string `json:"city"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "temperature", Description: "Returns the temperature in a city, in °C."},
		func(_ context.Context, _ *mcp.CallToolRequest, in arguments) (*mcp.CallToolResult, any, error) {
			if in.City != "Oslo" {
				return nil, nil, fmt.Errorf("no such city: %s", in.City)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "-3"}}}, nil, nil
		})
	host := agent.Agent{Client: client.Options{URL: os.Getenv("MEUP_URL"), Space: "lab", Token: os.Getenv("WEATHER_TOKEN")}, Tools: server}
	return host.Run(ctx)
}
