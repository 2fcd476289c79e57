package gateway_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// adminConfig has an administrative space with root, who may do everything, lead, who
// manages team-* alone, and clerk, who adds participants that may chat and reason.
const adminConfig = `
administration: {space: ops}
login_failures: {burst: 100000, refill: 1ms}
limits: {rate: 100000, burst: 100000, bytes_per_second: 1GiB, connections: 64}
spaces:
  ops:
    participants:
      root: {token: root-token, capabilities: ["*"]}
      lead: {token: lead-token, capabilities: [{kind: "admin/*", payload: {space: "team-*"}}]}
      clerk: {token: clerk-token, capabilities: [{kind: "admin.participant.put", payload: {capabilities: ["chat", "reasoning/*"]}}]}
      desk: {token: desk-token, capabilities: [{kind: "admin.participant.put", payload: {capabilities: ["chat"]}}, "admin.token.*"]}
      reader: {token: reader-token, capabilities: [chat]}
  "glob-*":
    participants: {gale: {token: gale-token, capabilities: ["*"]}}
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
`

// office sends administrative envelopes to a gateway.
type office struct {
	*meuptest.Gateway
	t      *testing.T
	config string
}

func newOffice(t *testing.T, yaml string) *office {
	t.Helper()
	return &office{meuptest.Start(t, yaml), t, yaml}
}

func (o *office) try(who string, kind protocol.Kind, format string, args ...any) (protocol.ID, error) {
	o.t.Helper()
	return send(o.t, o.API(o.t, who), "ops", protocol.Envelope{Kind: kind, Payload: fmt.Appendf(nil, format, args...)})
}

// whenAvailable calls f, again while the log is not available, as that of a cluster may be for a
// moment.
func whenAvailable[T any](t *testing.T, f func() (T, error)) (v T, err error) {
	t.Helper()
	testkit.Eventually(t, "the log is available", func() bool {
		v, err = f()
		return !errors.Is(err, &protocol.Error{Code: protocol.CodeUnavailable})
	})
	return v, err
}

// send sends an envelope, when the log is available.
func send(t *testing.T, c *api.Client, space string, e protocol.Envelope) (protocol.ID, error) {
	t.Helper()
	r, err := whenAvailable(t, func() (api.Receipt, error) { return c.Send(t.Context(), space, e) })
	return r.ID, err
}

func (o *office) do(kind protocol.Kind, format string, args ...any) protocol.ID {
	o.t.Helper()
	id, err := o.try("root", kind, format, args...)
	if err != nil {
		o.t.Fatal(err)
	}
	return id
}

// refused requires that an envelope is rejected with a code, at a path.
func (o *office) refused(who string, code protocol.Code, path string, kind protocol.Kind, format string, args ...any) {
	o.t.Helper()
	_, err := o.try(who, kind, format, args...)
	var status *api.StatusError
	if !errors.As(err, &status) || status.Refusal == nil || status.Refusal.Code != code || status.Refusal.Path != path {
		o.t.Errorf("%s by %s: %v (%+v), want %s at %q", kind, who, err, status, code, path)
	}
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func (o *office) issue(space, who, token, more string) protocol.ID {
	o.t.Helper()
	return o.do(protocol.KindAdminTokenIssue, `{"space":%q,"participant_id":%q,"token_sha256":%q%s}`, space, who, digest(token), more)
}

// status returns the HTTP status of a request for a space, once the log is available.
func (o *office) status(space, token string) (status int) {
	o.t.Helper()
	testkit.Eventually(o.t, "the log is available", func() bool {
		status = o.request(space, token)
		return status != http.StatusServiceUnavailable
	})
	return status
}

func (o *office) request(space, token string) int {
	o.t.Helper()
	r, err := http.NewRequestWithContext(o.t.Context(), http.MethodGet, o.HTTP()+"/api/spaces/"+space+"/participants", nil)
	if err != nil {
		o.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// becomes waits until a request has a status.
func (o *office) becomes(status int, space, token string) {
	o.t.Helper()
	testkit.Eventually(o.t, fmt.Sprintf("%s in %s gets %d", token, space, status), func() bool { return o.status(space, token) == status })
}

func (o *office) want(status int, space, token string) {
	o.t.Helper()
	if got := o.status(space, token); got != status {
		o.t.Errorf("%s in %s gets %d, want %d", token, space, got, status)
	}
}

func (o *office) join(space, token string) *websocket.Conn {
	o.t.Helper()
	var ws *websocket.Conn
	testkit.Eventually(o.t, token+" joins "+space, func() bool {
		conn, status, code := connect(o.t, o.Gateway, space, token)
		ws = conn
		if ws == nil && status != http.StatusServiceUnavailable {
			o.t.Fatalf("%s cannot join %s: %d %s", token, space, status, code)
		}
		return ws != nil
	})
	return ws
}

// wantClosed requires that the gateway closes a connection because of its token.
func wantClosed(t *testing.T, ws *websocket.Conn) {
	t.Helper()
	if code := closedWith(t, ws); code != protocol.CloseTokenExpired {
		t.Errorf("closed with %d, want %d", code, protocol.CloseTokenExpired)
	}
}

// directory returns what root reads about a space.
func (o *office) directory(space string) api.DirectorySpace {
	o.t.Helper()
	var d *api.Directory
	testkit.Eventually(o.t, "the log is available", func() bool {
		list, err := o.API(o.t, "root").Directory(o.t.Context(), space)
		d = list
		if err != nil && !errors.Is(err, &protocol.Error{Code: protocol.CodeUnavailable}) {
			o.t.Fatal(err)
		}
		return err == nil
	})
	if len(d.Spaces) != 1 || d.Administration != "ops" {
		o.t.Fatalf("got %+v", d)
	}
	return d.Spaces[0]
}

// offices runs a test with one gateway, where here and there are the same, and with
// two gateways on one NATS server.
func offices(t *testing.T, test func(t *testing.T, here, there *office)) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t, adminConfig)
		test(t, o, o)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		yaml := onNATS(t, adminConfig)
		test(t, newOffice(t, yaml), newOffice(t, yaml))
	})
}

func TestAdministration_Lifecycle(t *testing.T) {
	t.Parallel()
	offices(t, func(t *testing.T, here, there *office) {
		here.want(401, "blue", "one")
		here.do(protocol.KindAdminSpacePut, `{"space":"blue","visibility":"everyone"}`)
		here.do(protocol.KindAdminParticipantPut, `{"space":"blue","participant_id":"bob","capabilities":["chat"],"limits":{"connections":2}}`)
		first := here.issue("blue", "bob", "one", "")
		here.want(200, "blue", "one") // an acknowledged change holds here
		here.want(403, "lab", "one")
		there.becomes(200, "blue", "one")

		// Capabilities hold from the next envelope on.
		bob, err := api.New(api.Options{URL: there.HTTP(), Token: "one"})
		if err != nil {
			t.Fatal(err)
		}
		defer bob.Close()
		thought := protocol.Envelope{Kind: protocol.KindReasoningThought, Payload: []byte(`{"message":"hm"}`)}
		if _, err := send(t, bob, "blue", thought); !errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) {
			t.Errorf("a thought: %v", err)
		}
		here.do(protocol.KindAdminParticipantPut, `{"space":"blue","participant_id":"bob","capabilities":["chat","reasoning/*"]}`)
		testkit.Eventually(t, "bob may think", func() bool { _, err := bob.Send(t.Context(), "blue", thought); return err == nil })

		// Rotation: both tokens are valid, then the connections of the old one end.
		old := there.join("blue", "one")
		here.issue("blue", "bob", "two", `,"overlap_seconds":3600`)
		here.want(200, "blue", "one")
		there.becomes(200, "blue", "two")
		current := there.join("blue", "two")
		here.do(protocol.KindAdminTokenRevoke, `{"space":"blue","participant_id":"bob","token_id":%q}`, first)
		here.want(401, "blue", "one")
		wantClosed(t, old)
		there.becomes(401, "blue", "one")
		there.want(200, "blue", "two")
		here.issue("blue", "bob", "three", `,"overlap_seconds":0`)
		here.want(401, "blue", "two")
		wantClosed(t, current)

		// Removal of a participant, and of the space.
		there.becomes(200, "blue", "three")
		current = there.join("blue", "three")
		here.do(protocol.KindAdminParticipantRemove, `{"space":"blue","participant_id":"bob"}`)
		wantClosed(t, current)
		here.do(protocol.KindAdminParticipantPut, `{"space":"blue","participant_id":"eve","capabilities":["chat"]}`)
		here.issue("blue", "eve", "four", "")
		there.becomes(200, "blue", "four")
		current = there.join("blue", "four")
		here.do(protocol.KindAdminSpaceRemove, `{"space":"blue"}`)
		wantClosed(t, current)
		here.want(401, "blue", "four")
		there.becomes(401, "blue", "four")
	})
}

func TestAdministration_TokenExpires(t *testing.T) {
	t.Parallel()
	offices(t, func(t *testing.T, here, there *office) {
		here.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"bob","capabilities":["chat"]}`)
		here.issue("lab", "bob", "old", "")
		there.becomes(200, "lab", "old")
		ws := there.join("lab", "old") // its token gets its end later
		here.issue("lab", "bob", "new", `,"overlap_seconds":0.5`)
		there.becomes(200, "lab", "new")
		wantClosed(t, ws)
		there.becomes(401, "lab", "old")
		there.want(200, "lab", "new")
		if list := here.directory("lab").Participants[1].Tokens; len(list) != 2 || !list[0].Expired || list[1].Expired {
			t.Errorf("got %+v", list)
		}
	})
}

// TestAdministration_Restart: a restarted gateway, whose log has dropped everything
// that retention may drop, has the same spaces and tokens.
func TestAdministration_Restart(t *testing.T) {
	o := newOffice(t, adminConfig)
	o.do(protocol.KindAdminSpacePut, `{"space":"blue"}`)
	o.do(protocol.KindAdminParticipantPut, `{"space":"blue","participant_id":"bob","capabilities":["chat"]}`)
	o.issue("blue", "bob", "one", "")
	if _, err := o.try("reader", protocol.KindChat, `{"message":"to be dropped"}`); err != nil {
		t.Fatal(err)
	}
	before := o.directory("blue")
	o.Reload(adminConfig + dropAll)
	o.Restart()
	testkit.Eventually(t, "the chat is dropped", func() bool {
		page, err := o.API(t, "reader").Envelopes(t.Context(), "ops", api.EnvelopeQuery{Kinds: []string{"chat"}})
		return err == nil && len(page.Envelopes) == 0
	})
	o.want(200, "blue", "one")
	if after := o.directory("blue"); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("got %+v, want %+v", after, before)
	}
	o.Restart() // from the snapshot
	o.want(200, "blue", "one")
}

// TestAdministration_EndedToken: a token that was revoked is not accepted for another
// space, at another gateway, and after restarts.
func TestAdministration_EndedToken(t *testing.T) {
	t.Parallel()
	offices(t, func(t *testing.T, here, there *office) {
		for _, space := range []string{"red", "blue"} {
			here.do(protocol.KindAdminSpacePut, `{"space":%q}`, space)
			here.do(protocol.KindAdminParticipantPut, `{"space":%q,"participant_id":"bob"}`, space)
		}
		here.issue("red", "bob", "one", "")
		there.becomes(200, "red", "one")
		here.do(protocol.KindAdminTokenRevoke, `{"space":"red","participant_id":"bob","all":true}`)
		there.becomes(401, "red", "one")
		again := func(o *office) {
			o.t.Helper()
			o.refused("root", protocol.CodeInvalidPayload, "/payload/token_sha256", protocol.KindAdminTokenIssue,
				`{"space":"blue","participant_id":"bob","token_sha256":%q}`, digest("one"))
		}
		again(here)
		again(there)
		here.Restart()
		again(here)
		here.Restart() // from the snapshot
		again(here)
	})
}

// TestAdministration_Parted: a change is acknowledged although a gateway that is parted
// from NATS does not know it. There, the revoked token reads and sends nothing: the log is
// not available. It is refused when that gateway has read the log.
func TestAdministration_Parted(t *testing.T) {
	t.Parallel()
	nats := strings.TrimPrefix(startNATS(t), "nats://")
	proxy := newCutProxyAt(t, testkit.FreeAddress(t), nats) // it listens there twice
	yaml := func(address string) string { return adminConfig + "nats: nats://" + address + "\nreplicas: 1\n" }
	here, there := newOffice(t, yaml(nats)), newOffice(t, yaml(proxy.l.Addr().String()))
	here.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"bob","capabilities":["chat"]}`)
	here.issue("lab", "bob", "one", "")
	there.becomes(200, "lab", "one")
	bob, err := api.New(api.Options{URL: there.HTTP(), Token: "one"})
	if err != nil {
		t.Fatal(err)
	}
	chat := func(message string) protocol.Envelope {
		return protocol.Envelope{Kind: protocol.KindChat, Payload: fmt.Appendf(nil, `{"message":%q}`, message)}
	}
	if _, err := send(t, bob, "lab", chat("before")); err != nil {
		t.Fatal(err)
	}

	_ = proxy.l.Close()
	proxy.kill()
	testkit.Eventually(t, "the gateway knows that it is parted", func() bool { return there.Gateway.Gateway().Ready() != nil })
	here.do(protocol.KindAdminTokenRevoke, `{"space":"lab","participant_id":"bob","all":true}`)
	here.want(401, "lab", "one")
	if _, err := bob.Send(t.Context(), "lab", chat("parted")); !errors.Is(err, &protocol.Error{Code: protocol.CodeUnavailable}) {
		t.Errorf("sent at the parted gateway: %v, want that its log is not available", err)
	}
	if got := there.request("lab", "one"); got != http.StatusServiceUnavailable {
		t.Errorf("read at the parted gateway: %d, want %d: it cannot know that the token was revoked", got, http.StatusServiceUnavailable)
	}
	newCutProxyAt(t, proxy.l.Addr().String(), nats)
	there.becomes(401, "lab", "one")
	if page := readPage(t, here.API(t, "alice"), api.EnvelopeQuery{Kinds: []string{"chat"}}); len(page.Envelopes) != 1 {
		t.Errorf("%d chats, want the one from before", len(page.Envelopes))
	}
}

// TestAdministration_LateGateway: a gateway that joins later has what was made before.
func TestAdministration_LateGateway(t *testing.T) {
	t.Parallel()
	yaml := onNATS(t, adminConfig)
	first := newOffice(t, yaml)
	first.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"bob"}`)
	first.issue("lab", "bob", "one", "")
	newOffice(t, yaml).want(200, "lab", "one")
}

// TestAdministration_ReloadMeanwhile: changes of the file and of the directory at the
// same time are all in effect at the end.
func TestAdministration_ReloadMeanwhile(t *testing.T) {
	t.Parallel()
	offices(t, func(t *testing.T, here, _ *office) {
		const n = 8
		file := func(i int) string {
			return adminConfig + fmt.Sprintf("  made-%d:\n    participants: {p: {token: file-token-%d, capabilities: [chat]}}\n", i, i) +
				strings.TrimPrefix(here.config, adminConfig)
		}
		var both sync.WaitGroup
		both.Go(func() {
			for i := range n {
				here.Reload(file(i))
			}
		})
		for i := range n {
			here.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"p%d","capabilities":["chat"]}`, i)
			here.issue("lab", fmt.Sprint("p", i), fmt.Sprint("log-token-", i), "")
		}
		both.Wait()
		for i := range n {
			here.want(200, "lab", fmt.Sprint("log-token-", i))
		}
		here.want(200, fmt.Sprint("made-", n-1), fmt.Sprint("file-token-", n-1))
		here.want(401, "made-0", "file-token-0")
	})
}

// TestAdministration_FileTakesPrecedence: what the file has cannot be changed, and what
// it gets later replaces what administration has made.
func TestAdministration_FileTakesPrecedence(t *testing.T) {
	o := newOffice(t, adminConfig)
	const invalid = protocol.CodeInvalidPayload
	o.refused("root", invalid, "/payload/space", protocol.KindAdminSpacePut, `{"space":"lab"}`)
	o.refused("root", invalid, "/payload/space", protocol.KindAdminSpaceRemove, `{"space":"lab"}`)
	o.refused("root", invalid, "/payload/space", protocol.KindAdminSpacePut, `{"space":"glob-x"}`)
	o.refused("root", invalid, "/payload/space", protocol.KindAdminParticipantPut, `{"space":"glob-x","participant_id":"bob"}`)
	o.refused("root", invalid, "/payload/space", protocol.KindAdminParticipantPut, `{"space":"none","participant_id":"bob"}`)
	o.refused("root", invalid, "/payload/participant_id", protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"alice"}`)
	o.refused("root", invalid, "/payload/participant_id", protocol.KindAdminTokenIssue, `{"space":"lab","participant_id":"alice","token_sha256":%q}`, digest("x"))
	o.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"bob","capabilities":["chat"]}`)
	o.refused("root", invalid, "/payload/token_sha256", protocol.KindAdminTokenIssue, `{"space":"lab","participant_id":"bob","token_sha256":%q}`, digest("alice-token"))
	o.refused("root", invalid, "/payload/token_sha256", protocol.KindAdminTokenIssue, `{"space":"lab","participant_id":"bob","token_sha256":%q}`, digest("root-token"))
	o.refused("root", protocol.CodeReservedKind, "", "admin.token.isue", `{}`)
	o.issue("lab", "bob", "one", "")
	o.do(protocol.KindAdminSpacePut, `{"space":"later-1"}`)
	o.do(protocol.KindAdminParticipantPut, `{"space":"later-1","participant_id":"eve"}`)
	o.issue("later-1", "eve", "two", "")
	o.want(200, "later-1", "two")

	ws := o.join("lab", "one")
	o.Reload(adminConfig + "      bob: {token: bob-token, capabilities: [chat]}\n  \"later-*\":\n    participants: {carol: {token: carol-token}}\n")
	wantClosed(t, ws)
	o.want(401, "lab", "one")
	o.want(200, "lab", "bob-token")
	o.want(401, "later-1", "two")
	if s := o.directory("later-1"); s.Inactive == "" || s.Participants[0].Inactive == "" {
		t.Errorf("got %+v", s)
	}
	lab := o.directory("lab")
	if p := lab.Participants; len(p) != 3 || p[1].Source+p[2].Source != "filelog" || p[2].Inactive == "" || p[1].Inactive != "" {
		t.Errorf("got %+v", p)
	}
	o.Reload(adminConfig)
	o.want(200, "lab", "one")
	o.want(200, "later-1", "two")
}

// TestAdministration_LimitedAdministrator: the patterns of a capability bound what an
// administrator can do.
func TestAdministration_LimitedAdministrator(t *testing.T) {
	o := newOffice(t, adminConfig)
	const violation, invalid = protocol.CodeCapabilityViolation, protocol.CodeInvalidPayload
	if _, err := o.try("lead", protocol.KindAdminSpacePut, `{"space":"team-a"}`); err != nil {
		t.Fatal(err)
	}
	if _, err := o.try("lead", protocol.KindAdminParticipantPut, `{"space":"team-a","participant_id":"bob","capabilities":["*"]}`); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []protocol.Kind{protocol.KindAdminSpacePut, protocol.KindAdminSpaceRemove} {
		o.refused("lead", violation, "", kind, `{"space":"blue"}`)
		o.refused("lead", violation, "", kind, `{"space":"ops"}`)
	}
	o.refused("lead", violation, "", protocol.KindAdminParticipantPut, `{"space":"ops","participant_id":"mallory","capabilities":["*"]}`)
	if _, err := o.try("lead", protocol.KindAdminParticipantPut, `{"space":"team-a","Space":"lab","participant_id":"mallory"}`); !errors.Is(err, &protocol.Error{Code: protocol.CodeInvalidJSON}) {
		t.Errorf("two spellings of a field: %v", err)
	}
	o.refused("lead", violation, "", protocol.KindAdminTokenIssue, `{"space":"lab","participant_id":"alice","token_sha256":%q}`, digest("x"))
	o.refused("lead", violation, "", protocol.KindCapabilityGrant, `{"recipient":"lead","capabilities":["admin/*"]}`)
	// The administrative space belongs to the file, also for one who may do everything.
	o.refused("root", invalid, "/payload/space", protocol.KindAdminParticipantPut, `{"space":"ops","participant_id":"mallory","capabilities":["*"]}`)
	o.refused("root", invalid, "/payload/space", protocol.KindAdminSpacePut, `{"space":"ops"}`)
	o.refused("root", invalid, "/payload/space", protocol.KindAdminSpaceRemove, `{"space":"ops"}`)
	o.refused("root", invalid, "/payload/space", protocol.KindAdminTokenIssue, `{"space":"ops","participant_id":"root","token_sha256":%q}`, digest("x"))
	// A pattern for capabilities bounds the ones that can be given.
	if _, err := o.try("clerk", protocol.KindAdminParticipantPut, `{"space":"team-a","participant_id":"dora","capabilities":["chat"]}`); err != nil {
		t.Error(err)
	}
	o.refused("clerk", violation, "", protocol.KindAdminParticipantPut, `{"space":"team-a","participant_id":"dora","capabilities":["chat","*"]}`)
	o.refused("reader", violation, "", protocol.KindAdminSpacePut, `{"space":"team-b"}`)
	// All administrators see every change.
	_, err := o.API(t, "root").Send(t.Context(), "ops", protocol.Envelope{Kind: protocol.KindAdminSpacePut, To: []protocol.ParticipantID{"root"}, Payload: []byte(`{"space":"hidden"}`)})
	if !errors.Is(err, &protocol.Error{Code: protocol.CodeInvalidEnvelope}) {
		t.Errorf("an addressed change: %v", err)
	}
}

// TestAdministration_StrongerParticipant: who may give few capabilities neither gets a
// token of a participant that has more, nor lowers it to get one.
func TestAdministration_StrongerParticipant(t *testing.T) {
	o := newOffice(t, adminConfig)
	token := func(who string) string {
		return fmt.Sprintf(`{"space":"lab","participant_id":%q,"token_sha256":%q}`, who, digest("desk-for-"+who))
	}
	o.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"boss","capabilities":["*"]}`)
	o.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"mixed","capabilities":["chat","mcp.request"]}`)
	o.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"nobody"}`)
	for _, who := range []string{"boss", "mixed"} {
		o.refused("desk", protocol.CodeCannotDelegate, "", protocol.KindAdminTokenIssue, "%s", token(who))
		o.refused("desk", protocol.CodeCannotDelegate, "", protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":%q,"capabilities":["chat"]}`, who)
		o.want(401, "lab", "desk-for-"+who)
	}
	if _, err := o.try("desk", protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"dora","capabilities":["chat"]}`); err != nil {
		t.Error(err)
	}
	for _, who := range []string{"dora", "nobody"} {
		if _, err := o.try("desk", protocol.KindAdminTokenIssue, "%s", token(who)); err != nil {
			t.Errorf("a token of %s: %v", who, err)
		}
		o.want(200, "lab", "desk-for-"+who)
	}
	o.issue("lab", "boss", "root-for-boss", "")
	// A participant is as strong as its grants and invitations in the space make it, also one
	// that administration does not have yet.
	for kind, payload := range map[protocol.Kind]string{
		protocol.KindSpaceInvite:     `{"participant_id":"visitor","initial_capabilities":["*"]}`,
		protocol.KindCapabilityGrant: `{"recipient":"nobody","capabilities":["mcp/*"]}`,
	} {
		if status, text := postAs(t, o.Gateway, "root-for-boss", "/api/spaces/lab/envelopes", fmt.Sprintf(`{"kind":%q,"payload":%s}`, kind, payload)); status != http.StatusOK {
			t.Fatalf("%s: %d %s", kind, status, text)
		}
	}
	for _, who := range []string{"visitor", "nobody"} {
		o.refused("desk", protocol.CodeCannotDelegate, "", protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":%q,"capabilities":["chat"]}`, who)
	}
	o.refused("desk", protocol.CodeCannotDelegate, "", protocol.KindAdminTokenIssue, `{"space":"lab","participant_id":"nobody","token_sha256":%q}`, digest("again-for-nobody"))
	// A participant that became stronger after its token was issued gets no further one.
	o.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"dora","capabilities":["chat","decide"]}`)
	o.refused("desk", protocol.CodeCannotDelegate, "", protocol.KindAdminTokenIssue, `{"space":"lab","participant_id":"dora","token_sha256":%q}`, digest("again"))
}

// TestAdministration_OtherSpaces: no other space accepts the kinds, and a gateway
// without an administrative space has none of it.
func TestAdministration_OtherSpaces(t *testing.T) {
	o := newOffice(t, adminConfig)
	put := protocol.Envelope{Kind: protocol.KindAdminSpacePut, Payload: []byte(`{"space":"blue"}`)}
	if _, err := o.API(t, "alice").Send(t.Context(), "lab", put); !errors.Is(err, &protocol.Error{Code: protocol.CodeReservedKind}) {
		t.Errorf("in lab: %v", err)
	}
	if _, err := o.API(t, "alice").Directory(t.Context(), ""); !errors.Is(err, &protocol.Error{Code: protocol.CodeForbidden}) {
		t.Errorf("alice reads the directory: %v", err)
	}
	d, err := o.API(t, "reader").Directory(t.Context(), "")
	if err != nil || len(d.Spaces) != 3 {
		t.Errorf("reader reads %+v: %v", d, err)
	}
	if text, err := json.Marshal(d); err != nil || strings.Contains(string(text), digest("root-token")) {
		t.Errorf("the directory has a digest: %s, %v", text, err)
	}
	plain := meuptest.Start(t, meuptest.Config)
	if _, err := plain.API(t, "alice").Send(t.Context(), "lab", put); !errors.Is(err, &protocol.Error{Code: protocol.CodeReservedKind}) {
		t.Errorf("without administration: %v", err)
	}
	if _, err := plain.API(t, "alice").Directory(t.Context(), ""); !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		t.Errorf("without administration: %v", err)
	}
}

// TestAdministration_Moves: a reload can name another administrative space, or none.
func TestAdministration_Moves(t *testing.T) {
	o := newOffice(t, adminConfig)
	o.do(protocol.KindAdminParticipantPut, `{"space":"lab","participant_id":"bob"}`)
	o.issue("lab", "bob", "one", "")
	o.Reload(strings.Replace(adminConfig, "administration: {space: ops}", "", 1))
	o.want(401, "lab", "one")
	o.refused("root", protocol.CodeReservedKind, "", protocol.KindAdminSpacePut, `{"space":"blue"}`)
	o.Reload(strings.Replace(adminConfig, "space: ops}", "space: lab}", 1))
	o.becomes(401, "lab", "one")
	if _, err := o.API(t, "alice").Send(t.Context(), "lab", protocol.Envelope{Kind: protocol.KindAdminSpacePut, Payload: []byte(`{"space":"green"}`)}); err != nil {
		t.Error(err)
	}
	o.Reload(adminConfig)
	o.becomes(200, "lab", "one")
}

// TestAdministration_Retry: an envelope that was sent again is acknowledged, though its
// change is made already.
func TestAdministration_Retry(t *testing.T) {
	o := newOffice(t, adminConfig)
	e := protocol.Envelope{ID: "put-1", Kind: protocol.KindAdminSpacePut, Payload: []byte(`{"space":"blue","if_absent":true}`)}
	first, err := o.API(t, "root").Send(t.Context(), "ops", e)
	if err != nil {
		t.Fatal(err)
	}
	again, err := o.API(t, "root").Send(t.Context(), "ops", e)
	if err != nil || again.Seq != first.Seq {
		t.Errorf("got %+v, %v, want %+v", again, err, first)
	}
}
