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
	run := func(log backtest.Options) *backtest.Report {
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
