package access

import (
	"net/http"
	"time"
)

// writeTimeout bounds one write of a response whose time is not bounded.
const writeTimeout = 15 * time.Second

// Patient lets a handler wait longer than the server's WriteTimeout before and
// between its writes. Each write has a time limit of its own, so that a client
// that does not read is disconnected.
func Patient(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := &patient{w, http.NewResponseController(w)}
		p.limit(time.Time{})
		defer func() { p.limit(time.Now().Add(writeTimeout)) }() // the server writes what is buffered
		h(p, r)
	}
}

// patient is the response of a handler that may wait.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (p *patient) limit(deadline time.Time) {
	_ = p.control.SetWriteDeadline(deadline) // fails only for a recorder in a test
}

// Write writes within the time limit.
func (p *patient) Write(b []byte) (int, error) {
	p.limit(time.Now().Add(writeTimeout))
	defer p.limit(time.Time{}) // HTTP/2 would end the stream, also without a write
	return p.ResponseWriter.Write(b)
}

// FlushError writes what is buffered, within the time limit.
func (p *patient) FlushError() error {
	p.limit(time.Now().Add(writeTimeout))
	defer p.limit(time.Time{})
	return p.control.Flush()
}

// Unwrap returns the response of the server, for [http.ResponseController].
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
