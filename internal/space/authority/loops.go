package authority

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Loops says from when on calls count as a loop, so that the next one has to be proposed. A
// zero looks for none.
type Loops struct {
	// Identical is how many times a participant may make the same call without progress.
	Identical int
	// Hops is how many times work may pass from one participant to another without a person.
	Hops int
}

// trail follows calls and the way of work between participants, to find loops. It is a fold
// over the newest entries of the log, in their order. Its methods may be called concurrently.
//
// Calls of a participant are a loop if it makes the same one again and again in a context
// without progress: with the same result, within loopPause of each other, and with no call
// between them that it had not made before. So the same call, or two in turn, are a loop; the
// tests after each change are not, nor is a status that changes or is asked for at intervals. An
// approved call begins anew.
//
// Work passes on where an envelope follows one of another participant: by its correlation, or
// in its context. An envelope of a person begins anew.
type trail struct {
	mu     sync.Mutex
	seed   maphash.Seed
	calls  map[callsKey]*calls
	order  []callsKey // of calls, oldest first
	asked  map[protocol.ID]*repeated
	hops   map[protocol.ID]passed
	passes []protocol.ID // of hops, oldest first
}

// Bounds of a trail.
const (
	maxTrails  = 1024 // participants with a context
	maxRepeats = 16   // different calls of each that are remembered
	maxPassed  = 8192 // envelopes whose hops are remembered
	loopPause  = time.Minute
)

type callsKey struct {
	caller protocol.ParticipantID
	at     protocol.ContextPath
}

type calls struct{ list []*repeated }

// repeated is a call that was made several times.
type repeated struct {
	in      *calls
	digest  string
	host    protocol.ParticipantID
	times   int // without progress
	last    time.Time
	request protocol.ID // the last one
	result  uint64      // of the last one that has a response
	has     bool
}

// passed is an envelope on the way of work.
type passed struct {
	from protocol.ParticipantID
	hops int
}

// add follows an entry of the log.
func (t *trail) add(e *journal.Entry, st *State, now time.Time) {
	env := &e.Envelope
	switch env.Kind {
	case protocol.KindChat, protocol.KindReasoningStart, protocol.KindReasoningThought, protocol.KindMCPRequest, protocol.KindMCPProposal:
		person := st.Config.Loops.Hops == 0 || st.IsPerson(env.From, now)
		t.mu.Lock()
		defer t.mu.Unlock()
		if st.Config.Loops.Hops > 0 {
			t.pass(env, person)
		}
		if env.Kind == protocol.KindMCPRequest && IsToolCall(e.Payload()) {
			t.call(e)
		}
	case protocol.KindMCPResponse:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.respond(e)
	}
}

// pass records the hops of an envelope.
func (t *trail) pass(e *protocol.Envelope, person bool) {
	p := passed{from: e.From}
	if !person {
		p.hops = t.hopsOf(e.From, e.Correlation, e.Context)
	}
	if len(t.passes) == maxPassed {
		delete(t.hops, t.passes[0])
		t.passes = t.passes[1:]
	}
	if _, known := t.hops[e.ID]; !known {
		t.passes = append(t.passes, e.ID)
	}
	t.hops[e.ID] = p
}

// hopsOf returns how many times work has passed on until an envelope of a participant: one
// more than for the envelope before it, if that is of another one. Of several, the longest way
// counts.
func (t *trail) hopsOf(from protocol.ParticipantID, of protocol.Correlation, at protocol.ContextPath) int {
	most := 0
	follow := func(id protocol.ID) {
		before, known := t.hops[id]
		if !known {
			return
		}
		if before.from != from {
			before.hops++
		}
		most = max(most, before.hops)
	}
	for _, id := range of.IDs {
		follow(id)
	}
	for ; at != ""; at = at.Parent() {
		follow(protocol.ID(at.Last())) // the start that has opened the context
	}
	return most
}

// call counts a call.
func (t *trail) call(e *journal.Entry) {
	key := callsKey{e.Envelope.From, e.Envelope.Context}
	if e.Settles != "" { // a person has decided on it: the proposer begins anew
		for k := range t.calls {
			if k.at == key.at && slices.Contains(e.Audience, k.caller) {
				t.drop(k)
			}
		}
		return
	}
	c := t.calls[key]
	if c == nil {
		if len(t.order) == maxTrails {
			t.drop(t.order[0])
		}
		c = new(calls)
		t.calls[key] = c
		t.order = append(t.order, key)
	}
	digest := exchange.ReadCall(e.Payload()).Digest()
	host := OnlyHost(&e.Envelope, e.Payload())
	x := c.find(digest, host)
	if x == nil {
		c.progress()
		if len(c.list) == maxRepeats {
			delete(t.asked, c.list[0].request)
			c.list = c.list[1:]
		}
		x = &repeated{in: c, digest: digest, host: host}
		c.list = append(c.list, x)
	}
	if e.Envelope.TS.Sub(x.last) >= loopPause {
		x.times = 0
	}
	delete(t.asked, x.request)
	x.times++
	x.last, x.request = e.Envelope.TS, e.Envelope.ID
	t.asked[x.request] = x
}

func (t *trail) drop(key callsKey) {
	for _, x := range t.calls[key].list {
		delete(t.asked, x.request)
	}
	delete(t.calls, key)
	t.order = slices.DeleteFunc(t.order, func(k callsKey) bool { return k == key })
}

// respond compares the result of a call with the one before: another one is progress.
func (t *trail) respond(e *journal.Entry) {
	for _, id := range e.Envelope.Correlation.IDs {
		x := t.asked[id]
		if x == nil || x.host != "" && e.Envelope.From != x.host {
			continue
		}
		payload := e.Payload()
		sum := maphash.Bytes(t.seed, append(payload.Get("result").Raw(), payload.Get("error").Raw()...))
		if x.has && sum != x.result {
			x.in.progress()
			x.times = 1
		}
		x.result, x.has = sum, true
		delete(t.asked, id)
	}
}

// progress begins the counts anew.
func (c *calls) progress() {
	for _, x := range c.list {
		x.times = 0
	}
}

func (c *calls) find(digest string, host protocol.ParticipantID) *repeated {
	for _, x := range c.list {
		if x.digest == digest && x.host == host {
			return x
		}
	}
	return nil
}

// OnlyHost returns the participant that a call, or a proposed one, is for; "": several, or any.
func OnlyHost(e *protocol.Envelope, call protocol.Value) protocol.ParticipantID {
	to := e.To
	if e.Kind == protocol.KindMCPProposal {
		to = HostOf(call)
	}
	if len(to) == 1 {
		return to[0]
	}
	return ""
}

// ask returns why a call, or its proposal, is part of a loop; nil: it is not.
func (t *trail) ask(l Loops, e *protocol.Envelope, call protocol.Value, now time.Time) *Ask {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.calls[callsKey{e.From, e.Context}]
	if l.Identical > 0 && c != nil {
		x := c.find(exchange.ReadCall(call).Digest(), OnlyHost(e, call))
		if x != nil && x.times >= l.Identical && now.Sub(x.last) < loopPause {
			return &Ask{"loops.identical", fmt.Sprintf("%s has made this call %d times, with the same result", e.From, x.times)}
		}
	}
	if l.Hops > 0 {
		hops := t.hopsOf(e.From, e.Correlation, e.Context)
		if hops > l.Hops {
			return &Ask{"loops.hops", fmt.Sprintf("the work was passed on %d times without a person", hops)}
		}
	}
	return nil
}
