package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Analysis runs configurations over the log of a space, since a time and as far as a participant
// may see it. It returns how many entries it has read. An error that is no *protocol.Error
// means that the log cannot be read.
type Analysis interface {
	// Suggestions derives rules from what was decided.
	Suggestions(ctx context.Context, space string, who ring.Visibility, since time.Time) (*api.Suggestions, int, error)
	// Backtest decides the envelopes again under the text of a configuration.
	Backtest(ctx context.Context, space string, who ring.Visibility, since time.Time, text []byte) (*api.Backtest, int, error)
}

const (
	// maxConfigBytes bounds the configuration of a backtest.
	maxConfigBytes = 1 << 20
	// analysisBytes is about the memory for a configuration, and of what is kept of the log.
	analysisBytes = 12 << 20
	// configWork is the work of a byte of a configuration, which is compiled, in bytes.
	configWork = 256
)

func (s *Server) suggestions(w http.ResponseWriter, r *http.Request, v caller) {
	s.analyze(w, r, v, 0, func(since time.Time) (any, int, error) {
		out, read, err := s.options.Analysis.Suggestions(r.Context(), v.space.Name(), v.space.VisibilityOf(v.viewer()), since)
		if err != nil {
			return nil, read, err
		}
		for i := range out.Suggestions {
			x := &out.Suggestions[i]
			x.Grantable = x.Grant != nil && v.space.MayGrant(v.id, x.Participant, x.Grant)
		}
		return out, read, nil
	})
}

func (s *Server) backtest(w http.ResponseWriter, r *http.Request, v caller) {
	err := v.space.ChargeRead(v.id)
	if err == nil && !v.hold.Grow(maxConfigBytes) {
		err = access.Busy()
	}
	var text []byte
	if err == nil {
		text, err = access.ReadBody(w, r, maxConfigBytes, bodyTimeout)
	}
	if err != nil {
		access.WriteError(w, err)
		return
	}
	s.analyze(w, r, v, configWork*len(text), func(since time.Time) (any, int, error) {
		return s.options.Analysis.Backtest(r.Context(), v.space.Name(), v.space.VisibilityOf(v.viewer()), since, text)
	})
}

// analyze responds with what a function derives from the log of a space since a time. One runs at
// a time. work is that of the function beside reading.
func (s *Server) analyze(w http.ResponseWriter, r *http.Request, v caller, work int, run func(since time.Time) (out any, read int, err error)) {
	since, fault := beginOf(r, time.Now())
	if fault != nil {
		access.WriteError(w, fault)
		return
	}
	charge, err := v.space.BeginWork(v.id)
	if err != nil {
		access.WriteError(w, err)
		return
	}
	if !v.hold.Grow(analysisBytes) {
		access.WriteError(w, access.Busy())
		return
	}
	select {
	case s.analyzing <- struct{}{}:
		defer func() { <-s.analyzing }()
	default:
		access.WriteError(w, access.Busy())
		return
	}
	out, read, err := run(since)
	charge(work + read*proposalWork)
	var refused *protocol.Error
	switch {
	case err == nil:
		v.writeJSON(w, out)
	case errors.As(err, &refused):
		access.WriteError(w, refused)
	default:
		access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again."))
	}
}
