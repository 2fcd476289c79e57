package agui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// keepAlive is the time between two comments in a stream without events.
const keepAlive = 15 * time.Second

// stream writes server-sent events. It is safe for concurrent use.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	err     error // the client is gone
}

func newStream(w http.ResponseWriter) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	return &stream{w: w, control: http.NewResponseController(w)}
}

// send writes events. With the last one, the client has the turn up to a position in the
// log; 0: unknown. It reports whether the client takes more.
func (s *stream) send(seq protocol.Seq, events ...map[string]any) bool {
	var out bytes.Buffer
	for i, event := range events {
		text, err := json.Marshal(event)
		if err != nil {
			panic(err) // of texts and JSON that was read
		}
		if seq > 0 && i == len(events)-1 {
			fmt.Fprintf(&out, "id: %d\n", seq)
		}
		fmt.Fprintf(&out, "data: %s\n\n", text)
	}
	return s.write(out.String())
}

func (s *stream) write(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && text != "" {
		_, s.err = fmt.Fprint(s.w, text)
	}
	if s.err == nil {
		s.err = s.control.Flush()
	}
	return s.err == nil
}

// keepAlive writes comments until the returned function is called.
func (s *stream) keepAlive() (stop func()) {
	ticker, done := time.NewTicker(keepAlive), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ticker.C:
				s.write(": waiting\n\n")
			case <-done:
				return
			}
		}
	})
	return func() { ticker.Stop(); close(done); running.Wait() }
}
