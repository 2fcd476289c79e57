package reasoner

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// BodyTimeout bounds reading a body. A server of NewHandler should use it as
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

// acquireWithTimeout acquires a slot. It waits for at most slotTimeout.
func acquireWithTimeout(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	return acquire(ctx, places)
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
	if !acquireWithTimeout(r.Context(), h.readers) {
		return nil, overloaded("There are too many requests at the same time: ask again in a moment.")
	}
	defer func() { <-h.readers }()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(BodyTimeout)) // a test's recorder does not support it
	metered := &countingReader{r: http.MaxBytesReader(w, r.Body, h.o.MaxBody), budget: h.bytes}
	raw, err := io.ReadAll(metered)
	if err == nil {
		// Only after success: a rejected request must not get unlimited time.
		_ = control.SetReadDeadline(time.Time{})
		return raw, nil
	}
	h.bytes.release(metered.reserved)
	var large *http.MaxBytesError
	var fault *Fault
	switch {
	case errors.As(err, &fault):
		return nil, fault
	case errors.As(err, &large):
		return nil, tooLarge()
	}
	return nil, invalid("", "The body could not be read to its end: send it whole.")
}

func tooLarge() *Fault {
	return &Fault{Status: http.StatusRequestEntityTooLarge, Code: CodeTooLarge, Message: "The body is too long: send a shorter history, or results in part."}
}

// byteBudget is a budget of bytes.
type byteBudget struct {
	mu        sync.Mutex
	available int64
}

func newByteBudget(size int64) *byteBudget { return &byteBudget{available: size} }

// reserve reserves n bytes if they are available.
func (r *byteBudget) reserve(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.available < n {
		return false
	}
	r.available -= n
	return true
}

// release returns n bytes.
func (r *byteBudget) release(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.available += n
}

// countingReader reserves bytes as they are read, so that a sender that sends
// nothing holds nothing.
type countingReader struct {
	r        io.Reader
	budget   *byteBudget
	reserved int64
}

// Read implements io.Reader. The error is a *Fault if the budget is exhausted.
func (m *countingReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if !m.budget.reserve(int64(n)) {
		return 0, overloaded("There are too many large requests at the same time: ask again in a moment.")
	}
	m.reserved += int64(n)
	return n, err
}
