package derived

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

var benchLong = flag.Bool("long", false, "benchmarks with logs of 1,000,000 and 10,000,000 envelopes")

// madeLog is a log of any length that takes no memory: its envelopes are made when they
// are read. A turn has 24 of them, a thread 10 turns.
type madeLog struct {
	journal.Journal
	entries protocol.Seq
	reads   int64
}

const (
	turnEntries   = 24
	threadEntries = 10 * turnEntries
)

func (m *madeLog) LogID(context.Context, string) (string, error) { return "made", nil }

func (m *madeLog) Bounds(context.Context, string) (oldest, newest protocol.Seq, err error) {
	return 1, m.entries, nil
}

func (m *madeLog) Range(ctx context.Context, _ string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		last := m.entries
		if q.Before > 0 {
			last = min(last, q.Before-1)
		}
		if q.StateOnly || q.After >= last {
			return
		}
		n := last - q.After
		if q.Limit > 0 {
			n = min(n, protocol.Seq(q.Limit))
		}
		for i := range n {
			seq := q.After + 1 + i
			if q.Backwards {
				seq = last - i
			}
			m.reads++
			if !yield(madeEntry(seq), nil) || ctx.Err() != nil {
				return
			}
		}
	}
}

// madeEntry returns the envelope with a Seq.
func madeEntry(seq protocol.Seq) *journal.Entry {
	id := func(s protocol.Seq) protocol.ID {
		return protocol.ID(fmt.Sprintf("7c9e6679-7425-40de-944b-%012x", uint64(s)))
	}
	chat := (seq-1)/turnEntries*turnEntries + 1
	env := protocol.Envelope{
		ID: id(seq), Seq: seq, From: "planner", TS: time.UnixMilli(1_795_000_000_000 + int64(seq)*100).UTC(),
	}
	payload := func(k protocol.Kind, text string) { env.Kind, env.Payload = k, json.RawMessage(text) }
	switch at := seq - chat; {
	case at == 0:
		env.From = "alice"
		payload(protocol.KindChat, `{"message":"a question about something or other, as long as they are"}`)
		if (seq-1)%threadEntries != 0 {
			env.Correlation = protocol.CorrelateTo(id(seq - 1)) // the answer before
		}
	case at == 1:
		env.Correlation = protocol.CorrelateTo(id(chat))
		payload(protocol.KindReasoningStart, `{"message":"Looking into it"}`)
	case at == turnEntries-1:
		env.Correlation = protocol.CorrelateTo(id(chat))
		payload(protocol.KindChat, `{"message":"The answer, in a sentence or two, as answers are."}`)
	default:
		env.Context = protocol.ContextPath(id(chat + 1))
		switch at % 4 {
		case 0:
			payload(protocol.KindReasoningThought, `{"message":"searched memory for what was known about it before","tool_name":"memory_search"}`)
		case 1:
			env.Correlation = protocol.CorrelateTo(id(seq - 1))
			payload(protocol.KindMCPRequest, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"what was found","limit":5}}}`)
		case 2:
			env.Correlation = protocol.CorrelateTo(id(seq - 1))
			payload(protocol.KindMCPResponse, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"three documents, of which the first one is about the matter"}]}}`)
		default:
			payload(protocol.KindReasoningThought, `{"message":"I know a little more now, and go on to the next thing that is to be found out."}`)
		}
	}
	return &journal.Entry{Envelope: env}
}

// BenchmarkFirstAnswer measures the first answer about turns after a restart: a page of
// 10 turns of the newest thread; with an index that was saved, with one that a crash
// left, and without one, as after a loss of the folder. It reports the time of the
// processors and the envelopes that were read, which do not depend on the load of the
// machine; the size of the index for each envelope, and the heap.
func BenchmarkFirstAnswer(b *testing.B) {
	sizes := []protocol.Seq{10_000, 100_000}
	if *benchLong {
		sizes = append(sizes, 1_000_000, 10_000_000)
	}
	for _, n := range sizes {
		log := &madeLog{Journal: journal.NewMemory(journal.MemoryOptions{}), entries: n}
		h := newHouse(b, log)
		dir := b.TempDir()
		newest := madeEntry((n-1)/threadEntries*threadEntries + 1).Envelope.ID
		ask := func(b *testing.B, k *TurnStore) {
			if got, err := history(b.Context(), k, h.space("lab"), "alice", newest, 10); err != nil || len(got.Turns) == 0 {
				b.Fatalf("%+v, %v", got, err)
			}
		}
		first := func(b *testing.B, dir string) *TurnStore {
			began, read := testkit.CPUTime(b), log.reads
			k := NewTurnStore(TurnOptions{Dir: dir, Bounds: log.Bounds})
			ask(b, k)
			b.ReportMetric(float64((testkit.CPUTime(b)-began).Microseconds())/1000, "cpu-ms")
			b.ReportMetric(float64(log.reads-read), "reads")
			return k
		}
		h.space("lab")
		b.Run(fmt.Sprintf("%d without an index", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				if err := os.RemoveAll(dir); err != nil {
					b.Fatal(err)
				}
				before := heap()
				b.StartTimer()
				k := first(b, dir)
				b.StopTimer()
				b.ReportMetric(float64(heap()-before)/(1<<20), "heap-MiB")
				k.mu.Lock()
				k.dbMu.Lock()
				b.ReportMetric(float64(k.db.(*turnDB).Size())/float64(n), "disk-B/envelope")
				k.dbMu.Unlock()
				k.mu.Unlock()
				crashed := dir + "-crashed"
				copyDir(b, dir, crashed)
				k.Close()
				b.StartTimer()
			}
		})
		b.Run(fmt.Sprintf("%d restarted", n), func(b *testing.B) {
			first(b, dir).Close() // compacts the rows just written
			for b.Loop() {
				k := first(b, dir)
				b.StopTimer()
				k.Close()
				b.StartTimer()
			}
		})
		b.Run(fmt.Sprintf("%d after a crash", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				again := filepath.Join(b.TempDir(), "turns")
				copyDir(b, dir+"-crashed", again)
				b.StartTimer()
				k := first(b, again)
				b.StopTimer()
				k.Close()
				b.StartTimer()
			}
		})
	}
}

// copyDir copies the files of an index that is open, as a crash would leave them. It
// ignores files that are removed meanwhile.
func copyDir(b *testing.B, from, to string) {
	b.Helper()
	if err := os.RemoveAll(to); err != nil {
		b.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		b.Fatal(err)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
