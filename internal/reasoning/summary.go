package reasoning

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
)

// maxSummary is the longest summary that is shown, in characters.
const maxSummary = 4_000

// SummaryRequest is what a Summariser is asked.
type SummaryRequest struct {
	Goal     Goal
	Question string // of the person
	Tool     string
	Result   string // whole
}

// Summariser says in few words what a long result holds that matters for a
// goal. It is called by one Build at a time.
type Summariser interface {
	// Summarise returns the summary. Its errors cost no more than the summary:
	// the context shows a preview instead.
	Summarise(ctx context.Context, req SummaryRequest) (string, error)
}

// errUseless: a summary that is no shorter than the result.
var errUseless = errors.New("the summary is empty, or as long as the result")

// summaries is what was spent on them in one build.
type summaries struct {
	took   time.Duration
	failed int
}

// summarise asks for summaries of the long results of which a preview is
// shown, one after the other. Every result is asked for once a goal, whatever
// comes of it. The error is ctx's.
func (b *Builder) summarise(ctx context.Context, p *plan, question string) (summaries, error) {
	var made summaries
	if b.opts.Summarise == nil {
		return made, nil
	}
	begin := b.opts.Now()
	asked := false
	for i := range p.results {
		r := &p.results[i]
		if r.form != short || r.hidden || r.chars <= b.opts.SummariseOver || r.tried[p.goal] {
			continue
		}
		asked = true
		err := b.summariseOne(ctx, r.shown, SummaryRequest{Goal: p.goal, Question: question, Tool: r.tool, Result: r.body})
		if ctx.Err() != nil {
			return made, ctx.Err()
		}
		r.try(p.goal)
		if err != nil {
			made.failed++
			b.opts.Logger.Warn("a result has no summary", slog.String("tool", r.tool), slog.String("goal", string(p.goal)), slog.Any("error", err))
			continue
		}
		f := summaryFor(p.goal)
		p.show(r, f, r.said[f].tokens)
	}
	if asked {
		made.took = b.opts.Now().Sub(begin)
	}
	return made, nil
}

// summariseOne remembers the summary of a result.
func (b *Builder) summariseOne(ctx context.Context, s *shown, req SummaryRequest) error {
	text, err := b.opts.Summarise.Summarise(ctx, req)
	if err != nil {
		return err
	}
	text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	if text == "" || len(text) >= len(s.body) {
		return errUseless
	}
	text, rest := cutText(text, maxSummary)
	if rest > 0 {
		text += moreCharacters(rest)
	}
	m := said{text: s.head("summary") + "\n" + text, cut: true}
	m.tokens = perMessage + b.counter.count(m.text)
	s.said[summaryFor(req.Goal)] = m
	return nil
}

// try remembers that a summary was asked for.
func (s *shown) try(g Goal) {
	if s.tried == nil {
		s.tried = map[Goal]bool{}
	}
	s.tried[g] = true
}
