package transcript

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Head identifies a thread, or a job.
type Head struct {
	Space     string
	ThreadID  protocol.ID // of a thread
	JobID     protocol.ID // of a job
	SessionID string
	Exported  time.Time // zero: omitted
}

// Markdown writes a thread or a job: its head, then each turn with the question, the
// folded reasoning of every agent, and the answers. Turns are in chronological
// order; they are neither modified nor retained. The error comes from the
// iterator or the writer. Nothing is written before the first turn is
// available.
func Markdown(w io.Writer, h Head, list iter.Seq2[*api.Turn, error]) error {
	begun := false
	for t, err := range list {
		if err != nil {
			return err
		}
		text := turn(t)
		if !begun {
			text, begun = head(&h, t)+text, true
		}
		if err := write(w, text); err != nil {
			return err
		}
	}
	if begun {
		return nil
	}
	return write(w, head(&h, nil)+"There are no turns.\n\n")
}

func write(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// head returns the head of the document, with the start of the first turn if
// there is one.
func head(h *Head, first *api.Turn) string {
	var b strings.Builder
	kind, id := "Thread", h.ThreadID
	if h.JobID != "" {
		kind, id = "Job", h.JobID
	}
	fmt.Fprintf(&b, "# %s %s\n\n- Space: %s\n- Session: %s\n", kind, code(string(id)), code(h.Space), code(h.SessionID))
	if first != nil {
		fmt.Fprintf(&b, "- Started: %s by %s\n", clock(first.StartedAt.Time), code(string(first.From)))
	}
	if !h.Exported.IsZero() {
		fmt.Fprintf(&b, "- Exported: %s\n", clock(h.Exported))
	}
	b.WriteByte('\n')
	return b.String()
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// turn returns one turn, with an empty line after each of its blocks.
func turn(t *api.Turn) string {
	var b strings.Builder
	result := "Answer"
	if t.TurnNumber > 0 {
		fmt.Fprintf(&b, "## Turn %d\n\n", t.TurnNumber)
	} else {
		result = "Conclusion"
		b.WriteString("## Reasoning\n\n")
	}
	state := t.State
	if t.CompletedAt != nil {
		state += " after " + textutil.Took(t.CompletedAt.Sub(t.StartedAt.Time))
	}
	fmt.Fprintf(&b, "**%s** · %s · %s\n\n", code(string(t.From)), clock(t.StartedAt.Time), state)
	if t.TurnNumber > 0 || !blank(t.UserInput) {
		b.WriteString(formatText(t.UserInput))
	}
	if t.Truncated {
		b.WriteString("_The turn is longer than what is kept of it._\n\n")
	}
	all := t.AllReasonings()
	for i := range all {
		writeReasoning(&b, &all[i])
	}
	switch {
	case len(t.Responses) > 0:
		for _, r := range t.Responses {
			fmt.Fprintf(&b, "**%s of %s**\n\n%s", result, code(string(r.From)), formatText(r.Text))
		}
	case t.Response != nil:
		fmt.Fprintf(&b, "**%s of %s**\n\n%s", result, code(string(t.ResponseFrom)), formatText(*t.Response))
	}
	for i := range t.Feedback {
		f := &t.Feedback[i]
		fmt.Fprintf(&b, "**Feedback of %s** · %s · %s of %s · %s\n\n", code(string(f.From)), f.Value, t.Subject(f), code(string(f.AboutFrom)), code(string(f.About)))
		if !blank(f.Note) {
			b.WriteString(formatText(f.Note))
		}
	}
	return b.String()
}

// formatText formats a participant's text.
func formatText(text string) string {
	if blank(text) {
		return "_No text._\n\n"
	}
	return quote(text) + "\n"
}

func blank(text string) bool { return strings.TrimSpace(Clean(text)) == "" }
