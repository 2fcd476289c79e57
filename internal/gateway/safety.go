package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// redactor holds the current safety pipeline; a reload replaces it. It exists
// even if no kind is inspected, since it also redacts tool calls for display.
type redactor struct {
	pipeline atomic.Pointer[safety.Pipeline]
	found    func(stage, rule string)
	slots    chan struct{} // held by inspections of large payloads
}

// smallInspection is the size up to which a payload is inspected at once. A
// larger one can take a noticeable part of a second and waits for a slot, so
// that the rest of the gateway always has processors left.
const smallInspection = 16 << 10

func newRedactor(cfg *config.Config, m *Metrics) (*redactor, error) {
	r := &redactor{found: m.Found, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	if err := r.replace(cfg); err != nil {
		return nil, err
	}
	return r, nil
}

// replace switches to the pipeline of another configuration. On an error the
// current one stays.
func (r *redactor) replace(cfg *config.Config) error {
	p, err := SafetyOf(cfg, r.found)
	if err != nil {
		return err
	}
	r.pipeline.Store(p)
	return nil
}

// SafetyOf returns the safety pipeline of a configuration, with the operator's
// rules and all secrets that the configuration names. It calls found for every
// finding, unless found is nil.
func SafetyOf(cfg *config.Config, found func(stage, rule string)) (*safety.Pipeline, error) {
	c := cfg.Safety.Pipeline()
	c.Found = found
	c.Secrets = slices.Clip(c.Secrets) // the configuration's is not changed
	for one := range strings.SplitSeq(cfg.NATS, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.User == nil {
			continue
		}
		secret, named := u.User.Password()
		if !named { // user information without a password is a token
			secret = u.User.Username()
		}
		c.Secrets = append(c.Secrets, redact.NewSecret(secret))
	}
	p, err := safety.New(c)
	if err != nil {
		return nil, fmt.Errorf("create the safety pipeline: %w", err)
	}
	return p, nil
}

// Applies reports whether payloads of the kind are inspected.
func (r *redactor) Applies(kind protocol.Kind) bool { return r.pipeline.Load().Applies(kind) }

// enter waits for a slot if an inspection covers many bytes. release returns
// the slot.
func (r *redactor) enter(ctx context.Context, bytes int) (release func(), err error) {
	if bytes <= smallInspection {
		return func() {}, nil
	}
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, nil
	case <-ctx.Done():
		return nil, protocol.Errorf(protocol.CodeUnavailable, "The envelope could not be inspected in time; send it again.")
	}
}

// Envelope inspects a payload and the other fields of its envelope.
func (r *redactor) Envelope(ctx context.Context, kind protocol.Kind, payload, extra protocol.Value) (ring.Redaction, error) {
	release, err := r.enter(ctx, len(payload.Raw())+len(extra.Raw()))
	if err != nil {
		return ring.Redaction{}, err
	}
	defer release()
	v, err := r.pipeline.Load().Envelope(kind, payload, extra)
	return ring.Redaction{Payload: v.Payload, Extra: v.Extra, Blocked: v.Blocked, Warned: v.Warned, Work: v.Work}, err
}

// Stream returns a redactor of one stream.
func (r *redactor) Stream() ring.Redactor { return &streamRedactor{redactor: r} }

// streamRedactor masks the data of one stream with the current pipeline.
type streamRedactor struct {
	*redactor
	text safety.Stream
}

// Data inspects a chunk of the stream.
func (s *streamRedactor) Data(ctx context.Context, payload, extra protocol.Value) (ring.Redaction, bool, error) {
	release, err := s.enter(ctx, len(payload.Raw())+len(extra.Raw())+s.text.Held())
	if err != nil {
		return ring.Redaction{}, false, err
	}
	defer release()
	v, err := s.pipeline.Load().StreamData(&s.text, payload, extra)
	return ring.Redaction{Payload: v.Payload, Extra: v.Extra, Blocked: v.Blocked, Warned: v.Warned, Work: v.Work}, s.text.Nothing(), err
}

// Rest ends the stream and returns the text that was held back.
func (s *streamRedactor) Rest() (string, []string) {
	rest, redacted, _ := s.pipeline.Load().StreamRest(&s.text)
	return rest, redacted
}

// Size returns the number of bytes that the stream retains.
func (s *streamRedactor) Size() int { return s.text.Size() }

// Text returns a text in redacted form.
func (r *redactor) Text(s string) string { return r.pipeline.Load().Text(s) }

// Parameters returns the arguments of a call in redacted form; nil if they need
// no redaction.
func (r *redactor) Parameters(args protocol.Value) json.RawMessage {
	return r.pipeline.Load().Parameters(args)
}
