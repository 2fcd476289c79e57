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
	// patience bounds how long a request waits for a slot.
	patience = 250 * time.Millisecond
	// readersPerPlace is the number of bodies read at once per decision slot. A
	// slow sender delays no decisions; only many of them delay other senders.
	readersPerPlace = 4
	// bodiesInFlight is the number of bodies of the largest size held at once.
	bodiesInFlight = 16
	// lingering is the time for the client to read a response before the
	// connection of an unread body is closed.
	lingering = time.Second
)

// enter acquires a slot. It waits for one for at most patience.
func enter(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return take(ctx, places)
}

// hangUp closes the connection after the response if the body was not read; the
// server would otherwise wait for the body.
func hangUp(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingering)) // a test's recorder does not support it
}

// body reads a request's body and reserves its bytes in the budget. It returns
// them on an error.
func (h *handler) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > h.o.MaxBody {
		return nil, tooLarge()
	}
	if !enter(r.Context(), h.reading) {
		return nil, overloaded("There are too many requests at the same time: ask again in a moment.")
	}
	defer func() { <-h.reading }()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(BodyTimeout)) // a test's recorder does not support it
	metered := &meter{from: http.MaxBytesReader(w, r.Body, h.o.MaxBody), room: h.bytes}
	raw, err := io.ReadAll(metered)
	if err == nil {
		// Only after success: a rejected request must not get unlimited time.
		_ = control.SetReadDeadline(time.Time{})
		return raw, nil
	}
	h.bytes.put(metered.taken)
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

// room is a budget of bytes.
type room struct {
	mu   sync.Mutex
	left int64
}

func newRoom(size int64) *room { return &room{left: size} }

// take reserves n bytes if they are available.
func (r *room) take(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left < n {
		return false
	}
	r.left -= n
	return true
}

// put returns n bytes.
func (r *room) put(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left += n
}

// meter reserves bytes as they are read, so that a sender that sends nothing
// holds nothing.
type meter struct {
	from  io.Reader
	room  *room
	taken int64
}

// Read implements io.Reader. The error is a *Fault if the budget is exhausted.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	if !m.room.take(int64(n)) {
		return 0, overloaded("There are too many large requests at the same time: ask again in a moment.")
	}
	m.taken += int64(n)
	return n, err
}
