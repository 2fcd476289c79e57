package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
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

// A participant that asks through adapters joins once, not with each request.
func TestAdapters_Presence(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	c := g.API(t, "watcher")
	watching, done := make(chan struct{}), make(chan struct{})
	var events []string // about the guest
	go func() {         // ends with the chat
		defer close(done)
		err := c.Events(t.Context(), "lab", api.EnvelopeQuery{}, func(e *api.Event) bool {
			switch {
			case strings.Contains(string(e.Data), `"system.welcome"`):
				close(watching)
			case e.Name == "presence" && strings.Contains(string(e.Data), `"id":"guest"`):
				events = append(events, string(e.Data))
			}
			return !strings.Contains(string(e.Data), "that is all")
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-watching
	var played sync.WaitGroup
	defer played.Wait()
	played.Go(func() { actor{t: t, g: g}.answers(false) })
	for range 3 {
		if status, out := runAGUI(t, g, "guest-token", fmt.Sprintf(aguiInput, "")); status != http.StatusOK {
			t.Fatal(status, out)
		}
	}
	call[told](t, mcpClientOf(t, g, "guest-token", mcpRevisions[0]), "wait", map[string]any{"seconds": 1, "kinds": []string{"x.none"}})
	actor{t: t, g: g}.does("alice", "end", "chat", "", "", "", `{"message":"that is all"}`)
	<-done
	if len(events) != 1 || !strings.Contains(events[0], `"event":"join"`) {
		t.Errorf("%q", events)
	}
}

// Only the configured adapters are served.
func TestAdapters_Configured(t *testing.T) {
	for _, adapters := range [][]string{{}, {"mcp"}, {"hooks"}, {"agui", "otlp"}, {"a2a", "openai"}, nil} {
		yaml := mcpConfig
		if adapters != nil {
			yaml += "adapters: [" + strings.Join(adapters, ", ") + "]\n"
		}
		g := meuptest.Start(t, yaml)
		for path, name := range map[string]string{
			"/mcp?space=lab": "mcp", "/api/spaces/lab/hooks/claude": "hooks", "/api/spaces/lab/agui": "agui",
			"/a2a/lab": "a2a", "/v1/responses": "openai", "/v1/traces": "otlp",
		} {
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
		}
	}
}

// Every adapter refuses requests without a token of the space, requests of pages that
// reach the gateway by another host name, and bodies without end, in the form of its
// protocol.
func TestAdapters_Refusals(t *testing.T) {
	cfg, _ := config.Parse("test.yaml", []byte(mcpConfig), os.LookupEnv, os.ReadFile)
	g := meuptest.Start(t, mcpConfig)
	paths := []string{"/api/spaces/{space}/hooks/claude?fail=open"} // a call is denied otherwise, with the status 200
	for _, r := range gateway.Routes(cfg) {
		if path, ok := strings.CutPrefix(r.Pattern, "POST "); ok {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		path = strings.NewReplacer("{space}", "attic", "{rest...}", "message:send", "/mcp", "/mcp?space=attic").Replace(path)
		for _, test := range []struct {
			name, token string
			header      []string
			length      int64
			statuses    []int
		}{
			{name: "no token", statuses: []int{http.StatusUnauthorized}},
			{name: "an unknown token", token: "no-such-token", statuses: []int{http.StatusUnauthorized}},
			{name: "a token of another space", token: "bob-token", statuses: []int{http.StatusForbidden, http.StatusNotFound}},
			{name: "another host name", token: "alice-token", header: []string{"Host", "evil.example:80"}, statuses: []int{http.StatusForbidden}},
			{name: "another origin", token: "alice-token", header: []string{"Origin", "https://evil.example"}, statuses: []int{http.StatusForbidden}},
			{name: "a cookie", header: []string{"Cookie", "meup_session=YWxpY2UtdG9rZW4"}, statuses: []int{http.StatusUnauthorized}},
			{name: "a long body", token: "alice-token", length: 1 << 40, statuses: []int{http.StatusRequestEntityTooLarge}},
			{name: "a body without end", token: "alice-token", length: -1, statuses: []int{http.StatusRequestEntityTooLarge}},
		} {
			if test.token == "bob-token" && !strings.Contains(path, "attic") {
				continue // the token names the space
			}
			t.Run(path+"/"+test.name, func(t *testing.T) {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+path, io.LimitReader(zeros{}, max(test.length, -test.length<<40, 2)))
				if err != nil {
					t.Fatal(err)
				}
				r.ContentLength = test.length
				if test.length == 0 {
					r.ContentLength = 2
				}
				for i := 0; i < len(test.header); i += 2 {
					r.Header.Set(test.header[i], test.header[i+1])
					if test.header[i] == "Host" {
						r.Host = test.header[i+1]
					}
				}
				if test.token != "" {
					r.Header.Set("Authorization", "Bearer "+test.token)
				}
				r.Header.Set("Content-Type", "application/json")
				resp, err := http.DefaultClient.Do(r)
				if err != nil && test.length != 0 {
					return // the gateway closed the connection before the client has read
				}
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if text, _ := io.ReadAll(resp.Body); !slices.Contains(test.statuses, resp.StatusCode) {
					t.Errorf("%d %s", resp.StatusCode, text)
				}
			})
		}
	}
}

// zeros is a text that does not end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
