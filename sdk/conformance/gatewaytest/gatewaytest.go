// Package gatewaytest plays the clients of gateway vectors against a running gateway.
//
// Goroutines: the goroutine of Run runs the script; one for each connection reads frames, and
// ends with it.
package gatewaytest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/sdk/conformance/vector"
)

// Options configures a Suite. URL, Space and the tokens a and b are required.
type Options struct {
	URL    string // http://HOST
	Space  string
	Tokens map[string]string // by the name of the participant in the vectors: a, b and, if there is one, c
	Public bool              // the space has visibility: everyone
	Output io.Writer         // gets all frames; nil: none
	Step   time.Duration     // for one step; 0: 10 s
}

// Suite runs vectors against one gateway.
type Suite struct {
	o    Options
	http *http.Client
	you  map[string]protocol.You // by the name in the vectors
	met  map[string]bool         // requirements of vectors that are met
}

// SkipError means that a vector needs something that the gateway does not have, or was not told.
type SkipError struct{ Needs string }

// Error names the requirement.
func (e *SkipError) Error() string { return "needs " + e.Needs }

// joinTime bounds the first connection of a participant.
const joinTime = 30 * time.Second

// New joins the space with each token, to learn who is who. The caller must call Close.
func New(ctx context.Context, o Options) (*Suite, error) {
	o.Step = cmp.Or(o.Step, 10*time.Second)
	if o.Output == nil {
		o.Output = io.Discard
	}
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the URL of the gateway: expected http://HOST or https://HOST")
	}
	s := &Suite{o: o, http: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}, you: make(map[string]protocol.You)}
	described := false
	for name := range o.Tokens {
		ctx, cancel := context.WithTimeout(ctx, joinTime)
		welcome, err := s.welcome(ctx, name)
		cancel()
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("join as %s: %w", name, err)
		}
		s.you[name] = welcome.You
		described = described || name == "a" && slices.ContainsFunc(welcome.Participants, func(p protocol.Participant) bool {
			return p.ID == welcome.You.ID && p.Description != ""
		})
	}
	a, b := s.you["a"], s.you["b"]
	if a.ID == "" || b.ID == "" || a.ID == b.ID {
		s.Close()
		return nil, errors.New("the tokens a and b belong to two participants")
	}
	s.met = map[string]bool{
		"addressed": !o.Public, "c": s.you["c"].ID != "", "description": described, "message_bytes": b.Limits.MessageBytes > 0 && b.Limits.MessageBytes <= 8<<20,
		"all capabilities": slices.ContainsFunc(a.Capabilities, func(raw json.RawMessage) bool { return slices.Contains([]string{`"*"`, `"**"`}, string(raw)) }),
	}
	s.met["deciders"] = s.hasDeciders(ctx)
	return s, nil
}

// hasDeciders reports whether a sees a policy in which c is a reviewer in shadow.
func (s *Suite) hasDeciders(ctx context.Context) bool {
	c, err := api.New(api.Options{URL: s.o.URL, Token: s.o.Tokens["a"]})
	if err != nil {
		return false
	}
	defer c.Close()
	p, err := c.Policy(ctx, s.o.Space)
	return err == nil && p.Deciders != nil && slices.ContainsFunc(p.Deciders.Reviewers, func(r api.ReviewerPolicy) bool {
		return r.ID == s.you["c"].ID && r.Mode == "shadow"
	})
}

// welcome joins and leaves, and returns the welcome.
func (s *Suite) welcome(ctx context.Context, name string) (protocol.Welcome, error) {
	p, _, err := s.dial(ctx, name, "/ws?space="+url.QueryEscape(s.o.Space))
	if err != nil {
		return protocol.Welcome{}, err
	}
	defer p.leave()
	frame, err := p.next(ctx)
	if err != nil {
		return protocol.Welcome{}, err
	}
	var first struct {
		Kind    string
		Payload protocol.Welcome
	}
	if err := json.Unmarshal(frame, &first); err != nil || first.Kind != "system.welcome" || first.Payload.You.ID == "" {
		return first.Payload, fmt.Errorf("the first frame is no system.welcome: %s", vector.Compact(frame))
	}
	return first.Payload, nil
}

// awaitAbsence waits until the gateway has noticed that all connections of a have ended.
func (s *Suite) awaitAbsence(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.Step, errors.New("a is connected by another program"))
	defer cancel()
	for {
		w, err := s.welcome(ctx, "b")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(w.Participants, func(p protocol.Participant) bool { return p.ID == s.you["a"].ID }) {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close closes idle connections.
func (s *Suite) Close() { s.http.CloseIdleConnections() }

// Run runs a vector. A *vector.Failure names the step that failed, a *SkipError
// the reason why it was not run.
func (s *Suite) Run(ctx context.Context, v *vector.Vector) error {
	for need := range strings.Lines(v.Files["requires"]) {
		need = strings.TrimSpace(need)
		switch {
		case need == "a absent":
			if err := s.awaitAbsence(ctx); err != nil {
				return fmt.Errorf("%s: %w", v.Name, err)
			}
		case need != "" && !s.met[need]:
			return &SkipError{need}
		}
	}
	g := &game{s: s, peers: make(map[string]*peer), vars: testkit.JSONVars{"run": uuid.NewString(), "space": s.o.Space}}
	for name, you := range s.you {
		g.vars[name] = string(you.ID)
	}
	g.vars["max"] = s.you["b"].Limits.MessageBytes
	defer func() {
		for _, p := range g.peers {
			p.leave()
		}
	}()
	for _, step := range v.Steps {
		for i := range step.Times {
			g.vars["n"] = i + 1
			if err := g.step(ctx, step); err != nil {
				return &vector.Failure{Vector: v.Name, Step: step, Err: err}
			}
		}
	}
	return nil
}

// game is a vector while it runs.
type game struct {
	s     *Suite
	peers map[string]*peer // by the name of the connection
	vars  testkit.JSONVars
}

var errTimeout = errors.New("nothing happened in time")

func (g *game) step(ctx context.Context, s vector.Step) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.s.o.Step, errTimeout)
	defer cancel()
	fmt.Fprintf(g.s.o.Output, "%s\n", s.Text)
	for _, text := range []*string{&s.Body, &s.Word, &s.Sent} {
		*text, err = vector.Fill(*text, g.lookup)
		if err != nil {
			return err
		}
	}
	switch s.Verb {
	case vector.Connect:
		return g.connect(ctx, s.Peer, s.Word)
	case vector.Refused:
		return g.refused(ctx, s)
	case vector.Get, vector.Post:
		return g.request(ctx, s)
	}
	p := g.peers[s.Peer]
	if p == nil {
		return fmt.Errorf("%s is not connected", s.Peer)
	}
	switch s.Verb {
	case vector.Expect:
		return p.send(ctx, s.Encoding, s.Body)
	case vector.Send:
		return g.gets(ctx, p, s)
	case vector.AwaitIn:
		return g.awaits(ctx, p, s.Body)
	case vector.Not:
		return g.not(p, s.Body)
	case vector.Closed:
		return p.closed(ctx, s.Word)
	case vector.Cut:
		p.cut()
		delete(g.peers, s.Peer)
		return nil
	}
	return fmt.Errorf("%q is no step of a gateway vector", s.Verb)
}

// lookup returns the text of a captured value, as it is within a JSON string.
func (g *game) lookup(name string) (string, bool) {
	value, known := g.vars[name]
	if !known {
		return "", false
	}
	quoted := protocol.AppendString(nil, fmt.Sprint(value))
	return string(quoted[1 : len(quoted)-1]), true
}

// user returns the participant of a connection: b2 is another connection of b.
func user(connection string) string { return strings.TrimRight(connection, "0123456789") }

func (g *game) connect(ctx context.Context, name, query string) error {
	if g.peers[name] != nil {
		return fmt.Errorf("%s is connected already", name)
	}
	p, _, err := g.s.dial(ctx, user(name), "/ws?space="+url.QueryEscape(g.s.o.Space)+"&"+query)
	if err != nil {
		return err
	}
	g.peers[name] = p
	return nil
}

// refused expects that an upgrade is refused.
func (g *game) refused(ctx context.Context, s vector.Step) error {
	p, answer, err := g.s.dial(ctx, user(s.Peer), s.Word)
	if err == nil {
		p.cut()
		return errors.New("the gateway accepted it")
	}
	if answer == nil {
		return err
	}
	return g.compare(answer, s)
}

// request makes a request of the HTTP API.
func (g *game) request(ctx context.Context, s vector.Step) error {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if s.Verb == vector.Post {
		method, body = http.MethodPost, strings.NewReader(s.Sent)
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(g.s.o.URL, "/")+s.Word, body)
	if err != nil {
		return err
	}
	if token := g.s.o.Tokens[user(s.Peer)]; token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := g.s.http.Do(r)
	if err != nil {
		return err
	}
	return g.compare(read(resp), s)
}

// answer is a response that was read.
type answer struct {
	status int
	body   []byte
}

func read(resp *http.Response) *answer {
	defer resp.Body.Close() //nolint:errcheck // it is read
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return &answer{resp.StatusCode, body}
}

// compare compares a response with the expected one.
func (g *game) compare(got *answer, s vector.Step) error {
	fmt.Fprintf(g.s.o.Output, "\t%d %s\n", got.status, vector.Compact(got.body))
	if got.status != s.Status {
		return fmt.Errorf("the status is %s: %s", strconv.Itoa(got.status), vector.Compact(got.body))
	}
	if s.Body == "" {
		return nil
	}
	var value any
	if err := testkit.DecodeJSON(bytes.TrimSpace(got.body), &value); err != nil {
		return fmt.Errorf("the body is no JSON: %s", vector.Compact(got.body))
	}
	if err := g.vars.Compare(s.Body, value); err != nil {
		return fmt.Errorf("%w\nreceived %s", err, vector.Compact(got.body))
	}
	return nil
}
