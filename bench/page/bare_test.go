package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/webtest"
)

// barePage appends the text of each envelope, keeps as many lines as the real
// page draws at most, and counts.
const barePage = `<!doctype html><meta charset="utf-8"><title>bare</title><link rel="icon" href="data:,"><div id="log" style="height:100vh;overflow:auto"></div><script>
window.got = 0;
const log = document.getElementById("log");
const ws = new WebSocket("ws://" + location.host + "/ws");
let waiting = [];
const draw = () => {
  for (const e of waiting) { const p = document.createElement("p"); p.dataset.id = e.id; p.append(e.from + ": " + (e.payload.message ?? JSON.stringify(e.payload))); log.append(p); }
  waiting = [];
  while (log.childElementCount > 500) log.firstElementChild.remove();
  log.scrollTop = log.scrollHeight;
};
ws.onmessage = (m) => { const e = JSON.parse(m.data); if (e.seq === undefined) return; window.got++; if (waiting.push(e) === 1) requestAnimationFrame(draw); };
</script>`

// bare serves the bare page. It forwards one participant's envelopes from a
// gateway to all its pages.
type bare struct {
	*httptest.Server
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func serveBare(b *testing.B, s *webtest.Stage) *bare {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	x := &bare{cancel: cancel}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(barePage))
	})
	mux.HandleFunc("GET /ws", func(w http.ResponseWriter, r *http.Request) {
		x.running.Add(1)
		defer x.running.Done()
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		from, _, err := websocket.Dial(ctx, s.Gateway.URL(webtest.StageSpace)+"&since=0", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer ada-token"}}})
		if err != nil {
			return
		}
		defer from.CloseNow()
		from.SetReadLimit(4 << 20)
		for {
			kind, frame, err := from.Read(ctx)
			if err != nil || ws.Write(ctx, kind, frame) != nil {
				return
			}
		}
	})
	x.Server = httptest.NewServer(mux)
	return x
}

// end waits until no page is served.
func (x *bare) end() {
	x.cancel()
	x.running.Wait()
	x.Close()
}
