package natsjournal

import (
	"strings"

	"github.com/meup-protocol/meup/internal/journal"
)

// delivery is the output of applied messages for the sink and for waiting calls
// of Append.
type delivery struct {
	stream *stream
	seq    uint64        // of the last message
	sink   *journal.Sink // nil: no sink was set at that time
	blocks []appliedBlock

	// replaced, if set, is called for the spaces of the stream, after the blocks.
	replaced *journal.Replaced
}

// Applied implements [replicaSink]: it queues applied messages for deliver.
// Entries that the sink received before the replica was rebuilt are not sent
// again; results are for calls in this process.
func (s *stream) Applied(seq uint64, blocks []appliedBlock, epoch bool) {
	d := delivery{stream: s, seq: seq, sink: s.j.sink.Load()}
	for _, b := range blocks {
		if b.Seq <= s.sinkSeq || s.announce {
			b.Entries = nil
		}
		if !strings.HasPrefix(b.ID, s.j.gateway) {
			b.ID, b.Results = "", nil
		}
		if len(b.Entries) > 0 || b.ID != "" {
			d.blocks = append(d.blocks, b)
		}
	}
	if epoch && seq > s.sinkSeq && !s.announce {
		s.log.Warn("the stream has lost messages: its spaces have another log now", "sequence", seq, "epoch", s.local.Epoch)
		d.replaced = s.j.replaced.Load()
	}
	s.sinkSeq = max(s.sinkSeq, seq)
	s.j.deliveries <- d // deliver ends after the streams
}

// Trimmed implements [replicaSink]: it requests a purge of the space.
func (s *stream) Trimmed(space string, below uint64) {
	s.j.addPurge(space, below)
	signal(s.j.purgeRequests)
}

// deliver passes applied entries to the sink, then sends the results of Append.
// One goroutine serves all streams, as the contract of Sink requires.
func (j *Journal) deliver() {
	for d := range j.deliveries {
		for _, b := range d.blocks {
			if d.sink != nil && len(b.Entries) > 0 {
				(*d.sink)(b.Space, b.Entries)
			}
			if b.ID != "" {
				d.stream.publisher.Applied(b.ID, b.Results)
			}
		}
		if d.replaced != nil && *d.replaced != nil {
			(*d.replaced)(func(space string) bool { return j.streamOf(space) == d.stream })
		}
		d.stream.progress.Advance(d.seq)
	}
}
