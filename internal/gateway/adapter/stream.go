package adapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// keepAlive is the time between two comments in a stream without events.
const keepAlive = 15 * time.Second

// Stream writes server-sent events. The response begins with the first of them, or
// with the first comment. It is safe for concurrent use.
type Stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
	err     error // the client is gone
}

// NewStream returns a stream of events as the response.
func NewStream(w http.ResponseWriter) *Stream {
	return &Stream{w: w, control: http.NewResponseController(w)}
}

// Send writes events. With the last one, a client has everything up to the position
// id, which it sends as Last-Event-ID to continue; "": unknown. It reports whether
// the client takes more.
func (s *Stream) Send(id string, events ...any) bool {
	var out bytes.Buffer
	for i, event := range events {
		if id != "" && i == len(events)-1 {
			fmt.Fprintf(&out, "id: %s\n", id)
		}
		writeData(&out, event)
	}
	return s.Write(out.String())
}

// Fail writes an event with the name error.
func (s *Stream) Fail(event any) {
	var out bytes.Buffer
	out.WriteString("event: error\n")
	writeData(&out, event)
	s.Write(out.String())
}

func writeData(out *bytes.Buffer, event any) {
	text, err := json.Marshal(event)
	if err != nil {
		panic(err) // of texts and JSON that was read
	}
	fmt.Fprintf(out, "data: %s\n\n", text)
}

// Write writes the text of events. It reports whether the client takes more.
func (s *Stream) Write(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
	}
	if s.err == nil && text != "" {
		_, s.err = fmt.Fprint(s.w, text)
	}
	if s.err == nil {
		s.err = s.control.Flush()
	}
	return s.err == nil
}

// KeepAlive writes comments until the returned function is called.
func (s *Stream) KeepAlive() (stop func()) {
	ticker, done := time.NewTicker(keepAlive), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ticker.C:
				s.Write(": waiting\n\n")
			case <-done:
				return
			}
		}
	})
	return func() { ticker.Stop(); close(done); running.Wait() }
}
