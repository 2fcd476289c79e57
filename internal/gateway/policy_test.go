package gateway_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	authz "github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// TestPolicy_InForce checks what a gateway says about its policy: at the start, after a
// reload, and with participants of the administrative space. A backtest of a running and of a
// stopped gateway compares with it.
func TestPolicy_InForce(t *testing.T) {
	var data string
	o := &office{meuptest.Start(t, adminConfig, func(o *gateway.Options) { data = o.Config.Data }), t, adminConfig}
	chat := func(who, token string) {
		t.Helper()
		c, err := api.New(api.Options{URL: o.HTTP(), Token: token})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := send(t, c, "lab", protocol.Envelope{Kind: protocol.KindChat, Payload: []byte(`{"text":"it is ` + who + `"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, who := range []string{"dora", "erik"} {
		o.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":%q,"capabilities":["chat"]}`, who)
		o.issue("lab", who, who+"-secret", "")
		chat(who, who+"-secret")
	}
	chat("alice", "alice-token")
	o.do(protocol.KindAdminParticipantRemove, `{"space":"lab","participant_id":"erik"}`)
	changed := adminConfig + "      bob: {token: bob-token, root: /srv, capabilities: [observe]}\nsafety: {kinds: [reasoning/*, chat]}\n"
	o.Reload(changed)

	p, err := o.API(t, "bob").Policy(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Added) != 1 || p.Added[0] != "dora" || len(p.Participants) != 3 || p.Guests != nil || p.Roots["bob"] != "/srv" || p.Decide != "callers" || strings.Join(p.Safety.Kinds, " ") != "reasoning/* chat" {
		t.Errorf("got %+v", p)
	}
	var refused *api.StatusError
	if dora, err := api.New(api.Options{URL: o.HTTP(), Token: "dora-secret"}); err != nil {
		t.Fatal(err)
	} else if _, err := dora.Policy(t.Context(), "lab"); !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
		t.Errorf("dora: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(data, "policy.json"))
	if err != nil || strings.Contains(string(text), "alice-token") {
		t.Errorf("%s %v", text, err)
	}

	cfg, faults := config.Parse("test.yaml", []byte(changed), os.LookupEnv, os.ReadFile)
	if config.HasErrors(faults) {
		t.Fatal(faults)
	}
	remote, err := backtest.OpenRemote(o.HTTP(), "bob-token")
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	current, err := gateway.RemotePolicy(p, "lab")
	if err != nil {
		t.Fatal(err)
	}
	run := func(log backtest.Options) *api.Backtest {
		t.Helper()
		log.Space = "lab"
		r, err := backtest.Run(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	same, err := gateway.BacktestPolicy(cfg, "lab", p)
	if err != nil {
		t.Fatal(err)
	}
	if r := run(backtest.Options{Log: remote, Partial: true, New: same, Current: current}); r.Different != 0 || r.Envelopes != 3 {
		t.Errorf("at the running gateway: %+v", r)
	}

	o.Stop()
	stored, err := pebblejournal.OpenStored(filepath.Join(data, "log"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	current, err = gateway.StoredPolicy(data, "lab")
	if err != nil {
		t.Fatal(err)
	}
	same, err = gateway.BacktestPolicy(cfg, "lab", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, inForce := range []*backtest.Policy{current, nil} {
		if r := run(backtest.Options{Log: stored.Reader(), New: same, Current: inForce}); r.Different != 0 || r.Envelopes != 3 {
			t.Errorf("of the stopped gateway: %+v", r)
		}
	}
	if none, err := gateway.StoredPolicy(t.TempDir(), "lab"); none != nil || err != nil {
		t.Errorf("nothing is stored: %v %v", none, err)
	}
}

// The policy that a gateway shows and stores has the deciders: what is read back has the same
// digest as the file.
func TestPolicy_Deciders(t *testing.T) {
	const text = `spaces:
  lab:
    proposals:
      human_only: [{payload: {params: {name: "delete_*"}}}]
      deciders:
        - rules:
            - {payload: {params: {name: "read_*"}}}
            - {payload: {params: {name: drop_table}}, deny: true, reason: Tables are dropped by migrations.}
        - {reviewer: rev, mode: decide, for: [{payload: {params: {name: "write_*"}}}], promote: {decisions: 10, without_miss: 5}}
        - {people: [alice, "ops:*"]}
        - {people: [bob], after: 1m30s}
    participants:
      alice: {token: alice-token-0123, capabilities: ["*", observe]}
      bob: {token: bob-token-0123456, capabilities: ["*"]}
      rev: {token: rev-token-0123456, capabilities: [mcp.opinion, decide]}
`
	var data string
	g := meuptest.Start(t, text, func(o *gateway.Options) { data = o.Config.Data })
	cfg, faults := config.Parse("test.yaml", []byte(text), os.LookupEnv, os.ReadFile)
	if cfg == nil {
		t.Fatal(faults)
	}
	digest := func(p *backtest.Policy, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return authz.NewState(p.Space(authz.Directory{})).Policy
	}
	want := digest(gateway.BacktestPolicy(cfg, "lab", nil))
	alice, err := api.New(api.Options{URL: g.HTTP(), Token: "alice-token-0123"})
	if err != nil {
		t.Fatal(err)
	}
	defer alice.Close()
	p, err := alice.Policy(t.Context(), "lab")
	if err != nil || p.Deciders == nil || len(p.Deciders.Rules) != 2 || p.Deciders.People[1].AfterSeconds != 90 || p.Deciders.Reviewers[0].Mode != "decide" {
		t.Fatalf("%+v %v", p, err)
	}
	if got := digest(gateway.RemotePolicy(p, "lab")); got != want {
		t.Errorf("as shown, it has the digest %s, want %s", got, want)
	}
	if got := digest(gateway.StoredPolicy(data, "lab")); got != want {
		t.Errorf("as stored, it has the digest %s, want %s", got, want)
	}
	decisions, err := alice.Decisions(t.Context(), "lab", api.DecisionQuery{})
	if err != nil || decisions.Policy != want {
		t.Errorf("in force is %s, want %s: %v", decisions.Policy, want, err)
	}
	p.Deciders.HumanOnly[0] = []byte(`{"kind":"("}`)
	p.Deciders.Rules[0].Capability = []byte(`{"kind":7}`)
	if _, err := gateway.RemotePolicy(p, "lab"); err == nil {
		t.Error("a rule that cannot be read counts")
	}
}
