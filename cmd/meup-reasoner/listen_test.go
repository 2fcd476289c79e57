package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/reasoner/httpapi"
)

// TestListener_Limit checks that connections above the limit wait, and
// are accepted later.
func TestListener_Limit(t *testing.T) {
	const most, all = 2, 10
	var mu sync.Mutex
	var now, peak int
	begun, release := make(chan struct{}, all), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		now++
		peak = max(peak, now)
		mu.Unlock()
		begun <- struct{}{}
		<-release
		mu.Lock()
		now--
		mu.Unlock()
		w.Header().Set("Connection", "close")
	})
	var list servers
	if err := list.add(t.Context(), "listen", "127.0.0.1:0", handler, most, time.Minute, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	used := list[0].listener.Addr().String()
	if err := list.add(t.Context(), "listen", used, handler, most, time.Minute, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "choose another address with --listen") {
		t.Errorf("an address in use: %v", err)
	}
	if list[0].ReadTimeout != httpapi.BodyTimeout {
		t.Errorf("a body may take %v", list[0].ReadTimeout)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var serving, asking sync.WaitGroup
	serving.Go(func() {
		if err := list.serve(ctx, time.Minute, slog.New(slog.DiscardHandler)); err != nil {
			t.Error(err)
		}
	})
	for range all {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", list.addresses()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		asking.Go(func() {
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Error(err)
			}
			_ = c.Close()
		})
	}
	for range most {
		<-begun
	}
	for range 10_000 {
		runtime.Gosched() // lets the other goroutines start
	}
	close(release)
	asking.Wait()
	mu.Lock()
	if peak != most {
		t.Errorf("%d connections at the same time", peak)
	}
	mu.Unlock()
	cancel()
	serving.Wait()
}
