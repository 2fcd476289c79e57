package reasoner_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Errors for an invalid address do not disclose its password.
func TestNewQueue_PasswordNotDisclosed(t *testing.T) {
	for _, url := range []string{"nats://user:hush#hush@host:4222", "nats://user:hush%zz@host", "nats://a:1,nats://u:hush[@b:2"} {
		c, err := reasoner.NewQueue(reasoner.Options{NATSURL: url})
		if err == nil {
			_ = c.Close()
		}
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// All attempts of an asynchronous request have the same id, so that a queue
// treats them as one job; the caller's request is not modified.
func TestAsync_AttemptsShareID(t *testing.T) {
	var first atomic.Value
	url, calls := service(t, func(w http.ResponseWriter, r *http.Request) {
		var got wire.AgentIntentRequest
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || got.CorrelationID == "" {
			t.Errorf("got %+v, %v", got, err)
		}
		if first.CompareAndSwap(nil, got.CorrelationID) {
			answer(w, 503, wire.ErrorBody{Error: "overloaded"})
			return
		}
		if first.Load() != got.CorrelationID {
			t.Errorf("ids %v and %s", first.Load(), got.CorrelationID)
		}
		answer(w, 202, wire.Accepted{Status: "accepted", JobID: "j"})
	})
	r := request()
	r.CorrelationID = ""
	if _, err := newClient(t, reasoner.Options{URL: url}).AgentIntentAsync(t.Context(), r); err != nil || calls.Load() != 2 || r.CorrelationID != "" {
		t.Errorf("asked %d times, %q: %v", calls.Load(), r.CorrelationID, err)
	}
}
