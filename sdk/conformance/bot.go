package main

import (
	"context"
	"errors"
	"iter"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/agent"
	"github.com/meup-protocol/meup/protocol"
)

// bot is the program under test for the Go client: the behavior that the README
// specifies.
func bot() *agent.Agent {
	a := &agent.Agent{
		Client:     client.Options{URL: os.Getenv("MEUP_URL"), Token: os.Getenv("MEUP_TOKEN"), Space: os.Getenv("MEUP_SPACE")},
		OnQuestion: answer, OnElicitation: fillIn, Tools: echoServer(),
	}
	switch os.Getenv("MEUP_ROLE") {
	case "tools":
		a.OnQuestion = nil
	case "no forms":
		a.OnElicitation = nil
	}
	return a
}

// fillIn answers a question about a call.
func fillIn(ctx context.Context, _ protocol.ParticipantID, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	switch p.Message {
	case "decline":
		return nil, nil //nolint:nilnil // it declines
	case "fail":
		return nil, errors.New("asked to fail")
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"text": p.Message}}, nil
}

func answer(ctx context.Context, q *agent.Question) (string, error) {
	if err := q.Think(ctx, "thinking"); err != nil {
		return "", err
	}
	verb, rest, _ := strings.Cut(strings.TrimPrefix(q.Text, "@bot "), " ")
	if verb == "plain" {
		result, err := q.CallTool(ctx, "tools", "echo", map[string]string{"text": rest})
		if err != nil {
			return "", err
		}
		return result.Text, nil
	}
	q.Conclude("done")
	switch arguments := map[string]string{"text": rest}; verb {
	case "call":
		return outcome(q.CallTool(ctx, "tools", "echo", arguments))
	case "stream":
		return q.StreamAnswer(ctx, pieces(rest))
	case "ask":
		heard := ""
		answer, err := q.Ask(ctx, "planner", rest, agent.AskOptions{OnThought: func(text string) { heard += text + ", " }})
		switch {
		case err != nil:
			return "", err
		case answer.Outcome != agent.AskAnswered:
			return string(answer.Outcome), nil
		}
		return "answered: " + heard + answer.Text, nil
	case "propose":
		return outcome(q.Propose(ctx, "tools", "echo", arguments))
	case "count":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return "", err
		}
		for i := range n {
			if err := q.Post(ctx, client.Chat(strconv.Itoa(i+1))); err != nil {
				return "", err
			}
		}
		return "counted", nil
	case "wait":
		<-ctx.Done()
		return "", ctx.Err()
	case "fail":
		panic("asked to fail")
	}
	return "you said: " + q.Text, nil
}

// pieces yields the words of a text as a model does that takes its time.
func pieces(text string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for word := range strings.FieldsSeq(text) {
			if word == "fail" {
				yield("", errors.New("asked to fail"))
				return
			}
			if !yield(word+" ", nil) {
				return
			}
			time.Sleep(300 * time.Millisecond)
		}
	}
}

// outcome returns the answer to a question with a call.
func outcome(result *agent.Result, err error) (string, error) {
	var failed *agent.CallError
	switch {
	case errors.As(err, &failed) && failed.Outcome == agent.Rejected:
		return "rejected: " + failed.Reason, nil
	case errors.As(err, &failed):
		return "call failed", nil
	case err != nil:
		return "", err
	}
	return result.Text, nil
}

func echoServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	type arguments struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Returns its argument."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in arguments) (*mcp.CallToolResult, any, error) {
			switch in.Text {
			case "wait":
				<-ctx.Done()
				return nil, nil, ctx.Err()
			case "fail":
				return nil, nil, errors.New("asked to fail")
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	return server
}
