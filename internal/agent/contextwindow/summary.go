package contextwindow

import (
	"context"
	"errors"
	"log/slog"
	"strings"
)

// maxSummary is the bound of a summary in characters.
const maxSummary = 4_000

// SummaryRequest is the input of a Summarizer.
type SummaryRequest struct {
	Goal     Goal
	Question string // the user's
	Tool     string
	Result   string // whole
}

// Summarizer shortens a long result to the content that matters for a goal. A
// Builder calls it from one goroutine at a time.
type Summarizer interface {
	// Summarize returns the summary. If it fails, the context shows a preview.
	Summarize(ctx context.Context, req SummaryRequest) (string, error)
}

var errNotShorter = errors.New("the summary is empty or not shorter than the result")

// summarize replaces previews of long results by summaries, one after the
// other. It requests one summary per result and goal, whether that succeeds or
// not. The error is from ctx.
func (b *Builder) summarize(ctx context.Context, l *layout, question string) (Meta, error) {
	var meta Meta
	if b.opts.Summarizer == nil {
		return meta, nil
	}
	for i := range l.steps {
		for j := range l.steps[i].results {
			r := &l.steps[i].results[j]
			if l.steps[i].dropped || r.form != preview || r.chars <= b.opts.SummarizeOver || r.attempted[l.goal] {
				continue
			}
			begin := b.opts.Now()
			err := b.summarizeOne(ctx, r.source, SummaryRequest{Goal: l.goal, Question: question, Tool: r.tool, Result: r.body})
			meta.SummaryTime += b.opts.Now().Sub(begin)
			if ctx.Err() != nil {
				return meta, ctx.Err()
			}
			if r.attempted == nil {
				r.attempted = map[Goal]bool{}
			}
			r.attempted[l.goal] = true
			if err != nil {
				meta.SummariesFailed++
				b.opts.Logger.Warn("summarize result", slog.String("tool", r.tool), slog.String("goal", string(l.goal)), slog.Any("error", err))
				continue
			}
			l.show(r, r.summaries[l.goal])
		}
	}
	return meta, nil
}

// summarizeOne requests a summary and caches it.
func (b *Builder) summarizeOne(ctx context.Context, s *source, req SummaryRequest) error {
	text, err := b.opts.Summarizer.Summarize(ctx, req)
	if err != nil {
		return err
	}
	text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	if text == "" || len(text) >= len(s.body) {
		return errNotShorter
	}
	text, rest := cutText(text, maxSummary)
	if rest > 0 {
		text += moreCharacters(rest)
	}
	if s.summaries == nil {
		s.summaries = map[Goal]rendering{}
	}
	s.summaries[req.Goal] = newRendering(summary, s.head("summary")+text, 0)
	return nil
}
