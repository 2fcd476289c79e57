package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/meup-protocol/meup/internal/reasoner"
)

// BodyTimeout bounds reading a body. A server of New should use it as
// its ReadTimeout too, which also covers requests that are not admitted.
const BodyTimeout = 30 * time.Second

const (
	// slotTimeout bounds how long a request waits for a slot.
	slotTimeout = 250 * time.Millisecond
	// readersPerSlot is the number of bodies read at once per decision slot. A
	// slow sender delays no decisions; only many of them delay other senders.
	readersPerSlot = 4
	// bodiesInFlight is the number of bodies of the largest size held at once.
	bodiesInFlight = 16
	// unreadBodyTimeout is the time for the client to read a response before
	// the connection of an unread body is closed.
	unreadBodyTimeout = time.Second
)

// acquire acquires a slot within slotTimeout. The error is an *reasoner.Fault.
func acquire(ctx context.Context, slots *semaphore.Weighted) error {
	ctx, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	if slots.Acquire(ctx, 1) != nil {
		return reasoner.Overloaded("There are too many requests at the same time: try again in a moment.")
	}
	return nil
}

// closeUnread closes the connection after the response if the body was not
// read; the server would otherwise wait for the body.
func closeUnread(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadBodyTimeout)) // a test's recorder does not support it
}

// body reads a request's body and reserves its bytes in the budget. It returns
// them on an error.
func (h *handler) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > h.o.MaxBody {
		return nil, tooLarge()
	}
	if err := acquire(r.Context(), h.readers); err != nil {
		return nil, err
	}
	defer h.readers.Release(1)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(BodyTimeout)) // a test's recorder does not support it
	metered := &countingReader{r: http.MaxBytesReader(w, r.Body, h.o.MaxBody), budget: h.bytes}
	raw, err := io.ReadAll(metered)
	if err == nil {
		// Only after success: a rejected request must not get unlimited time.
		_ = control.SetReadDeadline(time.Time{})
		return raw, nil
	}
	h.bytes.Release(metered.reserved)
	var large *http.MaxBytesError
	var fault *reasoner.Fault
	switch {
	case errors.As(err, &fault):
		return nil, fault
	case errors.As(err, &large):
		return nil, tooLarge()
	}
	return nil, reasoner.Invalid("", "The body could not be read to its end: send all of it.")
}

func tooLarge() error {
	return &reasoner.Fault{Status: http.StatusRequestEntityTooLarge, Code: reasoner.CodeTooLarge, Message: "The body is too long: send a shorter history or shorter results."}
}

// countingReader reserves bytes as they are read, so that a sender that sends
// nothing holds nothing.
type countingReader struct {
	r        io.Reader
	budget   *semaphore.Weighted
	reserved int64
}

// Read implements io.Reader. The error is an *reasoner.Fault if the budget is exhausted.
func (m *countingReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if !m.budget.TryAcquire(int64(n)) {
		return 0, reasoner.Overloaded("There are too many large requests at the same time: try again in a moment.")
	}
	m.reserved += int64(n)
	return n, err
}
