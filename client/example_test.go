package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

func ExampleDial() {
	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{URL: "http://localhost:8080", Space: "lab", Token: "my-token"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	receipt, err := c.Send(ctx, client.Chat("hello"))
	var refusal *protocol.Error
	switch {
	case errors.As(err, &refusal):
		log.Fatalf("refused (%s): %s", refusal.Code, refusal.Message)
	case err != nil:
		log.Fatal(err)
	}
	fmt.Println("stands in the log at", receipt.Seq)
}

// A restarted program continues after the last envelope that it processed.
func ExampleClient_All() {
	ctx := context.Background()
	var last protocol.Seq // stored by the last run
	c, err := client.Dial(ctx, client.Options{
		URL: "http://localhost:8080", Space: "lab", Token: "my-token",
		Since:  client.After(last),
		Filter: protocol.Filter{ConclusionsOnly: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for env, err := range c.All(ctx) {
		var gap *client.GapError
		switch {
		case errors.As(err, &gap):
			log.Printf("envelopes after %d are gone", gap.After)
			continue
		case err != nil:
			log.Fatal(err) // the client has ended
		}
		fmt.Println(env.From, env.Kind, string(env.Payload))
		last = max(last, env.Seq)
	}
	fmt.Println("go on behind", last)
}

// Reasoning in the log: the start's id is the context of the envelopes that
// follow.
func ExampleClient_Send() {
	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{URL: "http://localhost:8080", Space: "lab", Token: "my-token"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	start, err := c.Send(ctx, protocol.Envelope{Kind: protocol.KindReasoningStart, Payload: json.RawMessage(`{"message":"Is it safe to deploy?"}`)})
	if err != nil {
		log.Fatal(err)
	}
	inside := protocol.ContextPath("").Child(start.ID)
	_, err = c.Send(ctx, protocol.Envelope{Kind: protocol.KindReasoningConclusion, Context: inside, Payload: json.RawMessage(`{"message":"It is."}`)})
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleClient_Request() {
	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{URL: "http://localhost:8080", Space: "lab", Token: "my-token"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	result, err := c.Request(ctx, []protocol.ParticipantID{"files"}, "tools/list", nil, client.RequestOptions{})
	var rpc *client.RPCError
	if errors.As(err, &rpc) {
		log.Fatalf("files says: %s", rpc.Message)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(result))
}
