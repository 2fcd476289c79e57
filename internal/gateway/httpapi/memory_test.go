package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

const mib = 1 << 20

// repeated is a body of n bytes: begin, text repeatedly, end. It is made about as fast as it is
// sent: the gateway reads the rest of a body that it refuses for 5 s, and then resets the
// connection.
type repeated struct {
	begin, text, end string
	n, at            int
	block            string // of text
}

func (r *repeated) Read(p []byte) (n int, err error) {
	if r.block == "" {
		r.block = strings.Repeat(r.text, 32<<10)
	}
	switch end := r.n - len(r.end); {
	case r.at == r.n:
		return 0, io.EOF
	case r.at < len(r.begin):
		n = copy(p, r.begin[r.at:])
	case r.at < end:
		n = copy(p[:min(len(p), end-r.at)], r.block[(r.at-len(r.begin))%len(r.text):])
	default:
		n = copy(p, r.end[r.at-end:])
	}
	r.at += n
	return n, nil
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The memory of a request depends neither on the size of its array nor on the
// size of the elements.
func TestSend_MemoryOfArrays(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	for _, c := range []struct {
		name   string
		body   repeated
		status int
		most   uint64
	}{
		{"elements", repeated{begin: "[0", text: ",0", end: "]", n: 32*mib - 1}, 400, 4 * mib},
		{"element", repeated{begin: "[[0", text: ",0", end: "]]", n: 32*mib - 1}, 413, 8 * mib},
		{"space", repeated{begin: "[0", text: " ", end: "]", n: 32 * mib}, 400, 4 * mib},
		{"nested", repeated{begin: "[", text: "[", end: "]", n: 32 * mib}, 400, 8 * mib},
		{"single", repeated{begin: `{"kind":"x.y","payload":{"a":[0`, text: ",0", end: "]}}", n: 32*mib - 1}, 413, 8 * mib},
		{"longest", repeated{begin: `{"kind":"x.y","payload":{"a":[0`, text: ",0", end: "]}}", n: 1*mib - 1}, 400, 48 * mib},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Without a network, over which a server discards the rest of a body for a time only.
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/spaces/lab/envelopes", &c.body)
			r.Host = "localhost"
			r.ContentLength = int64(c.body.n)
			r.Header.Set("Authorization", "Bearer alice-token")
			got := allocated(func() { g.Gateway().ServeHTTP(w, r) })
			if w.Code != c.status {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if t.Logf("%d KiB", got>>10); got > c.most {
				t.Errorf("%d bytes were allocated, want at most %d", got, c.most)
			}
		})
	}
}

// A message that is too long is refused as such, also if its rest does not arrive: the
// server cancels the context of a request whose body it cannot read.
func TestSend_TooLongIncomplete(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	for range 10 { // one in two was answered with 400
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.HTTP(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		long := strings.Repeat("x", 1<<20)
		if _, err := fmt.Fprintf(conn, "POST /api/spaces/lab/envelopes HTTP/1.1\r\nHost: lab\r\nAuthorization: Bearer alice-token\r\nContent-Length: %d\r\n\r\n{\"kind\":\"x.y\",\"payload\":{\"a\":\"%s", 4*len(long), long); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer := text(t, resp); resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Fatalf("status %d: %s, want 413", resp.StatusCode, answer)
		}
	}
}

// Beyond a mebibyte the elements before an error are admitted, and the error is
// the last result.
func TestSend_LargeArrayStreams(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	var body bytes.Buffer
	body.WriteByte('[')
	for i := range 6 {
		fmt.Fprintf(&body, `{"id":"e%d","kind":"x.y","payload":{"a":%q}},`, i, strings.Repeat("x", 300_000))
	}
	body.WriteString(`7,{"id":"last"`)
	resp := ask(t, g, http.MethodPost, "/api/spaces/lab/envelopes", body.String())
	var answers []struct {
		ID    string
		Seq   uint64
		Error string
	}
	answer := text(t, resp)
	if err := json.Unmarshal([]byte(answer), &answers); err != nil || resp.StatusCode != http.StatusMultiStatus || len(answers) != 8 {
		t.Fatalf("%d %s: %v", resp.StatusCode, answer, err)
	}
	for i, a := range answers[:6] {
		if a.ID != fmt.Sprint("e", i) || a.Seq != uint64(i+1) {
			t.Errorf("answer %d: %+v", i, a)
		}
	}
	if answers[6].Error != "invalid_envelope" || answers[7].Error != "invalid_json" {
		t.Errorf("%+v", answers[6:])
	}
}

// fill adds n envelopes of size bytes to the log.
func fill(t *testing.T, g *meuptest.Gateway, n, size int) {
	t.Helper()
	for range n {
		body := fmt.Sprintf(`{"kind":"x.y","payload":{"a":%q}}`, strings.Repeat("x", size))
		if resp := ask(t, g, http.MethodPost, "/api/spaces/lab/envelopes", body); resp.StatusCode != http.StatusOK {
			t.Fatal(text(t, resp))
		}
	}
}

// Pages that are not read use a bounded part of the memory, and other requests
// are still served.
func TestHistory_MemoryOfUnreadPages(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	fill(t, g, 16, 900_000)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, served, refused := heap(), 0, 0
	for i := range 60 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", g.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		accept := []string{"application/json", "application/jsonl"}[i%2]
		fmt.Fprintf(c, "GET /api/spaces/lab/envelopes?limit=1000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\nAccept: %s\r\n\r\n", accept)
		resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
		if err != nil {
			t.Fatal(err)
		}
		switch resp.StatusCode {
		case http.StatusOK:
			served++
		case http.StatusTooManyRequests:
			refused++
		default:
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if served < 4 || served > 16 || served+refused != 60 {
		t.Errorf("%d pages were served and %d refused", served, refused)
	}
	if grown := heap() - before; testkit.IsSlow() && grown > 64*mib {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.HTTP()+"/api/spaces/lab/envelopes?limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer bob-token")
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("another participant: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

// A page that is written in parts is identical to one written at once.
func TestHistory_LargePages(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	const n = 12
	fill(t, g, n, 100_000)
	for _, query := range []string{"?limit=12", "?limit=11", "?order=desc", "?order=desc&limit=7", "?limit=1"} {
		t.Run(query, func(t *testing.T) {
			var page struct {
				Envelopes []struct{ Seq uint64 }
				Next      uint64
				HasMore   bool `json:"has_more"`
			}
			if err := json.Unmarshal([]byte(text(t, ask(t, g, http.MethodGet, "/api/spaces/lab/envelopes"+query, ""))), &page); err != nil {
				t.Fatal(err)
			}
			resp := ask(t, g, http.MethodGet, "/api/spaces/lab/envelopes"+query, "", "Accept", "application/jsonl")
			lines := strings.Split(strings.TrimSuffix(text(t, resp), "\n"), "\n")
			if resp.Header.Get("Meup-Next") != fmt.Sprint(page.Next) || resp.Header.Get("Meup-Has-More") != fmt.Sprint(page.HasMore) {
				t.Errorf("%v, and the object has %d, %t", resp.Header, page.Next, page.HasMore)
			}
			if len(lines) != len(page.Envelopes) || page.HasMore != (len(lines) < n) {
				t.Fatalf("%d lines, %d envelopes, more: %t", len(lines), len(page.Envelopes), page.HasMore)
			}
			for i, line := range lines {
				var e struct{ Seq uint64 }
				if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != page.Envelopes[i].Seq {
					t.Errorf("line %d: %v", i, err)
				}
			}
			if last := page.Envelopes[len(page.Envelopes)-1].Seq; page.Next != last {
				t.Errorf("next is %d behind %d", page.Next, last)
			}
		})
	}
}

// A participant that only reads is rate limited.
func TestReads_RateLimited(t *testing.T) {
	g := meuptest.Start(t, `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"], limits: {rate: 1, burst: 1}}
`)
	begun := time.Now()
	for i := range 5000 {
		// Without a network, over which a busy machine makes fewer requests than are permitted again.
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/spaces/lab/participants", http.NoBody)
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer alice-token")
		g.Gateway().ServeHTTP(w, r)
		if w.Code == http.StatusTooManyRequests {
			if i < 200 || !strings.Contains(w.Body.String(), `"limit":"requests"`) || w.Header().Get("Retry-After") == "" {
				t.Errorf("request %d: %s", i, w.Body)
			}
			return
		}
	}
	t.Errorf("5,000 requests in %v were all answered", time.Since(begun))
}
