package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// openQueueStage starts NATS, and the agent with the queue of a Reasoning API.
func openQueueStage(t *testing.T) (s *agentStage, url string) {
	t.Helper()
	port := freePort(t)
	startNATS(t, port, t.TempDir())
	url = "nats://127.0.0.1:" + port
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "networking.md"), []byte("# Networking\n\nThe gateway listens on port 8080.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := testkit.Deadline(t)
	s = &agentStage{t: t, g: startGateway(t, agentConfig), ctx: ctx}
	s.args = []string{"run", "--gateway", "ws://" + s.g.addr + "/ws", "--space", "lab", "--token-env", "GUIDE", "--space-tools", "off",
		"--reasoner", url, "--docs", docs}
	s.alice = s.g.dial(t, "alice", client.After(0))
	s.startAgent()
	return s, url
}

// hangingFirst is a model that never answers the first request, and has an
// answer to the others.
func hangingFirst(t *testing.T) (*llmtest.Server, []string) {
	t.Helper()
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	return model(t, func(r llmtest.Request) llmtest.Turn {
		if r.N == 1 {
			return llmtest.Turn{Hang: forever}
		}
		return llmtest.Turn{Text: "It listens on port 8080."}
	})
}

// TestAgent_QueueWorkerKilled: the agent waits for the first worker. When that
// is killed during a decision, another one makes it, and the agent answers once.
func TestAgent_QueueWorkerKilled(t *testing.T) {
	t.Parallel()
	s, url := openQueueStage(t)
	server, flags := hangingFirst(t)
	question := s.ask(whichPort)
	eventually(t, "the agent waits for a worker", func() bool {
		return strings.Contains(s.agent.log.String(), "the decision waits for the queue")
	})
	args := append([]string{"worker", "--nats", url, "--workers", "1", "--ack-wait", "1s", "--model-timeout", "5m"}, flags...)
	first := startReasoner(t, "msg=working", args...)
	if _, err := server.Asked(s.ctx, 1); err != nil {
		t.Fatal(err)
	}
	startReasoner(t, "msg=working", args...)
	first.kill()
	if text := s.answer(question); !strings.Contains(text, "port 8080") {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	s.answer(s.ask(whichPort)) // all envelopes of the first question precede it
	if n := s.count(protocol.KindChat, question); n != 1 {
		t.Errorf("%d answers\n%s", n, s.script())
	}
	if log := s.agent.log.String(); strings.Contains(log, "source=fallback") || strings.Contains(log, "level=ERROR") {
		t.Errorf("%s", log)
	}
	eventually(t, "all jobs are settled", func() bool { return stateOf(t, url, "MEUP_INTENT_JOBS").Msgs == 0 })
}

// TestAgent_QueueCancel: the cancellation of a question cancels its job, queued
// or processing.
func TestAgent_QueueCancel(t *testing.T) {
	t.Parallel()
	s, url := openQueueStage(t)
	server, flags := hangingFirst(t)
	args := append([]string{"worker", "--nats", url, "--workers", "1", "--model-timeout", "5m"}, flags...)
	worker := startReasoner(t, "msg=working", args...)

	question := s.ask(whichPort)
	if _, err := server.Asked(s.ctx, 1); err != nil {
		t.Fatal(err)
	}
	s.cancel(question)
	eventually(t, "the job is canceled", func() bool {
		return strings.Contains(worker.log.String(), "canceled=1") && stateOf(t, url, "MEUP_INTENT_JOBS").Msgs == 0
	})
	worker.signal(syscall.SIGTERM)
	if code := worker.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	question = s.ask(whichPort)
	eventually(t, "the job is queued", func() bool { return stateOf(t, url, "MEUP_INTENT_JOBS").Msgs == 1 })
	s.cancel(question)
	eventually(t, "the job is removed", func() bool { return stateOf(t, url, "MEUP_INTENT_JOBS").Msgs == 0 })
	startReasoner(t, "msg=working", args...)
	if text := s.answer(s.ask(whichPort)); !strings.Contains(text, "port 8080") {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	if n := len(server.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// cancel cancels a question, and waits until the agent has closed its context.
func (s *agentStage) cancel(question protocol.ID) {
	s.t.Helper()
	if _, err := s.alice.Send(s.ctx, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(question)}); err != nil {
		s.t.Fatal(err)
	}
	s.until("the end of the context", of(protocol.KindReasoningCancel))
}
