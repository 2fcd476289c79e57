package access_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
)

// A handler writes after the server's WriteTimeout, which has passed here before
// the handler is called.
func TestPatient(t *testing.T) {
	for _, test := range []struct {
		name string
		wrap func(http.HandlerFunc) http.HandlerFunc
		want string
	}{
		{"patient", access.Patient, "first, last"},
		{"as the server has it", func(h http.HandlerFunc) http.HandlerFunc { return h }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(test.wrap(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "first")
				_ = http.NewResponseController(w).Flush()
				_, _ = io.WriteString(w, ", last")
			}))
			server.Config.WriteTimeout = 1
			server.Start()
			defer server.Close()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			var body []byte
			resp, err := server.Client().Do(r)
			if err == nil {
				body, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if string(body) != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%q %v, want %q", body, err, test.want)
			}
		})
	}
}

// deadlines keeps the deadlines that are set while the response is written.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

func (d *deadlines) Write([]byte) (int, error) {
	if d.set[len(d.set)-1].IsZero() {
		return 0, errors.New("a write without a time limit")
	}
	return 0, os.ErrDeadlineExceeded
}

func (d *deadlines) FlushError() error {
	_, err := d.Write(nil)
	return err
}

// A write to a client that does not read ends, also the last one, which the server
// does.
func TestPatient_LimitsEachWrite(t *testing.T) {
	d := &deadlines{ResponseWriter: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
	access.Patient(func(w http.ResponseWriter, _ *http.Request) {
		if !d.set[len(d.set)-1].IsZero() {
			t.Error("waiting has a time limit")
		}
		if _, err := w.Write(nil); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %v", err)
		}
		if err := http.NewResponseController(w).Flush(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("flush: %v", err)
		}
		if !d.set[len(d.set)-1].IsZero() {
			t.Error("waiting between writes has a time limit")
		}
	})(d, r)
	if d.set[len(d.set)-1].IsZero() {
		t.Error("the end of the response has no time limit")
	}
}
