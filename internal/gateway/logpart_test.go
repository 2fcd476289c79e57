package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

var logStart = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// minutes returns a log of the space lab with an entry a minute, by its kind: a chat, a grant, a
// proposal of 1 MiB, a hidden one, or one for bob.
func minutes(t *testing.T, kinds string) *journal.Memory {
	t.Helper()
	log := journal.NewMemory(journal.MemoryOptions{})
	log.Follow(func(string, []*journal.Entry) {}, nil)
	t.Cleanup(func() { _ = log.Close() })
	var state protocol.Seq
	for i, c := range kinds {
		d := journal.Draft{Envelope: protocol.Envelope{
			ID: protocol.ID(fmt.Sprint("e", i+1)), From: "alice", Kind: protocol.KindChat, TS: logStart.Add(time.Duration(i) * time.Minute), Payload: []byte(`{"text":"x"}`),
		}, CheckedAtStateSeq: state}
		switch c {
		case 'g':
			d.Envelope.Kind, d.State = protocol.KindCapabilityGrant, true
		case 'P':
			d.Envelope.Kind, d.Envelope.Payload = protocol.KindMCPProposal, []byte(`{"method":"`+strings.Repeat("x", 1<<20)+`"}`)
		case 'p':
			d.Envelope.Kind = protocol.KindMCPProposal
		case 'h':
			d.Hidden = true
		case 'b':
			d.Envelope.To = []protocol.ParticipantID{"bob"}
		}
		for _, r := range log.Append(t.Context(), "lab", []journal.Draft{d}) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if d.State {
				state = r.Seq
			}
		}
	}
	return log
}

func seqs(t *testing.T, log journal.Reader, q journal.Query) (out []protocol.Seq) {
	t.Helper()
	for e, err := range log.Range(t.Context(), "lab", q) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Envelope.Seq)
	}
	return out
}

// A part of a log has the entries of a period, one from before it, and the state.
func TestLogPart(t *testing.T) {
	for _, c := range []struct {
		name, log   string
		since, most int
		begin       protocol.Seq
		cut         int // the entry whose time is said; 0: the period is complete
		want        []protocol.Seq
	}{
		{"all", "cgcc", -10, 100, 0, 0, []protocol.Seq{1, 2, 3, 4}},
		{"a period", "cgccccc", 4, 100, 4, 0, []protocol.Seq{2, 4, 5, 6, 7}},
		{"the one before it is state", "ccghccc", 4, 100, 4, 0, []protocol.Seq{2, 3, 4, 5, 6, 7}},
		{"too many entries", "cgccccc", -10, 3, 4, 4, []protocol.Seq{2, 5, 6, 7}},
		{"too many in search of the one before", "cggggcc", 5, 4, 5, 0, []protocol.Seq{2, 3, 4, 5, 6, 7}},
		{"too many calls", "cpccccccccpc", -10, 2*entriesPerCall - 1, 2, 2, []protocol.Seq{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"calls that are too long", "cPPPPPPPPPc", -10, 1000, 3, 3, []protocol.Seq{4, 5, 6, 7, 8, 9, 10, 11}},
		{"nothing fits", "cPc", -10, 0, 3, 3, nil},
		{"no log", "", -10, 10, 0, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			since := logStart.Add(time.Duration(c.since) * time.Minute)
			log := &logPart{Reader: minutes(t, c.log), space: "lab", since: since}
			if err := log.bound(t.Context(), c.most); err != nil {
				t.Fatal(err)
			}
			want := since
			if c.cut > 0 {
				want = logStart.Add(time.Duration(c.cut-1) * time.Minute)
			}
			if log.begin != c.begin || log.cut != (c.cut > 0) || !log.since.Equal(want) {
				t.Errorf("begin %d, cut %v, since %s; want %d %v %s", log.begin, log.cut, log.since, c.begin, c.cut > 0, want)
			}
			if got := seqs(t, log, journal.Query{}); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// A participant that does not observe has what it may see, and limits count that.
func TestLogPart_Visible(t *testing.T) {
	log := &logPart{Reader: minutes(t, "cbgbhc"), space: "lab", who: ring.Visibility{Viewer: ring.Viewer{ID: "carol"}}, partly: true}
	for _, c := range []struct {
		q    journal.Query
		want []protocol.Seq
	}{
		{journal.Query{}, []protocol.Seq{1, 3, 6}},
		{journal.Query{StateOnly: true}, []protocol.Seq{3}},
		{journal.Query{After: 1, Limit: 1}, []protocol.Seq{3}},
		{journal.Query{Backwards: true, Limit: 2}, []protocol.Seq{6, 3}},
	} {
		if got := seqs(t, log, c.q); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.q, got, c.want)
		}
	}
	if _, err := log.Lookup(t.Context(), "lab", "e2"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("an envelope for bob: %v", err)
	}
	if _, err := log.Lookup(t.Context(), "lab", "e1"); err != nil {
		t.Error(err)
	}
}

// slowLog takes a second for each entry.
type slowLog struct{ journal.Journal }

func (l slowLog) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		for e, err := range l.Journal.Range(ctx, space, q) {
			<-time.After(time.Second)
			if !yield(e, err) {
				return
			}
		}
	}
}

// An analysis that takes too long is repeated over less of the log, and given up in the end.
func TestAnalyze_Slow(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes func(most int) time.Duration
		tries int
		done  bool
	}{
		{"fast enough", func(int) time.Duration { return analysisTime - time.Second }, 1, true},
		{"in time with less", func(most int) time.Duration { return time.Duration(most) * time.Millisecond }, 2, true},
		{"too slow", func(int) time.Duration { return analysisTime + time.Second }, analysisAttempts, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &Gateway{journal: minutes(t, "c")}
				tries, most := 0, maxAnalyzed
				_, err := g.analyze(t.Context(), "lab", ring.Visibility{}, time.Time{}, func(ctx context.Context, _ *logPart) error {
					tries++
					limit := time.NewTimer(c.takes(most))
					most /= 10
					select {
					case <-limit.C:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				if tries != c.tries || (err == nil) != c.done || !c.done && protocol.AsError(err).Code != protocol.CodeUnavailable {
					t.Errorf("%d attempts: %v", tries, err)
				}
			})
		})
	}
	// Reading ends with the time, and with the client.
	for name, begin := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"time": func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
		"client": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 3*time.Second)
		},
	} {
		t.Run("reading ends: "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &Gateway{journal: slowLog{minutes(t, strings.Repeat("c", 1000))}}
				ctx, cancel := begin(t.Context())
				defer cancel()
				began := time.Now()
				read, err := g.analyze(ctx, "lab", ring.Visibility{}, time.Time{}, func(context.Context, *logPart) error { return nil })
				limit := analysisAttempts * (analysisTime + time.Second)
				if name == "client" {
					limit = 4 * time.Second
				}
				if err == nil || time.Since(began) > limit || read != int(time.Since(began)/time.Second) {
					t.Errorf("%d entries in %s: %v", read, time.Since(began), err)
				}
			})
		})
	}
}
