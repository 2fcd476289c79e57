package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// seen holds the fields of a frame that these tests check.
type seen struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Seq     uint64 `json:"seq"`
	Payload struct {
		Error string `json:"error"`
	} `json:"payload"`
}

// dial connects a participant to the space lab.
func dial(t *testing.T, g *meuptest.Gateway, who, query string) *websocket.Conn {
	t.Helper()
	ws, err := tryDial(g, who, query)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

// dialSlow is dial of a client whose system stores little that it has not read.
func dialSlow(t *testing.T, g *meuptest.Gateway, who, query string) *websocket.Conn {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(256 << 10) // a few segments: with fewer it would wait for timers
		}
		return c, err
	}}
	ws, err := dialOver(transport, g, who, query)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

func tryDial(g *meuptest.Gateway, who, query string) (*websocket.Conn, error) {
	return dialOver(http.DefaultTransport, g, who, query)
}

func dialOver(transport http.RoundTripper, g *meuptest.Gateway, who, query string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, g.URL("lab")+"&"+query, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + who + "-token"}},
	})
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("dial: %w (%d)", err, resp.StatusCode)
		}
		return nil, err
	}
	ws.SetReadLimit(-1)
	return ws, nil
}

func next(t *testing.T, ws *websocket.Conn) seen {
	t.Helper()
	s, err := tryNext(ws)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryNext(ws *websocket.Conn) (seen, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	var s seen
	_, frame, err := ws.Read(ctx)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(frame, &s)
}

// chatFrame is a chat of about size bytes.
func chatFrame(id string, size int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"kind":"chat","payload":{"message":%q}}`, id, strings.Repeat("x", max(0, size-60)))
}

// TestSlowReader stops reading while megabytes are delivered, 48 of them with make slow. No
// other member waits. When it reads again, it receives all of them. The gateway does not
// buffer them, which the heap shows with make slow.
func TestSlowReader(t *testing.T) {
	const size = 4000
	count := 2000
	if testkit.IsSlow() {
		count = 12_000
	}
	g := meuptest.Start(t, "idle_timeout: 0\n"+meuptest.Config) // otherwise a slow machine closes the slow reader
	quick := dial(t, g, "bob", "")
	next(t, quick)                        // the welcome
	flow(t, g, quick, "n", count/2, size) // ring and log have reached their working size
	before := heap()
	slow := dialSlow(t, g, "bob", "")
	next(t, slow)
	flow(t, g, quick, "m", count, size)
	after := heap()
	t.Logf("heap %d kB before, %d kB after %d kB that nobody has read", before>>10, after>>10, count*size>>10)
	if testkit.IsSlow() && after > before+uint64(count*size*2/3) { // a third is for the memory tables of the log, which are on the heap at times
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	receive(t, slow, "m", count)
}

// flow sends chats from alice and reads them with reader.
func flow(t *testing.T, g *meuptest.Gateway, reader *websocket.Conn, name string, count, size int) {
	t.Helper()
	var group sync.WaitGroup
	group.Go(func() { post(t, g, "alice", name, count, size) })
	defer group.Wait()
	receive(t, reader, name, count)
}

// post sends chats over HTTP, a hundred at a time.
func post(t *testing.T, g *meuptest.Gateway, who, name string, count, size int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for i := 0; i < count; i += 100 {
		var list [][]byte
		for j := i; j < i+100; j++ {
			list = append(list, chatFrame(fmt.Sprint(name, j), size))
		}
		body := fmt.Appendf(nil, "[%s]", bytes.Join(list, []byte(",")))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+"/api/spaces/lab/envelopes", bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+who+"-token")
		resp, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("status %d", resp.StatusCode)
			return
		}
	}
}

// receive reads the chats name0, name1, … of one sender and expects nothing
// else.
func receive(t *testing.T, ws *websocket.Conn, name string, count int) {
	t.Helper()
	last := uint64(0)
	for i := 0; i < count; {
		s := next(t, ws)
		if s.Kind == "system.presence" {
			continue
		}
		if s.ID != fmt.Sprint(name, i) || s.Seq <= last {
			t.Fatalf("got %s at %d behind %d, want %s%d", s.ID, s.Seq, last, name, i)
		}
		last = s.Seq
		i++
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestResume_DuringTraffic cuts a reader again and again while another
// participant sends. Wherever it resumes, nothing is missing or duplicated.
func TestResume_DuringTraffic(t *testing.T) {
	const count = 3000
	g := meuptest.Start(t, "ring: {entries: 16}\n"+meuptest.Config)
	alice := dial(t, g, "alice", "echo=false")
	next(t, alice)
	var group sync.WaitGroup
	group.Go(func() {
		for i := range count {
			if err := alice.Write(t.Context(), websocket.MessageText, chatFrame(fmt.Sprint("m", i), 100)); err != nil {
				t.Errorf("send: %v", err)
				return
			}
		}
	})
	defer group.Wait()
	for _, query := range []string{"dialect=meup/v0.1", "kinds=chat&dialect=meup/v0.1"} {
		group.Go(func() { resumeAgainAndAgain(t, g, query, count) })
	}
}

func resumeAgainAndAgain(t *testing.T, g *meuptest.Gateway, query string, count int) {
	last, want := uint64(0), 0
	for turn := 0; want < count; turn++ {
		ws, err := tryDial(g, "bob", fmt.Sprint(query, "&since=", last))
		if err != nil {
			t.Error(err)
			return
		}
		for n := 0; n < 50+turn%400 && want < count; n++ {
			s, err := tryNext(ws)
			if err != nil {
				t.Error(err)
				break
			}
			if s.Kind != "chat" {
				continue
			}
			if s.ID != fmt.Sprint("m", want) || s.Seq <= last {
				t.Errorf("got %s at %d behind %d, want m%d", s.ID, s.Seq, last, want)
				want = count
			}
			last = s.Seq
			want++
		}
		_ = ws.CloseNow()
	}
}

// A client that sends without reading its responses is slowed down to the rate
// at which it reads, here none: the gateway stops taking its frames, so that it uses no
// memory. It does not delay other members.
func TestFlood_WithoutReading(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(meuptest.Config, "rate: 100000", "rate: 100000000", 1)+"violations: {max: 0}\n")
	flood := dialSlow(t, g, "planner", "ack=true&echo=false")
	next(t, flood)
	var sending sync.WaitGroup
	defer sending.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sending.Go(func() { // ends with ctx
		for flood.Write(ctx, websocket.MessageText, []byte(`{"kind":"mcp.request","payload":{"method":"refused"}}`)) == nil {
			continue
		}
	})
	bob := dial(t, g, "bob", "")
	next(t, bob)
	taken := func() (n int) {
		_, text := ask(t, g, http.MethodGet, "/metrics", "", "")
		_, after, _ := strings.Cut(text, `meup_refused_total{code="capability_violation"} `)
		_, _ = fmt.Sscan(after, &n)
		return n
	}
	testkit.Eventually(t, "the flood begins", func() bool { return taken() > 0 })
	n, before := taken(), 0
	for sent := 0; n > before; n, before = taken(), n {
		for range 50 {
			id := fmt.Sprint("m", sent)
			if err := bob.Write(t.Context(), websocket.MessageText, chatFrame(id, 100)); err != nil {
				t.Fatal(err)
			}
			for next(t, bob).ID != id {
				continue
			}
			sent++
		}
		if n > 200_000 { // their responses are 40 megabytes
			t.Fatalf("%d frames were taken, and it still goes on", n)
		}
	}
	t.Logf("%d frames until the flood stood still", n)
}

// TestConnectDisconnect_NoLeaks connects and disconnects hundreds of times, thousands of times with make slow, with a close
// frame and by cutting the connection. TestMain detects leaked goroutines.
func TestConnectDisconnect_NoLeaks(t *testing.T) {
	const workers, allowed = 8, 8
	each := 50
	if testkit.IsSlow() {
		each = 1250
	}
	g := meuptest.Start(t, meuptest.Config)
	watcher := dial(t, g, "alice", "")
	next(t, watcher)
	openIndexes(t, g)
	goroutines := runtime.NumGoroutine()
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				if err := comeAndGo(g, i%3 == w%3); err != nil {
					t.Errorf("turn %d: %v", i, err)
					return
				}
			}
		})
	}
	group.Wait()
	testkit.Eventually(t, "the goroutines of the connections end", func() bool { return runtime.NumGoroutine() <= goroutines+allowed })
}

// openIndexes returns when the indexes of turns and of search are open and follow
// the space: their goroutines exist from then on.
func openIndexes(t *testing.T, g *meuptest.Gateway) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"threads", "search?q=x"} {
		testkit.Eventually(t, path+" is answered", func() bool {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.HTTP()+"/api/spaces/lab/"+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer alice-token")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		})
	}
}

// comeAndGo connects and leaves after the welcome: by a close frame, or by
// cutting the connection.
func comeAndGo(g *meuptest.Gateway, cut bool) error {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", g.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(testkit.Patience)); err != nil {
		return err
	}
	_, err = io.WriteString(conn, "GET /ws?space=lab HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer bob-token\r\n\r\n")
	if err != nil {
		return err
	}
	buf := make([]byte, 4096)
	got := ""
	for !strings.Contains(got, "system.welcome") {
		n, err := conn.Read(buf)
		if err != nil {
			return fmt.Errorf("%w behind %q", err, got)
		}
		got += string(buf[:n])
	}
	if cut {
		return nil
	}
	if _, err := conn.Write([]byte{0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8}); err != nil { // a close frame, 1000
		return err
	}
	for {
		if _, err := conn.Read(buf); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
