package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The numbers of a log message stay as the server wrote them.
func TestPass_LogMessage(t *testing.T) {
	const data = `{"id":9007199254740993,"n":1.0}`
	got := ""
	notice := func(_ string, params mcp.Params) {
		text, err := json.Marshal(params)
		if err != nil {
			t.Error(err)
		}
		got = string(text)
	}
	pass(&jsonrpc.Request{Method: logMessage, Params: json.RawMessage(`{"level":"info","data":` + data + `}`)}, notice)
	if want := `{"data":` + data + `,"level":"info"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A call ends at its time also if the server does not read it, and so does the session.
func TestTapped_ServerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		go func() { // reads until initialized
			in := json.NewDecoder(there)
			for {
				var m struct {
					ID     json.RawMessage
					Method string
				}
				if err := in.Decode(&m); err != nil || m.Method == "notifications/initialized" {
					return
				}
				response := `"error":{"code":-32601,"message":"no such method"}`
				if m.Method == "initialize" {
					response = `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"deaf","version":"1"}}`
				}
				_, _ = fmt.Fprintf(there, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, response)
			}
		}()
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), tapped{Transport: over(here)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "x"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the call ended with %v, want %v", err, context.DeadlineExceeded)
			}
			cancel()
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
}

// An event is found however the stream is divided; one that is too long is skipped.
func TestNoticesInBodies(t *testing.T) {
	const notice = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"p\",\"progress\":1}}"
	stream := "id: 1\r\ndata: {}\r\n\r\n" + notice + "\n\ndata: " + strings.Repeat("x", maxLine) + "notifications/progress\n\n" + notice + "\r\n\r\n" + notice
	for _, size := range []int{1, 7, 4096, len(stream)} {
		count := 0
		body := &eventBody{notice: func(string, mcp.Params) { count++ }}
		text := stream
		if size < 4096 { // the long event would take long
			text = strings.Replace(stream, strings.Repeat("x", maxLine), "", 1)
		}
		body.ReadCloser = io.NopCloser(strings.NewReader(text))
		var out bytes.Buffer
		if _, err := io.CopyBuffer(struct{ io.Writer }{&out}, struct{ io.Reader }{body}, make([]byte, size)); err != nil || out.String() != text {
			t.Errorf("in pieces of %d: %v, and the stream is changed: %d bytes of %d", size, err, out.Len(), len(text))
		}
		if count != 2 {
			t.Errorf("in pieces of %d: %d notifications; expected the 2 complete ones", size, count)
		}
	}
}

// An event is passed on at its end, however the lines of the stream end.
func TestEventBody_EndsOfLines(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\n\r\n", "\r\n\n"} {
		event := `data: {"jsonrpc":"2.0","id":1,"result":{}}` + end
		r, w := io.Pipe()
		go func() {
			_, _ = io.Copy(w, iotest.OneByteReader(strings.NewReader(event)))
			_ = w.CloseWithError(errors.New("the event was not passed on before more was read"))
		}()
		body := &eventBody{ReadCloser: r, notice: func(string, mcp.Params) {}}
		if n, err := body.Read(make([]byte, len(event))); n != len(event) || err != nil {
			t.Errorf("lines that end with %q: %d of %d bytes, %v", end, n, len(event), err)
		}
	}
}

func TestResultsInBodies(t *testing.T) {
	for _, test := range []struct {
		body   string
		events bool
		want   string
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{"n":1e400}}`, false, `{"n":1e400}`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`, false, ``},
		{"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\ndata: {\"jsonrpc\":\"2.0\",\ndata:\"id\":1,\"result\":{}}\n\n", true, `{}`},
		{"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\r\n", true, `{}`},
		{"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"res", true, ``},
		{``, true, ``},
	} {
		body := &tee{kept: []byte(test.body), events: test.events}
		if got := string(body.response()); got != test.want {
			t.Errorf("%q: %q", test.body, got)
		}
	}
}

func FuzzResultsInBodies(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), false)
	f.Add([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"), true)
	f.Fuzz(func(t *testing.T, body []byte, events bool) {
		if got := (&tee{kept: body, events: events}).response(); len(got) > len(body) {
			t.Errorf("%d bytes out of %d", len(got), len(body))
		}
	})
}
