package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/web"
	"github.com/meup-protocol/meup/protocol"
)

var (
	linkLine  = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#code=(\w+)`)
	tokenLine = regexp.MustCompile(`export TOKEN=(\S+)`)
)

// The link of a demo signs one browser in, once, and contains no token.
func TestDemoLink(t *testing.T) {
	site, err := web.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { // ends with ctx; waited for below
		ended <- demo(ctx, demoFlags{listen: "127.0.0.1:0", mcp: "go", docs: t.TempDir(), model: "rules", level: "error"}, w, io.Discard)
		_ = w.Close()
	}()
	said := readUntil(t, r, "Ctrl-C ends the demo")
	link := linkLine.FindStringSubmatch(said)
	switch {
	case site == nil && link != nil:
		t.Errorf("a link to a page that is not there: %s", link[0])
	case site != nil && link == nil:
		t.Errorf("no link: %s", said)
	case link != nil:
		tryLink(t, link, tokenLine.FindStringSubmatch(said)[1])
	}
	cancel()
	go io.Copy(io.Discard, r) //nolint:errcheck // the rest of the output, until the demo has ended
	if err := <-ended; err != nil {
		t.Errorf("demo: %v", err)
	}
}

func tryLink(t *testing.T, link []string, token string) {
	t.Helper()
	if strings.Contains(link[0], token) {
		t.Errorf("the token is in the link %s", link[0])
	}
	address, _, _ := strings.Cut(link[0], "#")
	if resp := request(t, http.MethodGet, address, ""); resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page: %s", resp.Status)
	}
	code := `{"code": "` + link[1] + `"}`
	if resp := request(t, http.MethodPost, address+"api/session", code); resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 1 {
		t.Errorf("the code: %s", resp.Status)
	}
	if resp := request(t, http.MethodPost, address+"api/session", code); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the code again: %s", resp.Status)
	}
}

func request(t *testing.T, method, address, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}

// readUntil reads the output of a demo up to a text.
func readUntil(t *testing.T, r io.Reader, text string) string {
	t.Helper()
	var said strings.Builder
	for block := make([]byte, 4096); !strings.Contains(said.String(), text); {
		n, err := r.Read(block)
		said.Write(block[:n])
		if err != nil {
			t.Fatalf("the demo ended: %v: %s", err, said.String())
		}
	}
	return said.String()
}

func TestDemoAsk_HostileText(t *testing.T) {
	text, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	s := &demoEnv{out: &out}
	for _, e := range []protocol.Envelope{
		{Kind: protocol.KindChat, From: "guide", Payload: fmt.Appendf(nil, `{"message":%s}`, text)},
		{Kind: "x.kind", From: "guide", Payload: fmt.Appendf(nil, `{"a":"%s"}`, strings.ReplaceAll(hostile, "\x1b", ""))},
		{Kind: protocol.KindMCPRequest, From: "guide", Payload: fmt.Appendf(nil, `{"method":"tools/call","params":{"name":%s,"arguments":{"a":%[1]s}}}`, text)},
		{Kind: protocol.KindMCPResponse, From: "guide", Payload: fmt.Appendf(nil, `{"result":{"content":[{"type":"text","text":%s}]}}`, text)},
		{Kind: protocol.KindMCPResponse, From: "guide", Payload: fmt.Appendf(nil, `{"error":{"code":1,"message":%s}}`, text)},
	} {
		s.print(&e)
	}
	wantSafe(t, "demo --ask", out.String())
	if strings.Count(out.String(), "guide: ") != 5 {
		t.Errorf("%+q", out.String())
	}
}
