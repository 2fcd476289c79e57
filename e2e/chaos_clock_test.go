package e2e

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// clock is the wall clock of one process of the program that buildClockGateway
// builds.
type clock struct {
	t    *testing.T
	file string
}

func newClock(t *testing.T) *clock {
	c := &clock{t: t, file: filepath.Join(t.TempDir(), "clock")}
	c.set(0)
	return c
}

// set makes the clock jump to the machine's time and d.
func (c *clock) set(d time.Duration) {
	c.t.Helper()
	f, err := os.OpenFile(c.file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], uint64(int64(d/time.Second)))
	if _, err := f.WriteAt(b[:], 0); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clock) env() []string { return []string{"MEUP_TEST_CLOCK=" + c.file} }

// buildClockGateway builds meup-gateway with a package time whose wall clock can be
// set for each process. Nothing else differs: the monotonic clock and the timers are
// the machine's, as when an operator sets the clock.
var buildClockGateway = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(dir, "time.go"))
	if err != nil {
		return "", err
	}
	const call = "sec, nsec, mono := runtimeNow()"
	if n := strings.Count(string(source), call); n != 1 {
		return "", fmt.Errorf("%s/time.go has %q %d times", dir, call, n)
	}
	out := filepath.Join(bin, "clock")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	changed := filepath.Join(out, "time.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), call, "sec, nsec, mono := clockNow()", 1)), 0o600); err != nil {
		return "", err
	}
	added, err := filepath.Abs(filepath.Join("testdata", "clock.go.txt"))
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(dir, "time.go"):       changed,
		filepath.Join(dir, "clock_meup.go"): added,
	}})
	if err != nil {
		return "", err
	}
	file, program := filepath.Join(out, "overlay.json"), filepath.Join(out, "meup-gateway")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	return program, testkit.Build(program, "-overlay", file, "../cmd/meup-gateway")
})

// withClock makes a gateway that was not started yet use a clock of its own.
func (g *gatewayProc) withClock() *clock {
	g.t.Helper()
	if runtime.GOOS != "linux" {
		g.t.Skip("only on Linux")
	}
	program, err := buildClockGateway()
	if err != nil {
		g.t.Fatalf("build a gateway with a clock: %v", err)
	}
	c := newClock(g.t)
	g.program, g.env = program, c.env()
	return c
}

// clockConfig retains all envelopes of a run, unless a clock that jumps expires
// them.
const clockConfig = `
retention: {age: 2h}
limits: {rate: 1000000, burst: 1000000, bytes_per_second: 1GiB}
spaces:
  lab:
    visibility: everyone
    participants:
      admin: {token: admin-token-for-chaos, capabilities: ["*"]}
      reader: {token: reader-token-for-chaos, capabilities: ["*"]}
      victim: {token: victim-token-for-chaos, capabilities: ["chat"]}
      alice: {token: alice-token-for-chaos, capabilities: ["*"]}
      bob: {token: bob-token-for-chaos, capabilities: ["*"]}
      carol: {token: carol-token-for-chaos, capabilities: ["*"]}
      limited: {token: limited-token-for-chaos, capabilities: ["*"], limits: {rate: 20, burst: 20}}
`

// jumps are the differences of a wrong clock.
var jumps = []time.Duration{time.Second, time.Minute, time.Hour, 30 * 24 * time.Hour}

// wrong returns how far a clock is ahead or, negative, late.
func (c *chaos) wrong() time.Duration {
	d := jumps[c.random.IntN(len(jumps))]
	if c.random.IntN(2) == 0 {
		return -d
	}
	return d
}

// heldConnection verifies that a jump ends no connection: an envelope is sent
// before and after it.
func (c *chaos) heldConnection(ctx context.Context, addr string, jump func()) {
	w := c.worlds[0]
	s := w.sender("alice")
	defer s.close()
	send := func() bool {
		id := fmt.Sprintf("held-%d-%d", c.random.Uint64(), w.now())
		out, a, text := w.deliver(ctx, s, false, true, id, fmt.Sprintf(`{"id":%q,"kind":"chat","payload":{"message":"held"}}`, id))
		w.add(out)
		if a == denied {
			w.violation("%s was denied: %s", id, text)
		}
		return a == admitted
	}
	if !send() || s.addr != addr {
		jump()
		return
	}
	before := s.c
	jump()
	for range 3 {
		c.pause(ctx, 300*time.Millisecond)
		if ctx.Err() == nil && (!send() || s.c != before) {
			w.violation("a connection to %s ended when the clock jumped", addr)
			return
		}
	}
}

// useTTL grants x.ttl for some seconds, again and again, and uses it.
func useTTL(ctx context.Context, w *world) {
	admin, victim := w.sender("admin"), w.sender("victim")
	defer admin.close()
	defer victim.close()
	for n := 0; wait(ctx, 20*time.Millisecond); n++ {
		if n%50 == 0 {
			id := fmt.Sprintf("ttl-%d", n)
			out, last, text := w.deliver(ctx, admin, false, false, id, fmt.Sprintf(
				`{"id":%q,"kind":"capability.grant","payload":{"recipient":"victim","capabilities":["x.ttl"],"ttl_seconds":%d}}`, id, 1+rand.IntN(3)))
			w.add(out)
			if last == denied {
				w.violation("a grant was denied: %s", text)
			}
		}
		id := fmt.Sprintf("ttl-use-%d", n)
		out, _, _ := w.deliver(ctx, victim, n%2 == 0, false, id, fmt.Sprintf(`{"id":%q,"kind":"x.ttl"}`, id))
		w.add(out)
	}
}

// propose makes proposals that expire, and fulfills each of them twice.
func propose(ctx context.Context, w *world) {
	alice, carol := w.sender("alice"), w.sender("carol")
	defer alice.close()
	defer carol.close()
	for n := 0; wait(ctx, 50*time.Millisecond); n++ {
		id := fmt.Sprintf("proposal-%d", n)
		expires := time.Now().Add(time.Duration(rand.IntN(4000)) * time.Millisecond)
		out, last, text := w.deliver(ctx, alice, false, false, id, proposalBody(id, expires))
		w.add(out)
		if last == denied {
			w.violation("a proposal was denied: %s", text)
		}
		for i := range 2 {
			request := fmt.Sprintf("%s-fulfilled-%d", id, i)
			out, _, _ := w.deliver(ctx, carol, i == 0, false, request, requestBody(request, id))
			w.add(out)
			wait(ctx, time.Duration(rand.IntN(100))*time.Millisecond)
		}
	}
}

func proposalBody(id string, expires time.Time) string {
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"t"},"participant_id":"bob","expires_at":%q}}`,
		id, expires.UTC().Format(time.RFC3339Nano))
}

func requestBody(id, proposal string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.request","to":["bob"],"correlationId":%q,"payload":{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"t"}}}`,
		id, proposal, id)
}

// sendLimited sends as much as a participant with a rate limit may.
func sendLimited(ctx context.Context, w *world) {
	s := w.sender("limited")
	defer s.close()
	for n := 0; wait(ctx, 5*time.Millisecond); n++ {
		id := fmt.Sprintf("limited-%d", n)
		out, last, text := w.deliver(ctx, s, n%2 == 0, true, id, fmt.Sprintf(`{"id":%q,"kind":"chat","payload":{"message":"x"}}`, id))
		w.add(out)
		if last == denied {
			w.violation("a chat was denied: %s", text)
		}
	}
}

// verifyExpiry compares the times in the log: a grant with a ttl is used, and a
// proposal fulfilled, only before its end by the clock that admitted the use. The
// participant limited has sent no more than its limit in each life of each gateway.
func (c *chaos) verifyExpiry(starts int) {
	w := c.worlds[0]
	log, err := readHistory(c.t.Context(), c.addrs[0], w.space)
	c.check(err)
	ends, fulfilled, uses, limited := map[string]time.Time{}, map[string]string{}, 0, 0
	var end time.Time // of the grant that ends last
	for _, e := range log {
		switch {
		case e.Kind == "capability.grant" && e.Payload.TTL > 0:
			if until := e.TS.Add(time.Duration(e.Payload.TTL * float64(time.Second))); until.After(end) {
				end = until
			}
		case e.Kind == "x.ttl":
			uses++
			if !e.TS.Before(end) {
				w.violation("%s at %d was admitted at %v, and all grants had ended at %v", e.ID, e.Seq, e.TS, end)
			}
		case e.Kind == "mcp.proposal":
			ends[e.ID] = e.Payload.Expires
		case e.Kind == "mcp.request":
			proposal, _, _ := strings.Cut(e.ID, "-fulfilled-")
			if other := fulfilled[proposal]; other != "" {
				w.violation("%s was fulfilled by %s and %s", proposal, other, e.ID)
			}
			fulfilled[proposal] = e.ID
			if !e.TS.Before(ends[proposal]) {
				w.violation("%s fulfilled a proposal at %v that expired at %v", e.ID, e.TS, ends[proposal])
			}
		case e.From == "limited":
			limited++
		}
	}
	// Two gateways admit what each of them allows until they have exchanged it.
	if most := starts*40 + len(c.addrs)*20*int(w.now().Seconds()+1); limited > most {
		w.violation("a participant with a limit sent %d envelopes, at most %d are allowed", limited, most)
	}
	c.t.Logf("%d uses of grants with a ttl, %d fulfilled of %d proposals, %d with a rate limit", uses, len(fulfilled), len(ends), limited)
	if uses == 0 || len(fulfilled) == 0 || limited == 0 {
		w.violation("too little was sent to verify anything")
	}
}

// verifyCorrected: with the clocks corrected, everything with an end works as
// if they had never been wrong.
func (c *chaos) verifyCorrected() {
	w := c.worlds[0]
	ctx := testkit.Deadline(c.t)
	deliver := func(who, id, body string) {
		s := w.sender(who)
		defer s.close()
		out, _, text := w.deliver(ctx, s, false, false, id, body)
		w.add(out)
		if out.ackedAt == 0 {
			w.violation("after the clocks were corrected, %s was not admitted: %s", id, text)
		}
	}
	deliver("admin", "later-grant", `{"id":"later-grant","kind":"capability.grant","payload":{"recipient":"victim","capabilities":["x.later"],"ttl_seconds":600}}`)
	deliver("victim", "later-use", `{"id":"later-use","kind":"x.later"}`)
	deliver("alice", "later-proposal", proposalBody("later-proposal", time.Now().Add(10*time.Minute)))
	deliver("carol", "later-proposal-fulfilled-0", requestBody("later-proposal-fulfilled-0", "later-proposal"))
	deliver("limited", "later-limited", `{"id":"later-limited","kind":"chat","payload":{"message":"x"}}`)
	deliver("admin", "later-invite", `{"id":"later-invite","kind":"space.invite","payload":{"participant_id":"guest","initial_capabilities":["chat"],"ttl_seconds":600}}`)
}

// jumpOverRetention holds a clock ahead until a gateway that started with the right time
// has applied retention. It drops nothing, which the comparison of the log shows.
func (c *chaos) jumpOverRetention(g *gatewayProc, clock *clock) {
	clock.set(0)
	c.terminate(c.t.Context(), g)
	eventually(c.t, "the gateway is ready", func() bool { return get(g.addr, "/readyz", "") == 200 })
	clock.set(jumps[len(jumps)-1])
	eventually(c.t, "retention finds the clock ahead", func() bool { return strings.Contains(g.log.String(), "the system clock jumped ahead") })
	clock.set(0)
}

// verifyRuns: a gateway has not ended by itself.
func (c *chaos) verifyRuns(g *gatewayProc) {
	select {
	case <-g.done:
		c.worlds[0].violation("the gateway at %s has ended by itself:\n%s", g.addr, g.log)
	default:
	}
}

// TestChaos_Clock runs one gateway whose clock jumps, also far, while capabilities,
// proposals, rate limits and retention depend on it.
func TestChaos_Clock(t *testing.T) {
	t.Parallel()
	onlyLong(t) // the build takes minutes where it is not cached
	g := prepareGateway(t, clockConfig)
	clock := g.withClock()
	g.restart()
	c := newChaos(t, []string{g.addr}, "lab")
	c.writers = 2
	c.clients = []func(context.Context, *world){useTTL, propose, sendLimited}
	starts := 1
	jump := func(ctx context.Context) {
		d := c.wrong()
		c.heldConnection(ctx, g.addr, func() { clock.set(d) })
		c.pause(ctx, 2*time.Second)
	}
	c.recovered = func() {
		starts++
		c.jumpOverRetention(g, clock)
		c.verifyCorrected()
		c.verifyExpiry(starts)
		c.verifyRuns(g)
	}
	// A gateway that starts with a clock that is ahead expires envelopes by it.
	restart := func(ctx context.Context, stop func(context.Context, *gatewayProc), d time.Duration) {
		c.verifyRuns(g)
		starts++
		clock.set(-d)
		stop(ctx, g)
	}
	c.run([]fault{
		{"jump", jump},
		{"jump and correct", func(ctx context.Context) { jump(ctx); clock.set(0) }},
		{"correct", func(context.Context) { clock.set(0) }},
		{"kill, correct", func(ctx context.Context) { restart(ctx, c.kill, 0) }},
		{"kill, start late", func(ctx context.Context) { restart(ctx, c.kill, c.wrong().Abs()) }},
		{"terminate, start late", func(ctx context.Context) { restart(ctx, c.terminate, c.wrong().Abs()) }},
	})
}

// TestChaos_ClusterClocks runs three gateways, each with another clock that jumps,
// on three NATS servers.
func TestChaos_ClusterClocks(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	clocks := make([]*clock, 0, 3)
	d := startGatewaysOn(t, clockConfig, t.TempDir(), t.TempDir(), func(g *gatewayProc) { clocks = append(clocks, g.withClock()) })
	c := newChaos(t, d.addrs(), "lab")
	c.writers = 2
	c.clients = []func(context.Context, *world){useTTL, propose, sendLimited}
	starts := 3
	c.recovered = func() {
		for _, clock := range clocks {
			clock.set(0)
		}
		starts++
		c.jumpOverRetention(d.gateways[0], clocks[0])
		c.verifyCorrected()
		c.verifyExpiry(starts)
		for _, g := range d.gateways {
			c.verifyRuns(g)
		}
	}
	restart := func(ctx context.Context, stop func(context.Context, *gatewayProc)) {
		i := c.random.IntN(3)
		c.verifyRuns(d.gateways[i])
		starts++
		clocks[i].set(-c.wrong().Abs())
		stop(ctx, d.gateways[i])
	}
	jump := func(ctx context.Context) {
		i := c.random.IntN(3)
		d2 := c.wrong()
		c.heldConnection(ctx, d.gateways[i].addr, func() { clocks[i].set(d2) })
	}
	own := c.processFaults(d)
	c.run(append(c.networkFaults(d),
		fault{"jump", jump}, fault{"jump", jump}, fault{"jump", jump},
		fault{"correct all", func(context.Context) {
			for _, clock := range clocks {
				clock.set(0)
			}
		}},
		fault{"kill a gateway, start late", func(ctx context.Context) { restart(ctx, c.kill) }},
		fault{"terminate a gateway, start late", func(ctx context.Context) { restart(ctx, c.terminate) }},
		own[2], own[3],
	))
}
