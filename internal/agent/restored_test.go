package agent_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/gateway/archive"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// An agent that runs while the log is restored does not answer questions and requests of
// the restored log, which it answered in the part that was lost. It answers new ones.
func TestRestoredLog(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "backup.tar.gz")
	g := meuptest.Start(t, config+fmt.Sprintf("\ndata: %q\n", data))
	alice := join(t, g, "alice")
	old := ask(t, alice, "how many sheep?")
	ping, err := alice.Send(testkit.Deadline(t), protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"planner"}, Payload: []byte(`{"id":1,"method":"ping"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Stop()
	if _, err := archive.CreateBackup(t.Context(), archive.BackupOptions{Data: data, To: file, Version: "v1.0.0"}); err != nil {
		t.Fatal(err)
	}
	g.Restart()
	employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAll})
	conversation(t, alice, answerTo(old))
	g.Stop()
	if _, err := archive.Restore(t.Context(), archive.RestoreOptions{From: file, Data: data, Force: true}); err != nil {
		t.Fatal(err)
	}
	g.Restart()
	carol := join(t, g, "carol")
	question := ask(t, carol, "and how many now?") // perhaps before the agent is connected again
	for _, env := range conversation(t, carol, answerTo(question)) {
		if env.From == "planner" && (env.Correlation.Names(old) || env.Correlation.Names(ping.ID)) {
			t.Errorf("the agent sent %s about %s", env.Kind, env.Correlation.First())
		}
	}
}
