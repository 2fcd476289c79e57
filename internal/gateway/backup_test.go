package gateway_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/archive"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// readAll returns the whole log of lab, and its id.
func readAll(t *testing.T, c *api.Client) (list []protocol.Envelope, log string) {
	t.Helper()
	for q := (api.EnvelopeQuery{Limit: 1000}); ; {
		page, err := c.Envelopes(t.Context(), "lab", q)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, page.Envelopes...)
		q.Since = page.Next
		if !page.HasMore {
			return list, page.Log
		}
	}
}

// A gateway is backed up while participants send. Another gateway serves the restored
// log: everything that was acknowledged before the backup and a prefix of the rest, the
// same turns, and under another id of the log.
func TestBackup_OfRunningGateway(t *testing.T) {
	var data string
	g := meuptest.Start(t, meuptest.Config, func(o *gateway.Options) { data = o.Config.Data })
	alice := g.API(t, "alice")
	askIn(t, alice, 1, 2, 3)

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	defer load.Wait()
	defer stop()
	var acknowledged atomic.Int64 // highest seq
	for w := range 3 {
		load.Go(func() { // ends with ctx
			for i := 0; ctx.Err() == nil; i++ {
				got, err := alice.Send(ctx, "lab", protocol.Envelope{
					ID: protocol.ID(fmt.Sprintf("w%d-%d", w, i)), Kind: protocol.KindChat, Payload: []byte(`{"message":"load"}`),
				})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				for seq := int64(got.Seq); err == nil; {
					if old := acknowledged.Load(); old >= seq || acknowledged.CompareAndSwap(old, seq) {
						break
					}
				}
			}
		})
	}
	testkit.Eventually(t, "participants send", func() bool { return acknowledged.Load() > 50 })
	before := acknowledged.Load()
	made, err := archive.CreateBackup(t.Context(), archive.BackupOptions{Data: data, To: filepath.Join(t.TempDir(), "b.tar.gz"), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "participants go on", func() bool { return acknowledged.Load() > before+20 })
	stop()
	load.Wait()
	original, oldLog := readAll(t, alice)
	if !made.Running || made.Log != oldLog {
		t.Errorf("the backup is %+v, the log %s", made, oldLog)
	}

	fresh := t.TempDir()
	restored, err := archive.Restore(t.Context(), archive.RestoreOptions{From: made.To, Data: fresh})
	if err != nil {
		t.Fatal(err)
	}
	again := meuptest.Start(t, meuptest.Config+"\ndata: "+fresh+"\n")
	reader := again.API(t, "alice")
	replayed, log := readAll(t, reader)
	if log != restored.Log || log == oldLog {
		t.Errorf("the log is %s, announced as %s, before %s", log, restored.Log, oldLog)
	}
	if len(replayed) == 0 || int64(replayed[len(replayed)-1].Seq) < before || len(replayed) > len(original) {
		t.Fatalf("%d envelopes are restored of %d; up to %d were acknowledged before", len(replayed), len(original), before)
	}
	for i := range replayed {
		if got, want := fmt.Sprintf("%+v", replayed[i]), fmt.Sprintf("%+v", original[i]); got != want {
			t.Fatalf("envelope %d is %s, was %s", i, got, want)
		}
	}
	wantTurns(t, reader, 1, 2, 3)
	_, err = reader.Envelopes(t.Context(), "lab", api.EnvelopeQuery{Since: replayed[0].Seq, Log: oldLog})
	if err == nil || !strings.Contains(err.Error(), "cursor_expired") {
		t.Errorf("a position of the old log: %v", err)
	}
	askIn(t, reader, 4)
	wantTurns(t, reader, 1, 2, 3, 4)
}
