package selfapi_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/selfapi"
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
			c, err := selfapi.New(handler, httptest.NewRequest(http.MethodPost, "/mcp", nil), "token", slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if page, err := c.Envelopes(t.Context(), "lab", api.EnvelopeQuery{}); err == nil {
				t.Errorf("a page: %v", page)
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
