package gateway

import (
	"context"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/protocol"
)

// While all slots are held, a large payload waits until its request ends; a
// small one is inspected at once.
func TestLargeInspections_WaitForASlot(t *testing.T) {
	r, err := newRedactor(config.Default(), NewMetrics(MetricsOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	payload := func(size int) protocol.Value {
		doc, refused := protocol.ParseJSON([]byte(`{"message":"`+strings.Repeat("x", size)+`"}`), protocol.MaxDepth)
		if refused != nil {
			t.Fatal(refused)
		}
		return doc.Root()
	}
	for range cap(r.slots) {
		r.slots <- struct{}{}
	}
	if _, err := r.Envelope(t.Context(), protocol.KindReasoningThought, payload(1000), protocol.Value{}); err != nil {
		t.Errorf("small: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Envelope(ended, protocol.KindReasoningThought, payload(smallInspection), protocol.Value{}); err == nil || protocol.AsError(err).Code != protocol.CodeUnavailable {
		t.Errorf("large: got %v", err)
	}
	for range cap(r.slots) {
		<-r.slots
	}
	if red, err := r.Envelope(t.Context(), protocol.KindReasoningThought, payload(smallInspection), protocol.Value{}); err != nil || red.Work < smallInspection {
		t.Errorf("with free slots: %v, %v", red.Work, err)
	}
	if len(r.slots) != 0 {
		t.Error("a slot was not given back")
	}
}
