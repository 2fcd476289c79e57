// Package demo plays a scene in a space, for people who see the project for the
// first time: a question by ben, and the answer of the agent planner, which
// calls tools in parallel, gives a part to the agent scout, reasons in a nested
// context, and proposes a call that waits for the visitor's approval.
//
// Only the decisions of the scene are written in advance. The agents are
// reference agents (package agent), the tools run in an MCP server that package
// bridge connects, and every envelope passes the gateway's checks: planner may
// not publish, so its call is refused and becomes a proposal. Questions that
// are not part of the scene are answered as by any reference agent.
//
// Goroutines: Run starts one for each participant, and returns when all have
// ended.
package demo

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/protocol"
)

// The participants of the scene.
const (
	Ben       protocol.ParticipantID = "ben"       // asks
	Planner   protocol.ParticipantID = "planner"   // answers, and proposes
	Scout     protocol.ParticipantID = "scout"     // takes a part
	Workspace protocol.ParticipantID = "workspace" // runs the tools
)

// Cast lists the participants of the scene.
func Cast() []protocol.ParticipantID { return []protocol.ParticipantID{Ben, Planner, Scout, Workspace} }

// Participants are the entries of the configuration for the participants of
// the scene, with the tokens in environment variables that are named
// DEMO_BEN, DEMO_PLANNER and so on.
const Participants = `
      ben: {token_env: DEMO_BEN, capabilities: [chat]}
      planner:
        token_env: DEMO_PLANNER
        description: Answers questions in the scene, and proposes calls.
        capabilities:
          - chat
          - reasoning/*
          - stream/*
          - mcp.proposal
          - mcp.withdraw
          - participant.status
          - participant.compact-done
          - {kind: mcp.request, payload: {method: tools/list}}
          - {kind: mcp.request, payload: {method: tools/call, params: {name: [read_note, error_rates]}}}
      scout:
        token_env: DEMO_SCOUT
        capabilities:
          - chat
          - reasoning/*
          - stream/*
          - participant.status
          - participant.compact-done
          - {kind: mcp.request, payload: {method: tools/list}}
          - {kind: mcp.request, payload: {method: tools/call, params: {name: error_rates}}}
      workspace: {token_env: DEMO_WORKSPACE, capabilities: [mcp.response, participant.status]}
`

// DefaultPace is the time per word of a thought.
const DefaultPace = 100 * time.Millisecond

// decisionTimeout bounds how long planner waits for a decision on its proposal.
const decisionTimeout = 24 * time.Hour

// Options configures a scene. All fields but Pace, Approach, Version and Logger
// are required.
type Options struct {
	URL    string // of the gateway's socket
	Space  string
	Tokens map[protocol.ParticipantID]string // of the Cast
	// Visitor is the participant that the scene is played for: it begins when
	// the visitor joins for the first time.
	Visitor protocol.ParticipantID
	// Dir is an empty folder for the files of the scene.
	Dir string
	// Planner decides about questions that are not part of the scene, and
	// Approach is its name in reasoning.start.
	Planner  planner.Decider
	Approach string
	// Pace is the time per word of a thought; 0: DefaultPace, negative: none.
	Pace    time.Duration
	Version string
	Logger  *slog.Logger // nil discards
}

// Scene is a running scene.
type Scene struct {
	opts    Options
	asker   *asker
	tools   *mcptools.Set
	notes   *notes
	members map[protocol.ParticipantID]*client.Client
}

//go:embed files
var files embed.FS

// Start starts the tools and joins the participants. The caller must call Run.
func Start(ctx context.Context, o Options) (_ *Scene, err error) {
	if o.Pace == 0 {
		o.Pace = DefaultPace
	}
	o.Pace = max(o.Pace, 0)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Scene{opts: o, members: make(map[protocol.ParticipantID]*client.Client)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	content, err := fs.Sub(files, "files")
	if err == nil {
		err = os.CopyFS(s.opts.Dir, content)
	}
	if err == nil {
		s.notes, err = openNotes(s.opts.Dir, 15*s.opts.Pace)
	}
	if err != nil {
		return nil, fmt.Errorf("write the files of the scene: %w", err)
	}
	s.asker = &asker{visitor: s.opts.Visitor, requests: make(chan chan error)}
	s.tools, err = mcptools.Start(ctx, []mcptools.Server{{
		Name: string(Workspace), InProcess: s.notes.server(s.opts.Version, s.asker.again),
	}}, mcptools.Options{Version: s.opts.Version, Logger: s.opts.Logger})
	if err != nil {
		return nil, fmt.Errorf("start the tools of the scene: %w", err)
	}
	for _, who := range Cast() {
		o := client.Options{URL: s.opts.URL, Space: s.opts.Space, Token: s.opts.Tokens[who], Logger: s.opts.Logger}
		switch who {
		case Ben:
			o.Filter.Kinds = []string{"system.presence", string(protocol.KindChat), string(protocol.KindReasoningStart), string(protocol.KindReasoningCancel)}
		case Workspace:
			o.NoEcho, o.ServesTools, o.Filter.Kinds = true, true, []string{"participant.*"}
		}
		s.members[who], err = client.Dial(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("join as %s: %w", who, err)
		}
	}
	return s, nil
}

// Run plays until ctx ends. A participant that is removed from the space ends
// alone; Run logs it and continues with the others.
func (s *Scene) Run(ctx context.Context) error {
	var group sync.WaitGroup
	run := func(who protocol.ParticipantID, play func(context.Context) error) {
		group.Go(func() { // ends with ctx
			if err := play(ctx); err != nil && ctx.Err() == nil {
				s.opts.Logger.Warn("a participant of the scene has ended", "participant", string(who), "err", err)
			}
		})
	}
	run(Workspace, bridge.New(bridge.Options{
		Space: s.members[Workspace], Server: s.tools, Version: s.opts.Version, Logger: s.opts.Logger,
	}).Run)
	run(Planner, s.actor(Planner, plannerLines()).Run)
	run(Scout, s.actor(Scout, scoutLines()).Run)
	run(Ben, func(ctx context.Context) error { return s.asker.run(ctx, s.members[Ben]) })
	<-ctx.Done()
	group.Wait()
	return s.close()
}

// actor returns the agent that follows a script.
func (s *Scene) actor(who protocol.ParticipantID, lines script) *agent.Agent {
	return agent.New(agent.Options{
		Space: s.members[who], Planner: &actor{script: lines, pace: s.opts.Pace, otherwise: s.opts.Planner},
		Answer: intake.Mentioned, Approach: cmp.Or(s.opts.Approach, "script"), ProposalTimeout: decisionTimeout,
		Logger: s.opts.Logger.With("participant", string(who)),
	})
}

func (s *Scene) close() error {
	for _, c := range s.members {
		if c != nil {
			_ = c.Close() // the scene is over
		}
	}
	var err error
	if s.tools != nil {
		err = s.tools.Close()
	}
	if s.notes != nil {
		err = errors.Join(err, s.notes.root.Close())
	}
	return err
}
