package reasoner

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// BodyTimeout bounds the wait for a body. A server of NewHandler should have it
// for a ReadTimeout, which holds for those who may not send one, too.
const BodyTimeout = 30 * time.Second

const (
	// patience is how long a request waits for a place.
	patience = 250 * time.Millisecond
	// readersPerPlace: whoever sends slowly holds up no decisions, and only
	// many others who send.
	readersPerPlace = 4
	// bodiesInFlight is how many of the largest bodies are held at one time.
	bodiesInFlight = 16
	// lingering is how long an answer waits to be read before the connection
	// of a body that nobody reads is closed.
	lingering = time.Second
)

// enter takes a place, and waits for one for a moment.
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

// hangUp lets the connection end behind the answer, when there is a body that
// was not read: the server would wait for it.
func hangUp(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingering)) // a test's recorder has none
}

// body reads a request's body, and takes its bytes of those in flight. They are
// given back when there is an error.
func (h *handler) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > h.o.MaxBody {
		return nil, tooLarge()
	}
	if !enter(r.Context(), h.reading) {
		return nil, overloaded("There are too many requests at the same time: ask again in a moment.")
	}
	defer func() { <-h.reading }()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(BodyTimeout)) // a test's recorder has none
	metered := &meter{from: http.MaxBytesReader(w, r.Body, h.o.MaxBody), room: h.bytes}
	raw, err := io.ReadAll(metered)
	if err == nil {
		// Only now: who is refused must not get all the time there is.
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

// room is what may be held at the same time, in bytes.
type room struct {
	mu   sync.Mutex
	left int64
}

func newRoom(size int64) *room { return &room{left: size} }

// take takes n bytes, if there are as many.
func (r *room) take(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left < n {
		return false
	}
	r.left -= n
	return true
}

// put gives n bytes back.
func (r *room) put(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left += n
}

// meter takes room for what it reads, as it comes: who sends nothing holds
// nothing.
type meter struct {
	from  io.Reader
	room  *room
	taken int64
}

// Read reads; the error is a *Fault where there is no room.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	if !m.room.take(int64(n)) {
		return 0, overloaded("There are too many large requests at the same time: ask again in a moment.")
	}
	m.taken += int64(n)
	return n, err
}
