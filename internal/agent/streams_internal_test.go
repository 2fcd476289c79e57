package agent

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// Of an answer, the closing lines and the space at its ends are not streamed, wherever the
// pieces are cut.
func TestVisible(t *testing.T) {
	for name, test := range map[string]struct{ answer, want string }{
		"plain":                   {"It is fine.\n\n- a\n- b", "It is fine.\n\n- a\n- b"},
		"a confidence":            {"\nIt is fine.\n\n**Confidence:** 0.8\n", "It is fine."},
		"a level":                 {"It is fine.\nConfidence level = high", "It is fine."},
		"a list of factors":       {"It is fine.\n\n## Key factors\n- a", "It is fine."},
		"a reply":                 {"Reply to e3: yes\nIt is fine.", ""},
		"a word":                  {"It is fine.\nConfidence is a word.\nReferences help.", "It is fine.\nConfidence is a word.\nReferences help."},
		"the beginning of a word": {"It is fine.\nConf", "It is fine."},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 1; n <= len(test.answer); n++ {
				var v visible
				got := ""
				for rest := test.answer; rest != ""; {
					piece := rest[:min(n, len(rest))]
					got += v.add(piece)
					rest = rest[len(piece):]
				}
				if got != test.want {
					t.Fatalf("in pieces of %d: %q, want %q", n, got, test.want)
				}
			}
		})
	}
}

// A stream whose opening was not acknowledged may be open. It is closed as withdrawn, because
// no text followed.
func TestStream_OpeningUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var sent []string
		g := &stream{o: &deltaOptions{Context: ctx, Off: new(atomic.Bool)}, to: func(kind protocol.Kind, payload json.RawMessage) (*client.Pending, error) {
			var c chunk
			if err := json.Unmarshal(payload, &c); err != nil {
				t.Error(err)
			}
			sent = append(sent, string(kind)+" "+c.Reason)
			return new(client.Pending), nil // its admission is never known
		}}
		g.add("text")
		time.Sleep(2 * streamPause)
		cancel()
		if id := g.end(false); id != "" {
			t.Errorf("the stream %s carried the text", id)
		}
		if want := []string{"stream.open ", "stream.close withdrawn"}; !slices.Equal(sent, want) {
			t.Errorf("sent %q, want %q", sent, want)
		}
	})
}
