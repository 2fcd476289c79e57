package space_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// claim returns a claim of paths.
func claim(id string, paths ...string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"claim","payload":{"paths":["%s"],"reason":"tests"}}`, id, strings.Join(paths, `","`))
}

// claims returns what is claimed, as "holder path".
func (r *room) claims() (list []string) {
	for _, c := range r.Claims() {
		list = append(list, string(c.By)+" "+c.Path+c.Name)
	}
	return list
}

// replay publishes frames, each as "WHO FRAME", or "WHO FRAME → CODE" if it must be refused, and
// returns the errors.
func (r *room) replay(frames ...string) (refused []*protocol.Error) {
	r.t.Helper()
	for _, frame := range frames {
		frame, want, _ := strings.Cut(frame, " → ")
		who, frame, _ := strings.Cut(frame, " ")
		err := r.say(protocol.ParticipantID(who), frame)[0].Err
		if err == nil && want != "" || err != nil && string(err.Code) != want {
			r.t.Fatalf("%s: %v, want %q", frame, err, want)
		}
		if err != nil {
			refused = append(refused, err)
		}
	}
	return refused
}

func TestClaims(t *testing.T) {
	for name, x := range map[string]struct {
		frames []string // "WHO FRAME" or "WHO FRAME → CODE"
		want   string
	}{
		"two files":           {[]string{"ann " + claim("1", "/r/a"), "bob " + claim("2", "/r/b")}, "ann /r/a, bob /r/b"},
		"the same":            {[]string{"ann " + claim("1", "/r/a"), "bob " + claim("2", "/r/a") + " → claimed"}, "ann /r/a"},
		"in another spelling": {[]string{"ann " + claim("1", "/r/Docs/ä"), "bob " + claim("2", "/r/./docs//x/../ä") + " → claimed"}, "ann /r/Docs/ä"},
		"in its folder":       {[]string{"ann " + claim("1", "/r"), "bob " + claim("2", "/r/a/b") + " → claimed"}, "ann /r"},
		"its folder":          {[]string{"ann " + claim("1", "/r/a/b"), "bob " + claim("2", "/x", "/r") + " → claimed"}, "ann /r/a/b"},
		"beside it":           {[]string{"ann " + claim("1", "/r/a"), "bob " + claim("2", "/r/ab", "/r/a.b")}, "ann /r/a, bob /r/a.b, bob /r/ab"},
		"everything":          {[]string{"ann " + claim("1", "/"), "bob " + claim("2", "/a") + " → claimed"}, "ann /"},
		"a drive":             {[]string{"ann " + claim("1", `C:/`), "bob " + claim("2", `c:/a`) + " → claimed"}, "ann C:/"},
		"everything, later":   {[]string{"ann " + claim("1", "/a", "C:/a"), "bob " + claim("2", "/") + " → claimed", "bob " + claim("3", "c:/") + " → claimed", "bob " + claim("4", "D:/")}, "ann /a, ann C:/a, bob D:/"},
		"its own again":       {[]string{"ann " + claim("1", "/r/a"), "ann " + claim("2", "/r", "/r/a")}, "ann /r, ann /r/a"},
		"names": {[]string{`ann {"kind":"claim","payload":{"names":["release/1","/r/a"]}}`, `bob {"kind":"claim","payload":{"names":["release/1"]}} → claimed`,
			`bob {"kind":"claim","payload":{"names":["release"],"paths":["/r/a"]}}`}, "bob /r/a, ann /r/a, bob release, ann release/1"},
		"relative":                            {[]string{"ann " + claim("1", "docs") + " → invalid_payload"}, ""},
		"uncertain":                           {[]string{"ann " + claim("1", "/r/%2e%2e/a") + " → invalid_payload"}, ""},
		"a blank before its last slash":       {[]string{"ann " + claim("1", "C:/a"), "ann " + claim("2", `C:/b\u00a0/`) + " → invalid_payload", `ann {"kind":"release","payload":{"paths":["/b\u00a0/"]}} → invalid_payload`}, "ann C:/a"},
		"nothing":                             {[]string{`ann {"kind":"claim","payload":{}} → invalid_payload`, `ann {"kind":"release","payload":{}} → invalid_payload`}, ""},
		"too many at once":                    {[]string{"ann " + claim("1", slices.Repeat([]string{"/a"}, 65)...) + " → invalid_payload"}, ""},
		"too long":                            {[]string{`ann {"kind":"claim","payload":{"paths":["/a"],"ttl_seconds":86401}} → invalid_payload`}, ""},
		"released by id":                      {[]string{"ann " + claim("1", "/a", "/b"), "ann " + claim("2", "/c"), `ann {"kind":"release","correlationId":"1","payload":{}}`, "bob " + claim("3", "/a")}, "bob /a, ann /c"},
		"released by path":                    {[]string{"ann " + claim("1", "/a/b", "/a/c", "/d"), `ann {"kind":"release","payload":{"paths":["/A"]}}`}, "ann /d"},
		"released by name":                    {[]string{`ann {"kind":"claim","payload":{"names":["x","y"]}}`, `ann {"kind":"release","payload":{"names":["x"]}}`}, "ann y"},
		"another's release":                   {[]string{"ann " + claim("1", "/a"), "bob " + claim("2", "/b"), `bob {"kind":"release","correlationId":"1","payload":{"paths":["/a"],"participant_id":"ann"}}`}, "ann /a, bob /b"},
		"released with all":                   {[]string{"ann " + claim("1", "/a", "C:/b"), "bob " + claim("2", "/c"), `ann {"kind":"release","payload":{"paths":["/","c:/"]}}`}, "bob /c"},
		"a kick":                              {[]string{"ann " + claim("1", "/a"), `bob {"kind":"space.kick","payload":{"participant_id":"ann"}}`, "bob " + claim("2", "/a")}, "bob /a"},
		"without the right":                   {[]string{"eve " + claim("1", "/a") + " → capability_violation"}, ""},
		"a star is a name":                    {[]string{"ann " + claim("1", "/r/**"), "bob " + claim("2", "/r/a"), "bob " + claim("3", "**") + " → invalid_payload"}, "ann /r/**, bob /r/a"},
		"without a visible name, in a folder": {[]string{"ann " + claim("1", "/r"), "bob " + claim("2", `/r/\u200b`) + " → claimed"}, "ann /r"},
		"a text as a path":                    {[]string{"ann " + claim("1", "/r/run rm -rf/../x", "/r/y/run rm -rf"), "bob " + claim("2", "/r/x") + " → claimed", "bob " + claim("3", "/r/y") + " → claimed"}, "ann /r/x, ann /r/y/run rm -rf"},
		"another's id":                        {[]string{"ann " + claim("1", "/a"), "bob " + claim("1", "/b") + " → duplicate_id"}, "ann /a"},
		"its own id":                          {[]string{"ann " + claim("1", "/a"), "ann " + claim("1", "/b")}, "ann /a"},
		"in another's name": {[]string{`bob {"from":"ann","kind":"claim","payload":{"paths":["/a"]}} → identity_mismatch`,
			`bob {"from":"system:gateway","kind":"release","payload":{"participant_id":"ann"}} → identity_mismatch`,
			`bob {"kind":"claim","payload":{"paths":["/a"],"participant_id":"ann","by":"ann"}}`}, "bob /a"},
		"no time": {[]string{`ann {"kind":"claim","payload":{"paths":["/a"],"ttl_seconds":0}} → invalid_payload`,
			`ann {"kind":"claim","payload":{"paths":["/a"],"ttl_seconds":-1}} → invalid_payload`,
			`ann {"kind":"claim","payload":{"paths":["/a"],"ttl_seconds":1e308}} → invalid_payload`,
			`ann {"kind":"claim","payload":{"paths":["/a"],"ttl_seconds":"3600"}} → invalid_payload`,
			`ann {"kind":"claim","payload":{"paths":["/a"],"ttl_seconds":1e-300}}`, "bob " + claim("1", "/a")}, "bob /a"},
		"a path many times": {[]string{"ann " + claim("0", manyPaths(63)...), "ann " + claim("1", manyPaths(126)[63:]...), "ann " + claim("2", manyPaths(189)[126:]...), "ann " + claim("5", manyPaths(252)[189:]...),
			"ann " + claim("3", slices.Repeat([]string{"/one"}, 64)...), "ann " + claim("4", slices.Repeat([]string{"/two"}, 64)...), `ann {"kind":"release","payload":{"paths":["/many"]}}`}, "ann /one, ann /two"},
		"a retry": {[]string{"ann " + claim("1", "/a"), `ann {"kind":"release","correlationId":"1","payload":{}}`, "bob " + claim("2", "/a"), "ann " + claim("1", "/a")}, "bob /a"},
	} {
		t.Run(name, func(t *testing.T) {
			all := []string{"claim", "release", "space.kick"}
			cfg := rights{"ann": all, "bob": all, "dan": nil, "eve": {"chat"}}.config(t)
			cfg.Participants["dan"] = authority.ParticipantConfig{
				Capabilities: []*capability.Capability{pattern(t, `{"kind":"claim","payload":{"paths":[{"$path":{"below":"/repo"}}]}}`)},
			}
			r := openWith(t, cfg, nil)
			for _, err := range r.replay(x.frames...) {
				if err.Code == protocol.CodeClaimed && (err.By != "ann" || err.ExpiresAt == "" || !strings.HasPrefix(err.Message, "ann holds ") || strings.Contains(err.Message, "rm -rf")) {
					t.Errorf("%+v", err)
				}
			}
			if got := strings.Join(r.claims(), ", "); got != x.want {
				t.Errorf("claimed: %s, want %s", got, x.want)
			}
		})
	}
}

func manyPaths(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint("/many/", i))
	}
	return list
}

func TestClaims_Bounds(t *testing.T) {
	who := rights{}
	for i := range 20 {
		who[protocol.ParticipantID(fmt.Sprint("p", i))] = []string{"claim"}
	}
	r := open(t, who, nil)
	held, refused := 0, 0
	for i := range 20 {
		for n := range 5 {
			var paths []string
			for k := range 64 {
				paths = append(paths, fmt.Sprintf("/p%d/%d/%d", i, n, k))
			}
			switch err := r.say(protocol.ParticipantID(fmt.Sprint("p", i)), claim(fmt.Sprint(i, "-", n), paths...))[0].Err; {
			case err == nil:
				held += len(paths)
			case err.Code == protocol.CodeRateLimited && err.Limit == "claims":
				refused++
			default:
				t.Fatal(err)
			}
		}
	}
	if held != 4096 || refused != 100-64 {
		t.Errorf("%d held, %d refused", held, refused)
	}
}

// TestClaims_End: claims end with their time, and a while after the last connection of their holder.
func TestClaims_End(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := []string{"claim", "release"}
		r := open(t, rights{"ann": all, "bob": all, "cat": all}, nil)
		r.run(time.Second)
		cat := r.join(space.JoinOptions{ID: "cat"}) // keeps the space open
		defer cat.leave()
		ann := r.join(space.JoinOptions{ID: "ann"})
		r.must("ann", `{"kind":"claim","payload":{"paths":["/ann"],"ttl_seconds":3600}}`)
		r.must("bob", `{"kind":"claim","payload":{"paths":["/bob"],"ttl_seconds":3600}}`) // has no connection
		r.must("cat", `{"kind":"claim","payload":{"paths":["/cat"]}}`)
		after := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := strings.Join(r.claims(), ", "); got != want {
				t.Errorf("claimed: %s, want %s", got, want)
			}
		}
		after(9*time.Minute, "ann /ann, bob /bob, cat /cat")
		after(2*time.Minute, "ann /ann, bob /bob")
		ann.leave()
		after(4*time.Minute, "ann /ann, bob /bob")
		ann = r.join(space.JoinOptions{ID: "ann"})
		after(4*time.Minute, "ann /ann, bob /bob")
		ann.leave()
		after(6*time.Minute, "bob /bob")
		r.must("cat", claim("late", "/ann"))
		after(time.Hour, "")
	})
}

// TestClaims_Capability: a rule with claims allows a call if its sender, or nobody else, holds the paths.
func TestClaims_Capability(t *testing.T) {
	const write = `{"kind":"mcp.request","to":["ann"],"payload":{"id":1,"method":"tools/call","params":{"name":"Write","arguments":%s,"_meta":{"meup/cwd":"/r","meup/real_paths":{"link":"/x/y"}}}}}`
	for name, x := range map[string]struct {
		mode, ann, bob string // paths
		arguments      string
		allowed        bool
	}{
		"required, claimed":           {"require", "/r/a", "", `{"file_path":"a"}`, true},
		"required, its folder":        {"require", "/r", "", `{"file_path":"/R/sub/../a"}`, true},
		"required, not claimed":       {"require", "/r/b", "", `{"file_path":"a"}`, false},
		"required, one of two":        {"require", "/r/a", "", `{"edits":[{"file_path":"a"},{"path":"b"}]}`, false},
		"required, both":              {"require", "/r", "", `{"edits":[{"file_path":"a"},{"path":["b","c"]}]}`, true},
		"required, somebody else's":   {"require", "", "/r/a", `{"file_path":"a"}`, false},
		"required, a link":            {"require", "/r", "", `{"file_path":"link"}`, false},
		"required, a link, both":      {"require", `/r","/x/y`, "", `{"file_path":"link"}`, true},
		"required, uncertain":         {"require", "/", "", `{"file_path":"$HOME/a"}`, false},
		"required, no path":           {"require", "/", "", `{"text":"a"}`, false},
		"required, no text":           {"require", "/", "", `{"file_path":7}`, false},
		"required, a command":         {"require", "/", "", `{"file_path":"a","command":"rm b"}`, false},
		"required, another case":      {"require", "/", "", `{"file_path":"a","Path":"b"}`, false},
		"respected, nobody's":         {"respect", "", "/r/b", `{"file_path":"a"}`, true},
		"respected, its own":          {"respect", "/r/a", "", `{"file_path":"a"}`, true},
		"respected, somebody else's":  {"respect", "", "/r", `{"file_path":"a"}`, false},
		"respected, a folder with it": {"respect", "", "/r/a/b", `{"directory":"a"}`, false},
		"respected, uncertain":        {"respect", "", "", `{"file_path":"~/a"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := rights{"ann": {"claim"}, "bob": {"claim"}}.config(t)
			rule, err := capability.ParseJSON(fmt.Appendf(nil, `{"kind":"mcp.request","payload":{"params":{"name":"Write"}},"claims":%q}`, x.mode))
			if err != nil {
				t.Fatal(err)
			}
			ann := cfg.Participants["ann"]
			ann.Capabilities = append(ann.Capabilities, rule)
			cfg.Participants["ann"] = ann
			r := openWith(t, cfg, nil)
			for who, path := range map[protocol.ParticipantID]string{"ann": x.ann, "bob": x.bob} {
				if path != "" {
					r.must(who, claim(string(who), path))
				}
			}
			frame := fmt.Sprintf(write, x.arguments)
			e := protocol.Envelope{Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"ann"}, Payload: []byte(frame[strings.Index(frame, `"payload":`)+10 : len(frame)-1])}
			verdict, _ := r.Judge("ann", e.To, "", e.ParsePayload())
			needs := r.NeedsClaims("ann", &e)
			if err := r.say("ann", frame)[0].Err; (err == nil) != x.allowed || (verdict == authority.Allowed) != x.allowed {
				t.Errorf("%v, judged as %s", err, verdict)
			}
			if (needs != nil) != (x.mode == "require" && !x.allowed && (strings.Contains(name, "claimed") || strings.Contains(name, "one of") || strings.HasSuffix(name, "link"))) && !strings.Contains(name, "else") && !strings.Contains(name, "with it") {
				t.Errorf("needs %v", needs)
			}
		})
	}
}

// TestClaims_EndedTakeNoPlaces: claims that have ended do not count, although nobody has released them.
func TestClaims_EndedTakeNoPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		who := rights{"late": {"claim"}}
		for i := range 16 {
			who[protocol.ParticipantID(fmt.Sprint("p", i))] = []string{"claim"}
		}
		r := open(t, who, nil)
		for i := range 16 {
			for n := range 4 {
				names := ""
				for k := range 64 {
					names += fmt.Sprintf(`,"%d/%d/%d"`, i, n, k)
				}
				r.must(protocol.ParticipantID(fmt.Sprint("p", i)), `{"kind":"claim","payload":{"ttl_seconds":1,"names":[`+names[1:]+`]}}`)
			}
		}
		time.Sleep(2 * time.Second)
		r.must("late", claim("x", "/a"))
		r.must("p0", claim("y", "/b"))
	})
}
