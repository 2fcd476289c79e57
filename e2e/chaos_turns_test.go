package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// talk is a thread whose chats each answer the one before, so that number n is turn n+1
// of it at every gateway, however much of it is dropped.
type talk struct {
	next     int
	answered int // requests that were answered with a turn
}

func talkID(n int) string { return fmt.Sprintf("talk-%d", n) }

// run sends chats until ctx ends, and asks any gateway for their turns.
func (k *talk) run(ctx context.Context, w *world) {
	s := w.sender("carol")
	defer s.close()
	for wait(ctx, time.Duration(rand.IntN(200))*time.Millisecond) {
		if k.send(ctx, w, s) {
			k.check(ctx, w, w.addrs[rand.IntN(len(w.addrs))])
		}
	}
}

// send sends the next chat; false: ctx has ended before it was acknowledged.
func (k *talk) send(ctx context.Context, w *world, s *sender) bool {
	id, answers := talkID(k.next), ""
	if k.next > 0 {
		answers = fmt.Sprintf(`"correlationId":%q,`, talkID(k.next-1))
	}
	out, last, text := w.deliver(ctx, s, false, false, id, fmt.Sprintf(`{"id":%q,"kind":"chat",%s"payload":{"message":"and then?"}}`, id, answers))
	w.add(out)
	if last == denied {
		w.violation("%s was denied: %s", id, text)
	}
	if out.ackedAt == 0 {
		return false
	}
	k.next++
	return true
}

// check requires that a gateway that answers gives the last chat its thread and number.
func (k *talk) check(ctx context.Context, w *world, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := talkID(k.next - 1)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/api/spaces/"+w.space+"/envelopes/"+id+"/turn", nil)
	if err != nil {
		w.violation("%v", err)
		return false
	}
	req.Header.Set("Authorization", "Bearer "+chaosToken("reader"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var got struct {
		Thread string `json:"thread_id"`
		Turn   struct {
			Number int `json:"turn_number"`
		} `json:"turn"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&got) != nil {
		return false // it is not ready, has not received the chat yet, or has dropped it
	}
	if got.Thread != talkID(0) || got.Turn.Number != k.next {
		w.violation("%s is turn %d of %s at %s, not turn %d of %s", id, got.Turn.Number, got.Thread, addr, k.next, talkID(0))
	}
	k.answered++
	return true
}

// talk adds the thread to the clients of a run. At the end each gateway must have the
// same numbers.
func (c *chaos) talk() {
	k := new(talk)
	c.clients = append(c.clients, k.run)
	c.recovered = func() {
		w := c.worlds[0]
		s := w.sender("carol")
		defer s.close()
		for _, addr := range c.addrs {
			eventually(c.t, "the gateway at "+addr+" has the turn", func() bool {
				return k.send(c.t.Context(), w, s) && k.check(c.t.Context(), w, addr)
			})
		}
		c.t.Logf("%d turns, %d answers about them", k.next, k.answered)
	}
}

// loseTurns removes the index of turns of a gateway.
func (c *chaos) loseTurns(ctx context.Context, g *gatewayProc) {
	g.kill()
	c.check(os.RemoveAll(filepath.Join(g.data, "turns")))
	c.pause(ctx, time.Second)
	g.start()
}

// TestTalk_Wrong: the check of the turns notices a gateway that counts anew.
func TestTalk_Wrong(t *testing.T) {
	t.Parallel()
	g := startGateway(t, chaosConfig)
	c := newChaos(t, []string{g.addr}, "lab")
	w := c.worlds[0]
	k := new(talk)
	s := w.sender("carol")
	defer s.close()
	answered := func() bool { return k.check(t.Context(), w, g.addr) }
	for n := range 2 {
		if !k.send(t.Context(), w, s) {
			t.Fatalf("chat %d was not acknowledged", n)
		}
		eventually(t, "the gateway has the turn", answered)
		if len(w.faults) > 0 {
			t.Fatalf("chat %d: %v", n, w.faults)
		}
	}
	k.next = 4 // talk-4 answers talk-3, which was never sent
	if !k.send(t.Context(), w, s) {
		t.Fatal("the last chat was not acknowledged")
	}
	eventually(t, "the gateway has another turn", answered)
	if len(w.faults) != 1 {
		t.Errorf("%v", w.faults)
	}
}
