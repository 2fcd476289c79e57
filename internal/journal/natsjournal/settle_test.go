package natsjournal

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// proposing returns a proposal.
func proposing(id string) journal.Draft {
	d := chat(id, "claude")
	d.Envelope.Kind, d.Envelope.Payload = protocol.KindMCPProposal, []byte(`{"method":"tools/call","params":{"name":"x"}}`)
	return d
}

// deciding returns an entry of an earlier version, which does not name the proposal that it
// settles.
func deciding(id, who string, kind protocol.Kind, call string, proposals ...protocol.ID) journal.Draft {
	d := chat(id, who)
	d.Envelope.Kind, d.Envelope.Correlation = kind, protocol.Correlation{IDs: proposals}
	d.Envelope.To = []protocol.ParticipantID{"host"}
	d.Envelope.Payload = fmt.Appendf(nil, `{"method":"tools/call","params":{"name":%q}}`, call)
	return d
}

// A proposal that an earlier version settled is not settled again: not at the gateway that
// reads the decision first, and not at one that reads the log after a purge.
func TestSettled_EarlierVersion(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a := openTest(t, n.url(), later)
	first := blockMessage(mustAppend(t, a, "lab", chat("first", "alice"))[0])
	publishRaw(t, a, "lab", proposing("fulfilled"), proposing("rejected"), proposing("withdrawn"), proposing("pending"), proposing("other"))
	publishRaw(t, a, "lab", proposing("together"), deciding("d-0", "alice", protocol.KindMCPReject, "", "together"))
	publishRaw(t, a, "lab",
		deciding("d-1", "alice", protocol.KindMCPRequest, "x", "fulfilled"),
		deciding("d-2", "alice", protocol.KindMCPReject, "", "rejected"),
		deciding("d-3", "claude", protocol.KindMCPWithdraw, "", "withdrawn"),
		deciding("n-1", "alice", protocol.KindMCPRequest, "y", "pending"),
		deciding("n-2", "alice", protocol.KindMCPWithdraw, "", "pending"),
		deciding("n-3", "alice", protocol.KindMCPReject, "", "pending", "other"),
		deciding("n-4", "bob", protocol.KindMCPReject, "", "rejected"),
		recent(chat("stays", "alice")))
	seqs := mustAppend(t, a, "lab", recent(chat("last", "alice")))
	waitForAgreement(t, "lab", 17, []*Journal{a})

	again := 0
	check := func(j *Journal) {
		t.Helper()
		for _, want := range []struct {
			proposal protocol.ID
			by       protocol.ParticipantID
		}{{"fulfilled", "alice"}, {"rejected", "alice"}, {"withdrawn", "claude"}, {"together", "alice"}} {
			again++
			d := recent(chat(fmt.Sprint("again-", again), "bob"))
			d.Settles = want.proposal
			r := j.Append(t.Context(), "lab", []journal.Draft{d})[0]
			var settled *journal.SettledError
			if !errors.As(r.Err, &settled) || settled.By != want.by {
				t.Errorf("a second decision on %s: %+v, want it settled by %s", want.proposal, r, want.by)
			}
		}
	}
	check(a)

	// The proposals are trimmed, and the message with the decisions stays.
	below := seqs[0] - maxDrafts // of the decisions
	persistControl(t, a, "trim", "lab", below, encodeTrim(below))
	want := waitForAgreement(t, "lab", 9, []*Journal{a})
	a.purgeAll(t.Context())
	stored := func(message uint64) bool {
		var err error
		testkit.Eventually(t, "the stream answers", func() bool {
			_, err = a.streamOf("lab").getMsg(t.Context(), message)
			return err == nil || errors.Is(err, jetstream.ErrMsgNotFound)
		})
		return err == nil
	}
	testkit.Eventually(t, "the first message is purged", func() bool { return !stored(first) })
	if !stored(first + 1) {
		t.Error("the message with the proposals is purged, want it kept with the decisions on them")
	}
	b := openTest(t, n.url(), later)
	if got := content(t, b, "lab"); !slices.Equal(got, want) {
		t.Errorf("read anew: %q, want %q", got, want)
	}
	for e, err := range b.Range(t.Context(), "lab", journal.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		settles := map[protocol.ID]protocol.ID{"d-1": "fulfilled", "d-2": "rejected", "d-3": "withdrawn"}[e.Envelope.ID]
		if e.Settles != settles {
			t.Errorf("%s settles %q, want %q", e.Envelope.ID, e.Settles, settles)
		}
	}
	for _, id := range []protocol.ID{"pending", "other"} {
		d := recent(chat("first-"+string(id), "bob"))
		d.Settles = id
		if r := b.Append(t.Context(), "lab", []journal.Draft{d})[0]; r.Err != nil {
			t.Errorf("the first decision on %s: %v", id, r.Err)
		}
	}
}
