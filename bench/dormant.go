//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// Parameters of the measurement of idle spaces.
const (
	dormantClients = 32
	dormantProbes  = 1000
	dormantAfter   = 11 * time.Minute // longer than a gateway keeps an idle space open
	dormantWriters = 1000             // since the spaces that one participant creates are limited
)

// dormantSpaces writes one envelope to each of many spaces, waits until the
// gateway has closed them, and measures the first request to some of them.
func dormantSpaces(spaces int) func(s *process, o *options) (figures, error) {
	return func(s *process, o *options) (figures, error) {
		before, err := s.memory("VmRSS")
		if err != nil {
			return nil, err
		}
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: dormantClients}}
		defer client.CloseIdleConnections()
		envelope := chat(256, "")
		g, ctx := errgroup.WithContext(context.Background())
		g.SetLimit(dormantClients)
		for i := range spaces {
			g.Go(func() error { return s.ask(ctx, client, http.MethodPost, dormantSeat(i, "envelopes"), envelope) })
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		used, err := s.memory("VmRSS")
		if err != nil {
			return nil, err
		}
		time.Sleep(dormantAfter)
		if err := s.heapInto(o.profileFile("dormant")); err != nil {
			return nil, err
		}
		now, memoryErr := s.memory("VmRSS")
		took := make([]time.Duration, min(dormantProbes, spaces))
		for i := range took {
			from := time.Now()
			if err := s.ask(context.Background(), client, http.MethodGet, dormantSeat(i*(spaces/len(took)), "envelopes?limit=1"), nil); err != nil {
				return nil, err
			}
			took[i] = time.Since(from)
		}
		slices.Sort(took)
		each := func(bytes int64) float64 { return float64(bytes-before) / 1000 / float64(spaces) }
		return figures{
			"open": each(used), "memory": each(now),
			"p50": quantile(took, 0.50), "p99": quantile(took, 0.99),
		}, memoryErr
	}
}

// dormantSeat is the writer of a space.
func dormantSeat(space int, resource string) seat {
	return seat{"s-" + strconv.Itoa(space), absentName(space % dormantWriters), resource}
}

// ask sends one request about a resource of a space, which is the query of the seat,
// and expects success.
func (s *process) ask(ctx context.Context, client *http.Client, method string, at seat, body []byte) error {
	url := "http://" + s.address + "/api/spaces/" + at.space + "/" + at.query
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token(at.participant))
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	err = errors.Join(err, response.Body.Close())
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s: %s", method, url, response.Status, text)
	}
	return err
}
