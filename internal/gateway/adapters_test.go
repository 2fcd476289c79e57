package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/meuptest"
)

// /mcp and hooks may wait longer than the server's WriteTimeout, which has passed
// here before they are called.
func TestAdapters_Wait(t *testing.T) {
	g := meuptest.Start(t, mcpConfig)
	server := httptest.NewUnstartedServer(g.Gateway())
	server.Config.WriteTimeout = 1
	server.Start()
	defer server.Close()
	for path, body := range map[string]string{
		"/mcp?space=lab":               `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		"/api/spaces/lab/hooks/claude": `{"session_id":"s","hook_event_name":"SessionStart"}`,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer bob-token")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s %v", path, resp.StatusCode, text, err)
		}
		_ = resp.Body.Close()
	}
}

// Only the configured adapters are served and listed.
func TestAdapters_Configured(t *testing.T) {
	for _, adapters := range [][]string{{}, {"mcp"}, {"hooks"}, nil} {
		yaml := mcpConfig
		if adapters != nil {
			yaml += "adapters: [" + strings.Join(adapters, ", ") + "]\n"
		}
		g := meuptest.Start(t, yaml)
		cfg, _ := config.Parse("test.yaml", []byte(yaml), os.LookupEnv, os.ReadFile)
		for path, name := range map[string]string{"/mcp?space=lab": "mcp", "/api/spaces/lab/hooks/claude": "hooks"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			served := adapters == nil || slices.Contains(adapters, name)
			if got := resp.StatusCode != http.StatusNotFound; got != served {
				t.Errorf("%v: %s is served: %v", adapters, path, got)
			}
			listed := strings.Join(gateway.Adapters(cfg), " ")
			path, _, _ = strings.Cut(path, "?")
			if strings.Contains(listed, strings.Replace(path, "lab", "{space}", 1)) != served {
				t.Errorf("%v are listed as %s", adapters, listed)
			}
		}
	}
}
