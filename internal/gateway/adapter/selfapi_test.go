package adapter_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/protocol"
)

// A handler that panics makes the request fail, as over a network.
func TestNew_HandlerPanics(t *testing.T) {
	bug := errors.New("a defect")
	for _, test := range []struct {
		name   string
		part   string
		panics error
		logged bool
	}{
		{"aborted after a part", `{"envelopes":[`, http.ErrAbortHandler, false},
		{"aborted before", "", http.ErrAbortHandler, false},
		{"a defect", "", bug, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if test.part != "" {
					_, _ = io.WriteString(w, test.part)
				}
				panic(test.panics)
			})
			c, err := adapter.NewClient(handler, httptest.NewRequest(http.MethodPost, "/mcp", nil), "token", slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if page, err := c.Envelopes(t.Context(), "lab", api.EnvelopeQuery{}); err == nil {
				t.Errorf("a page: %v", page)
			} else if code := protocol.AsError(err).Code; (code == protocol.CodeUnavailable) == test.logged {
				t.Errorf("the code is %s; unavailable is expected unless the handler has a defect", code)
			}
			if err := c.Events(t.Context(), "lab", api.EnvelopeQuery{Since: protocol.Seq(1)}, func(*api.Event) bool { return true }); err == nil {
				t.Error("the events ended without an error")
			}
			if logged := strings.Contains(log.String(), "selfapi_test.go"); logged != test.logged {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

// A request that ends before its answer may be sent again: it is no fault of the API.
func TestNew_RequestEnds(t *testing.T) {
	begun := make(chan struct{}, 1)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
	})
	c, err := adapter.NewClient(handler, httptest.NewRequest(http.MethodPost, "/mcp", nil), "token", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, call := range map[string]func(context.Context) error{
		"a page": func(ctx context.Context) error {
			_, err := c.Envelopes(ctx, "lab", api.EnvelopeQuery{})
			return err
		},
		"events": func(ctx context.Context) error {
			return c.Events(ctx, "lab", api.EnvelopeQuery{}, func(*api.Event) bool { return true })
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		if err := call(ctx); protocol.AsError(err).Code != protocol.CodeUnavailable || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want unavailable and canceled", name, err)
		}
	}
}
