//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

const fillBatch, questions = 250, 300 // envelopes, searches

// searchLog fills a log with n chats while the index follows, waits until the index has
// all of them, and searches over HTTP for two words, one request after the other.
func searchLog(n int) func(s *process, o *options) (figures, error) {
	return func(s *process, _ *options) (figures, error) {
		w := newTextSource()
		fill, err := s.fillChats(n, w)
		if err != nil {
			return nil, err
		}
		begun := time.Now()
		for state := (found{Head: 1}); state.Indexed < state.Head; {
			state, err = s.search("bani")
			if err != nil {
				return nil, err
			}
		}
		f := figures{"fill": fill, "catchup": time.Since(begun).Seconds()}
		var took []time.Duration
		hits := 0
		for range questions {
			query := w.pair()
			from := time.Now()
			found, err := s.search(query)
			if err != nil {
				return nil, err
			}
			took = append(took, time.Since(from))
			hits += len(found.Hits)
		}
		if hits == 0 {
			return nil, errors.New("no search has a hit")
		}
		slices.Sort(took)
		f["p50"], f["p99"] = quantile(took, 0.50), quantile(took, 0.99)
		return f, s.disk(f, n)
	}
}

// fillChats writes n chats with texts of words, and returns the envelopes per second.
func (s *process) fillChats(n int, w *textSource) (float64, error) {
	cr, err := gather(s, []seat{{"bench", participantName(0), ""}})
	if err != nil {
		return 0, err
	}
	defer cr.close()
	begun := time.Now()
	for cr.sent < n {
		var frames bytes.Buffer
		for range fillBatch {
			frames.Write(clientFrames(fmt.Appendf(nil, `{"kind":"chat","payload":{"message":%q}}`, w.text()), 1))
		}
		cr.sent += fillBatch
		if err := errors.Join(cr.conns[0].write(frames.Bytes()), cr.drain(cr.visit)); err != nil {
			return 0, err
		}
	}
	return float64(cr.sent) / time.Since(begun).Seconds(), nil
}

// found is the part of a search's response that is measured.
type found struct {
	Hits          []json.RawMessage `json:"hits"`
	Indexed, Head uint64
}

// search searches the space. It waits until the index was built once.
func (s *process) search(query string) (out found, err error) {
	address := "http://" + s.address + "/api/spaces/bench/search?limit=20&q=" + url.QueryEscape(query)
	for late := after(10 * time.Minute); ; {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
		if err != nil {
			return out, err
		}
		r.Header.Set("Authorization", "Bearer "+token(participantName(0)))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return out, err
		}
		text, err := io.ReadAll(resp.Body)
		err = cmp.Or(err, resp.Body.Close())
		if err == nil && resp.StatusCode == http.StatusOK {
			err = json.Unmarshal(text, &out)
			return out, err
		}
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || late() {
			return out, errors.Join(err, fmt.Errorf("search: %s: %.300s", resp.Status, text))
		}
		time.Sleep(100 * time.Millisecond)
	}
}
