package mcpserver

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressToken is the field of _meta with which a client requests progress.
const progressToken = "progressToken"

// Report sends the progress of a request to its client.
type Report struct {
	session *mcp.ServerSession
	token   any

	mu   sync.Mutex
	last float64 // progress must increase
}

type key struct{}

// WithReport adds the report of a request, if its client wants one.
func WithReport(ctx context.Context, req mcp.Request, meta map[string]any) context.Context {
	session, ok := req.GetSession().(*mcp.ServerSession)
	if token := meta[progressToken]; ok && token != nil {
		return context.WithValue(ctx, key{}, &Report{session: session, token: token, last: -1})
	}
	return ctx
}

// ReportOf returns the report of a request; nil: its client wants none.
func ReportOf(ctx context.Context) *Report {
	r, _ := ctx.Value(key{}).(*Report)
	return r
}

// maxProgress bounds the progress that is passed on: higher ones are left for ticks.
const maxProgress = math.MaxFloat64 / 2

// Send sends a progress that is higher than the last one. The error of a client
// that is gone is ignored.
func (r *Report) Send(ctx context.Context, p *mcp.ProgressNotificationParams) {
	if p.Progress > maxProgress {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sendLocked(ctx, p)
}

func (r *Report) sendLocked(ctx context.Context, p *mcp.ProgressNotificationParams) {
	if p.Progress <= r.last {
		return
	}
	r.last, p.ProgressToken = p.Progress, r.token
	_ = r.session.NotifyProgress(ctx, p)
}

// tick sends that the request still waits, with the next number if a thousandth is too
// little to be one.
func (r *Report) tick(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := max(max(r.last, 0)+0.001, math.Nextafter(r.last, math.Inf(1)))
	r.sendLocked(ctx, &mcp.ProgressNotificationParams{Progress: next, Message: "waiting"})
}

// RepeatProgress sends progress at each interval until stop is called, if the client wants
// it.
func RepeatProgress(ctx context.Context, interval time.Duration) (stop func()) {
	r := ReportOf(ctx)
	if r == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // ends with ctx; stop waits for it
		defer close(done)
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				r.tick(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}
