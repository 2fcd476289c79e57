package gateway

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/gateway/suggest"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of what a request for suggestions or a backtest reads.
const (
	maxAnalyzed      = 100_000 // entries
	entriesPerCall   = 20      // so a twentieth of them may be proposals, which are kept in memory
	maxAnalyzedBytes = 8 << 20 // of the payloads of proposals
	// analysisTime bounds an attempt. One that takes longer is repeated with a tenth of the
	// entries, at most twice.
	analysisTime     = 12 * time.Second
	analysisAttempts = 3

	analysisExamples = 3
	// maxGroups bounds the groups of a backtest in a response.
	maxGroups = 200
	// suggestMin is the number of decisions that a suggestion needs.
	suggestMin = 3
)

// Suggestions derives rules from the decisions in a space since a time, as far as a participant
// may see them. It returns the number of entries that it has read.
func (g *Gateway) Suggestions(ctx context.Context, name string, who ring.Visibility, since time.Time) (out *api.Suggestions, read int, err error) {
	policy, err := BacktestPolicy(g.cfg.Load(), name, nil)
	if err != nil {
		return nil, 0, err
	}
	read, err = g.analyze(ctx, name, who, since, func(ctx context.Context, log *logPart) error {
		out, err = suggest.Run(ctx, suggest.Options{
			Log: log, Space: name, Partial: log.partly, Policy: policy, After: log.begin, Now: time.Now(), Min: suggestMin, UnusedSince: since, Examples: analysisExamples,
		})
		if err == nil {
			out.Since, out.Partial = log.since, log.cut
		}
		return err
	})
	return out, read, err
}

// Backtest decides the envelopes of a space since a time again, under what the text of a
// configuration says of the space. It returns the number of entries that it has read.
func (g *Gateway) Backtest(ctx context.Context, name string, who ring.Visibility, since time.Time, text []byte) (out *api.Backtest, read int, err error) {
	cfg, faults := config.Inspect("configuration", text)
	if cfg == nil {
		return nil, 0, faulty(faults)
	}
	if _, ok := cfg.Space(name); !ok {
		return nil, 0, access.BadRequest(fmt.Sprintf("The configuration has no space %s.", name))
	}
	inForce := g.cfg.Load()
	cfg.Administration, cfg.Safety = inForce.Administration, inForce.Safety // the other space is not for the caller; rules can be in files
	next, err := BacktestPolicy(cfg, name, nil)
	if err != nil {
		return nil, 0, err
	}
	current, err := BacktestPolicy(inForce, name, nil)
	if err != nil {
		return nil, 0, err
	}
	read, err = g.analyze(ctx, name, who, since, func(ctx context.Context, log *logPart) error {
		out, err = backtest.Run(ctx, backtest.Options{
			Log: log, Space: name, Partial: log.partly, New: next, Current: current, After: log.begin, Examples: analysisExamples,
		})
		if err == nil {
			out.Since, out.Partial = log.since, log.cut
			shown := min(len(out.Groups), maxGroups)
			out.MoreGroups, out.Groups = len(out.Groups)-shown, out.Groups[:shown]
		}
		return err
	})
	for i := range faults {
		if err == nil {
			out.Warnings = append(out.Warnings, faults[i].String())
		}
	}
	return out, read, err
}

// faulty returns the error for a text with faults.
func faulty(faults []config.Diagnostic) error {
	var lines []string
	n := 0
	for i := range faults {
		lines = append(lines, faults[i].String())
		if faults[i].Severity == config.Error {
			n++
		}
	}
	err := access.BadRequest(fmt.Sprintf("The configuration has %s.", textutil.Count(n, "error")))
	err.Detail = strings.Join(lines, "\n")
	return err
}

// analyze runs a function over the newest part of the log of a space, back to a time. If it
// takes too long, it runs again over less. It returns the number of entries that were read.
func (g *Gateway) analyze(ctx context.Context, name string, who ring.Visibility, since time.Time, run func(context.Context, *logPart) error) (read int, err error) {
	for most, attempt := maxAnalyzed, 1; ; most, attempt = most/10, attempt+1 {
		log := &logPart{Reader: g.journal, space: name, who: who, partly: !who.Everyone && !who.Observes, since: since}
		limited, cancel := context.WithTimeout(ctx, analysisTime)
		err := log.bound(limited, most)
		if err == nil {
			err = run(limited, log)
		}
		late := limited.Err() != nil && ctx.Err() == nil
		cancel()
		read += log.read
		switch {
		case err == nil || !late:
			return read, err
		case attempt == analysisAttempts:
			return read, protocol.Errorf(protocol.CodeUnavailable, "Reading the log takes too long now; ask for less of it with since.")
		}
	}
}

// logPart is the log with a part of a space: its state, and the newest entries, as far as a
// participant may see them. It is used by one goroutine.
type logPart struct {
	journal.Reader
	space  string
	who    ring.Visibility
	partly bool // it may not see all
	read   int  // entries

	since time.Time    // the begin of the period
	cut   bool         // since is later than the time that was asked for
	begin protocol.Seq // before the oldest entry of the period
	after protocol.Seq // before the oldest entry that is no state
}

// bound finds the part: at most so many entries back to a time, with one from before it, which
// shows that the log is older.
func (l *logPart) bound(ctx context.Context, most int) error {
	entries, calls, size := 0, 0, 0
	for e, err := range l.entries(ctx, l.space, journal.Query{Backwards: true}) {
		if err != nil {
			return err
		}
		env := &e.Envelope
		if env.TS.Before(l.since) {
			l.begin = max(l.begin, env.Seq)
			if !e.State && !e.Hidden {
				l.after = env.Seq - 1
				return nil
			}
		}
		entries++
		if env.Kind == protocol.KindMCPProposal {
			calls++
			size += len(env.Payload)
		}
		if entries > most || calls > most/entriesPerCall || size > maxAnalyzedBytes {
			if l.begin == 0 {
				l.begin, l.since, l.cut = env.Seq, env.TS, true
			}
			l.after = env.Seq
			return nil
		}
	}
	return nil
}

// entries reads the log, and ends with the context.
func (l *logPart) entries(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		for e, err := range l.Reader.Range(ctx, space, q) {
			l.read++
			if err == nil {
				err = ctx.Err()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Range implements [journal.Reader]. Of the entries before the part it has what retention would
// have left: the state.
func (l *logPart) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	if space != l.space {
		return l.entries(ctx, space, q)
	}
	return func(yield func(*journal.Entry, error) bool) {
		left := q.Limit
		q.Limit = 0 // entries that are left out do not count
		parts := []journal.Query{q}
		if !q.StateOnly && q.After < l.after {
			older := q
			older.StateOnly, older.Before = true, l.after+1
			parts = []journal.Query{older, q}
			parts[1].After = l.after
		}
		for _, part := range parts {
			for e, err := range l.entries(ctx, space, part) {
				if err == nil && l.partly && !ring.NewEntry(e).VisibleTo(l.who) {
					continue
				}
				left--
				if !yield(e, err) || left == 0 {
					return
				}
			}
		}
	}
}

// Lookup implements [journal.Reader].
func (l *logPart) Lookup(ctx context.Context, space string, id protocol.ID) (*journal.Entry, error) {
	l.read++
	e, err := l.Reader.Lookup(ctx, space, id)
	if err == nil && l.partly && !ring.NewEntry(e).VisibleTo(l.who) {
		return nil, journal.ErrNotFound
	}
	return e, err
}
