package turns

import (
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// FuzzApply feeds arbitrary envelopes, one per line of bytes, to a projection
// with hardly any memory: it never panics, stays within its bounds, and reads the
// same from the log.
func FuzzApply(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00{\"message\":\"q\"}\n\x06\x02\x01\x00\x01{}\n\x0a\x02\x02\x01\x02{\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{}}}\n\x0d\x02\x01\x01\x00{\"result\":{}}"))
	f.Add([]byte("\x02\x02\x00\x00\x00{}\n\x05\x02\x01\x02\x01{\"message\":\"t\",\"tool_name\":\"x\",\"parallel_group\":9}\n\x0e\x02\x01\x01\x04{\"method\":\"tools/call\"}\n\x10\x02\x01\x00\x00{\"reason\":\"timeout\"}"))
	f.Add([]byte("\x04\x01\x09\x05\x08\xff\xfe\n\x00\x00\x01\x00\x01{\"text\":\"\\ud800\"}\n\x08"))
	f.Add([]byte("0000")) // a job without an id
	f.Fuzz(func(t *testing.T, script []byte) {
		log := new(memoryLog)
		for _, line := range splitLines(script) {
			log.add(garbled(log, line))
		}
		small := NewTracker(Options{Space: "lab", Reader: log, IndexBytes: 3000, CacheBytes: 4000, IDs: 8})
		large := NewTracker(Options{Space: "lab", Reader: log, IDs: 8})
		for _, e := range log.entries {
			for _, p := range []*Tracker{small, large} {
				told(t, p, apply(p, []Entry{e}), as("alice"))
			}
			checkBounds(t, small)
		}
		small.Apply(t.Context(), Entry{})
		everything(t, small, Viewer{})
		want := everything(t, large, Viewer{})
		large.forget()
		if got := everything(t, large, Viewer{}); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// splitLines cuts a script into at most 300 lines.
func splitLines(script []byte) [][]byte {
	var lines [][]byte
	start := 0
	for i, c := range script {
		if c == '\n' && len(lines) < 300 {
			lines = append(lines, script[start:i])
			start = i + 1
		}
	}
	return append(lines, script[start:])
}

// garbled makes an envelope of a line: kind, sender, correlation, context,
// addressees and payload.
func garbled(log *memoryLog, line []byte) protocol.Envelope {
	take := func() int {
		if len(line) == 0 {
			return 0
		}
		n := int(line[0])
		line = line[1:]
		return n
	}
	env := protocol.Envelope{Kind: kinds[take()%len(kinds)], From: people[take()%len(people)]}
	before := func(n int) protocol.ID {
		if n == 0 || n > len(log.entries) {
			return protocol.ID([]string{"", "unknown", "e1"}[n%3])
		}
		return log.entries[len(log.entries)-n].Envelope.ID
	}
	if n := take(); n > 0 {
		env.Correlation.IDs = []protocol.ID{before(n % 16), before(n / 16)}
	}
	switch n := take(); {
	case n >= 32:
		env.Context = protocol.ContextPath(before(n%8) + "/" + before(n/8))
	case n > 0:
		env.Context = protocol.ContextPath(before(n))
	}
	if n := take(); n > 0 {
		env.To = people[:n%len(people)]
	}
	env.Payload = append([]byte{}, line...)
	return env
}
