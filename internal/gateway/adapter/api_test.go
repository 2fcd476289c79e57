package adapter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/protocol"
)

// operations is an API whose operations end as told.
type operations struct {
	tokens
	send    func(draft []byte) (api.Receipt, error)
	handler http.HandlerFunc
}

func (o operations) Send(_ context.Context, _ access.Bearer, _ string, draft []byte) (api.Receipt, error) {
	return o.send(draft)
}

func (o operations) Await(ctx context.Context, _ access.Bearer, _ string, _ api.EnvelopeQuery) (*api.Envelopes, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (o operations) ServeHTTP(w http.ResponseWriter, r *http.Request) { o.handler(w, r) }

// open returns a request with a token to an API.
func open(t *testing.T, a adapter.API, log *slog.Logger) *adapter.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer good")
	q, err := adapter.NewGate(adapter.Options{API: a, Logger: log}).Open(httptest.NewRecorder(), r, "lab", 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// An envelope of which the log does not know whether it has it is sent again with the same id.
func TestRequest_SendAgain(t *testing.T) {
	var first, again string
	q := open(t, operations{
		send: func(draft []byte) (api.Receipt, error) {
			first = string(draft)
			return api.Receipt{}, protocol.Errorf(protocol.CodeOutcomeUnknown, "unknown")
		},
		handler: func(w http.ResponseWriter, r *http.Request) {
			var body bytes.Buffer
			_, _ = body.ReadFrom(r.Body)
			again = body.String()
			_, _ = fmt.Fprint(w, `{"seq":7}`)
		},
	}, slog.New(slog.DiscardHandler))
	receipt, err := q.Send(t.Context(), "lab", protocol.Envelope{Kind: protocol.KindChat, Payload: []byte(`{"message":"hello"}`)})
	if err != nil || receipt.Seq != 7 || receipt.ID == "" || first != again || !strings.Contains(again, string(receipt.ID)) {
		t.Errorf("%+v, %v; sent %s, then %s", receipt, err, first, again)
	}
}

// An operation that fails names what it was for, and says whether it may be asked for again.
func TestRequest_Fails(t *testing.T) {
	for _, c := range []struct {
		name   string
		send   func([]byte) (api.Receipt, error)
		code   protocol.Code
		logged bool
	}{
		{"refused", func([]byte) (api.Receipt, error) {
			return api.Receipt{}, protocol.Errorf(protocol.CodeCapabilityViolation, "no")
		}, protocol.CodeCapabilityViolation, false},
		{"refused for a reason of the gateway", func([]byte) (api.Receipt, error) {
			return api.Receipt{}, access.LogUnavailable(errors.New("open /var/lib/meup: a reason"))
		}, protocol.CodeUnavailable, false},
		{"a defect", func([]byte) (api.Receipt, error) { panic("a defect") }, protocol.CodeInternal, true},
		{"aborted", func([]byte) (api.Receipt, error) { panic(http.ErrAbortHandler) }, protocol.CodeUnavailable, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			q := open(t, operations{send: c.send}, slog.New(slog.NewTextHandler(&log, nil)))
			receipt, err := q.Send(t.Context(), "lab", protocol.Envelope{Kind: protocol.KindChat})
			if err == nil || protocol.AsError(err).Code != c.code || !strings.HasPrefix(err.Error(), "send chat: ") || receipt.ID == "" {
				t.Errorf("%+v, %v", receipt, err)
			}
			if strings.Contains(err.Error(), "a reason") {
				t.Errorf("the client gets what is for the log: %v", err)
			}
			if (log.Len() > 0) != c.logged {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

// A wait that ends with its request is no fault of the API.
func TestRequest_AwaitEnds(t *testing.T) {
	q := open(t, operations{}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Await(ctx, "lab", api.EnvelopeQuery{}); protocol.AsError(err).Code != protocol.CodeUnavailable || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want unavailable and canceled", err)
	}
}
