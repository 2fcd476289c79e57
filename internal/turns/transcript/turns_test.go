package transcript

import (
	"errors"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/turns"
)

func TestUnknownThread(t *testing.T) {
	var b strings.Builder
	err := Markdown(&b, Head{}, log{}.tracker().All(t.Context(), "nobody", turns.Viewer{}))
	if !errors.Is(err, turns.ErrUnknown) || b.Len() > 0 {
		t.Errorf("%v, %q", err, &b)
	}
}

// failing is a writer that always fails.
type failing struct{}

var errFull = errors.New("full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestMarkdown_WriterFails(t *testing.T) {
	for name, write := range map[string]writer{"markdown": Markdown, "traces": Traces} {
		t.Run(name, func(t *testing.T) {
			if err := write(failing{}, Head{}, all(&api.Turn{})); !errors.Is(err, errFull) {
				t.Error(err)
			}
		})
	}
}

func TestNoTurns(t *testing.T) {
	if got := document(t); !strings.Contains(got, "# Thread `q1`\n") || !strings.HasSuffix(got, "\n\nThere are no turns.\n\n") {
		t.Errorf("document %q", got)
	}
}
