package tui

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// API is the part of the HTTP API that the terminal uses; *api.Client
// implements it.
type API interface {
	// History returns turns of a thread, oldest first.
	History(ctx context.Context, space string, thread protocol.ID, page api.Page) (*api.History, error)
	// TurnOf returns the turn that an envelope belongs to.
	TurnOf(ctx context.Context, space string, envelope protocol.ID) (*api.TurnOf, error)
	// Transcript returns a conversation as Markdown.
	Transcript(ctx context.Context, space string, thread protocol.ID) ([]byte, error)
	// Envelopes returns a part of the log.
	Envelopes(ctx context.Context, space string, query api.EnvelopeQuery) (*api.Envelopes, error)
	// Envelope returns an envelope as JSON.
	Envelope(ctx context.Context, space string, id protocol.ID) ([]byte, error)
	// Search returns the envelopes that a query selects.
	Search(ctx context.Context, space string, query api.SearchQuery) (*api.SearchResult, error)
	// Proposals returns proposals in a state, newest first.
	Proposals(ctx context.Context, space, state string, limit int, before protocol.Seq) (*api.Proposals, error)
	// Proposal returns a proposal, by its id and position.
	Proposal(ctx context.Context, space string, id protocol.ID, at protocol.Seq) (*api.Proposal, error)
	// Scopes returns what can be granted to the proposer of a call that the participant to runs.
	Scopes(ctx context.Context, space string, proposal protocol.ID, to protocol.ParticipantID) ([]api.Scope, error)
	// Participants returns the connected participants with their capabilities.
	Participants(ctx context.Context, space string) ([]protocol.Participant, error)
}

// Options configure Run: which space to join and how to show it. URL, Space,
// Token and API are required.
type Options struct {
	URL   string // of the gateway's socket, "ws://host/ws" or "wss://host/ws"
	Space string
	Token string // never shown and never logged
	API   API

	In  io.Reader // nil: standard input
	Out io.Writer // nil: standard output

	// Plain writes lines, each once, instead of drawing a screen. It is implied
	// if Out or In is not a terminal, or if TERM is dumb.
	Plain bool
	// NoColor disables colors; NO_COLOR in the environment does too.
	NoColor bool
	// Width and Height are the size of the screen in cells, if Out does not
	// report one; 0: 80 and 24.
	Width, Height int
	// Recall is the number of earlier envelopes that are shown at the start; 0:
	// 200, below 0: none.
	Recall int

	Environ []string           // nil: os.Environ
	Now     func() time.Time   // nil: time.Now
	NewID   func() protocol.ID // nil: UUIDv7
	Backoff client.Backoff     // between attempts to reconnect
	Logger  *slog.Logger       // nil discards
}

func (o Options) withDefaults() (Options, error) {
	if o.URL == "" || o.Space == "" || o.Token == "" || o.API == nil {
		return o, errors.New("URL, space, token and API are required")
	}
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Width <= 0 || o.Height <= 0 {
		o.Width, o.Height = 80, 24
	}
	if o.Recall == 0 {
		o.Recall = 200
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() protocol.ID { return protocol.ID(uuid.Must(uuid.NewV7()).String()) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Plain = o.Plain || o.getenv("TERM") == "dumb" || !IsTerminal(o.In) || !IsTerminal(o.Out)
	o.NoColor = o.NoColor || o.Plain || o.getenv("NO_COLOR") != ""
	return o, nil
}

// getenv returns the last value of a name in the environment.
func (o *Options) getenv(name string) string {
	value := ""
	for _, entry := range o.Environ {
		if len(entry) > len(name) && entry[:len(name)] == name && entry[len(name)] == '=' {
			value = entry[len(name)+1:]
		}
	}
	return value
}

// Run joins the space and lets a person take part in it until they leave, ctx
// ends or the gateway removes them. The error reports why it could not join or
// why the session ended; leaving returns nil.
func Run(ctx context.Context, opts Options) error {
	opts, err := opts.withDefaults()
	if err != nil {
		return err
	}
	s, err := join(ctx, opts)
	if err != nil {
		return err
	}
	defer s.close()
	if opts.Plain {
		return s.runPlain()
	}
	return s.runScreen()
}
