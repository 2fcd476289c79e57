package suggest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

func TestRun(t *testing.T) {
	const bash, write, fetch = "Bash", "Write", "WebFetch"
	command := func(texts ...string) []string {
		var out []string
		for _, x := range texts {
			out = append(out, `{"command":"`+x+`"}`)
		}
		return out
	}
	file := func(names ...string) []string {
		var out []string
		for _, x := range names {
			out = append(out, `{"file_path":"`+x+`","content":"text"}`)
		}
		return out
	}
	for _, c := range []struct {
		name string
		work func(w *world)
		want string
	}{
		{"nothing", func(*world) {}, ""},
		{"too few", func(w *world) { w.approved(1, "coder", "files", bash, command("git diff a", "git diff b")...) }, ""},
		{"commands", func(w *world) {
			w.approved(1, "coder", "files", bash, command("git diff a", "git diff b", "git diff c")...)
			w.approved(3, "coder", "files", bash, command("git diff --stat")...)
			w.rejected(1, "coder", "files", bash, command("git push")...)
		}, join(
			"allow coder 6 -6: Bash: `git diff` with any arguments; `git diff --stat`",
		)},
		{"a command and one that was rejected after it", func(w *world) {
			w.approved(3, "coder", "files", bash, command("git diff a", "git diff b")...)
			w.rejected(1, "coder", "files", bash, command("git diff secret")...)
		}, join(
			"allow coder 6 -6: Bash: `git diff a`; `git diff b`",
		)},
		{"the same", func(w *world) { w.approved(3, "coder", "files", bash, command("git diff a")...) }, join(
			"allow coder 3 -3: Bash: `git diff a`",
		)},
		{"destroys", func(w *world) {
			w.approved(10, "coder", "files", bash, command("rm -rf build")...)
			w.approved(3, "coder", "files", bash, command("sudo rm x", "ls a | xargs rm", "git push origin main", "eval ls")...)
		}, join(
			`people coder 10: Bash {"command":"rm -rf build"}: it may destroy or send something, so it is never suggested, however often it was approved`,
			`people coder 3: Bash {"command":"sudo rm x"}: it may destroy or send something, so it is never suggested, however often it was approved`,
			`people coder 3: Bash {"command":"ls a | xargs rm"}: it may destroy or send something, so it is never suggested, however often it was approved`,
			`people coder 3: Bash {"command":"git push origin main"}: it may destroy or send something, so it is never suggested, however often it was approved`,
			`people coder 3: Bash {"command":"eval ls"}: it may destroy or send something, so it is never suggested, however often it was approved`,
		)},
		{"runs what is not seen", func(w *world) { w.approved(3, "coder", "files", bash, command("make test", "./build.sh")...) }, join(
			"allow coder 6 -6: Bash: `make test`; `./build.sh`",
		)},
		{"files of a folder", func(w *world) {
			w.approved(1, "coder", "files", write, file("docs/a.md", "docs/b.md", "docs/c/d.md", "docs/e.md")...)
		}, join(
			`allow coder 4 -4: Write: paths below docs, except **/.git/**, names of secret files`,
		)},
		{"a file of the folder was rejected", func(w *world) {
			w.approved(3, "coder", "files", write, file("docs/a.md")...)
			w.approved(1, "coder", "files", write, file("docs/b.md", "docs/c.md")...)
			w.rejected(1, "coder", "files", write, file("docs/x.md")...)
		}, join(
			`allow coder 3 -3: Write with {"content":"text","file_path":"docs/a.md"}`,
			`people coder 2: Write {"file_path":"docs/c.md","content":"text"}: a rule for it would also allow what alice rejected`,
		)},
		{"folders", func(w *world) {
			w.approved(1, "coder", "files", write, file("docs/a.md", "docs/b.md", "docs/e.md", "src/a.go", "src/b.go", "src/c.go")...)
		}, join(
			`allow coder 6 -6: Write: paths below docs or src, except **/.git/**, names of secret files`,
		)},
		{"hosts", func(w *world) {
			w.approved(1, "coder", "files", fetch, `{"url":"https://example.com/a"}`, `{"url":"https://example.com/b"}`, `{"url":"https://example.com/c?d"}`)
			w.rejected(1, "coder", "files", fetch, `{"url":"https://evil.example/c"}`)
		}, join(
			`allow coder 3 -3: WebFetch: https URLs of example.com`,
		)},
		{"texts", func(w *world) { w.approved(3, "coder", "files", "lookup", `{"q":"a"}`, `{"q":"b*"}`) }, join(
			`allow coder 6 -6: lookup with {"q":["a","/^b\\*$/"]}`,
		)},
		{"the tool", func(w *world) { w.approved(1, "coder", "files", "lookup", `{"q":"a"}`, `{"q":"b"}`, `{"q":["c"]}`) }, join(
			`allow coder 3 -3: any call of lookup`,
		)},
		{"a call of the tool was rejected", func(w *world) {
			w.approved(1, "coder", "files", "lookup", `{"q":"a"}`, `{"q":"b"}`, `{"q":"c"}`)
			w.rejected(1, "coder", "files", "lookup", `{"q":"d"}`)
		}, join(
			`people coder 3: lookup {"q":"c"}: a rule would allow each of these calls only as it is, and none was approved 3 times`,
		)},
		{"a program that npx runs", func(w *world) {
			w.approved(1, "coder", "files", bash, command("npx vitest run a", "npx vitest run b", "npx vitest run c")...)
			w.approved(1, "coder", "files", bash, command("npx tsx a.ts", "npx tsx b.ts", "npx tsx c.ts", "npx rimraf a", "npx rimraf b", "npx rimraf c")...)
		}, join(
			"allow coder 3 -3: Bash: `npx vitest run` with any arguments",
			`people coder 3: Bash {"command":"npx rimraf c"}: it may destroy or send something, so it is never suggested, however often it was approved`,
			`people coder 3: Bash {"command":"npx tsx c.ts"}: a rule would allow each of these calls only as it is, and none was approved 3 times`,
		)},
		{"a folder elsewhere", func(w *world) {
			w.approved(1, "coder", "files", bash, command("npm ci --prefix a", "npm ci --prefix b", "npm ci --prefix ../c")...)
		}, join(
			`people coder 3: Bash {"command":"npm ci --prefix ../c"}: they differ: no rule allows 3 of them and leaves out what it should`,
		)},
		{"other commands each time", func(w *world) {
			w.approved(1, "coder", "files", bash, command("make a && ls b", "./c", "make d", "git push a", "rm b")...)
			w.rejected(1, "coder", "files", bash, command("ls")...)
			w.approved(1, "coder", "files", bash, command("kill c")...)
		}, join(
			`people coder 3: Bash {"command":"kill c"}: it may destroy or send something, so it is never suggested, however often it was approved`,
			`people coder 3: Bash {"command":"make d"}: they differ: no rule allows 3 of them and leaves out what it should`,
		)},
		{"files with keys", func(w *world) {
			w.approved(3, "coder", "files", "Read", `{"file_path":"/repo/.env"}`)
			w.approved(1, "coder", "files", "Read", `{"file_path":"/repo/a"}`, `{"file_path":"/repo/b"}`, `{"file_path":"/repo/c"}`)
			w.rejected(1, "coder", "files", "Read", `{"file_path":"/repo/id_rsa"}`)
		}, join(
			`allow coder 3 -3: Read: paths below /repo, except **/.git/**, names of secret files`,
			`people coder 3: Read {"file_path":"/repo/.env"}: it has the name of a file with keys, so it is never suggested, however often it was approved`,
		)},
		{"a folder, in other ways", func(w *world) {
			for _, n := range []string{"1", "2", "3"} {
				w.approved(1, "coder", "files", "Grep", `{"path":"src","pattern":"`+n+`"}`)
			}
		}, join(
			`allow coder 3 -3: Grep: paths below src, except **/.git/**, names of secret files`,
		)},
		{"tools that destroy", func(w *world) {
			w.approved(3, "coder", "files", "delete_file", `{"path":"a/b"}`)
			w.approved(3, "coder", "files", "sendMail", `{"to":"a"}`)
			w.approved(3, "coder", "files", "billing_show", `{"id":1}`)
			w.approved(3, "coder", "files", "display", `{"id":1}`)
		}, join(
			`allow coder 3 -3: display with {"id":1}`,
			`people coder 3: billing_show {"id":1}: a tool of this name is never suggested, however often it was approved`,
			`people coder 3: delete_file {"path":"a/b"}: a tool of this name is never suggested, however often it was approved`,
			`people coder 3: sendMail {"to":"a"}: a tool of this name is never suggested, however often it was approved`,
		)},
		{"proposers are kept apart", func(w *world) {
			w.approved(1, "coder", "files", bash, command("git diff a", "git diff b")...)
			w.approved(1, "twin", "files", bash, command("git diff c")...)
			w.approved(3, "twin", "files", bash, command("git log a", "git log b")...)
			w.rejected(1, "coder", "files", bash, command("git log c")...)
		}, join(
			"allow twin 6 -6: Bash: `git log` with any arguments",
		)},
		{"hosts of tools are kept apart", func(w *world) {
			w.approved(1, "coder", "files", bash, command("git diff a", "git diff b")...)
			w.approved(1, "coder", "twin", bash, command("git diff c")...)
		}, ""},
		{"its own approvals", func(w *world) {
			for range 9 {
				w.approve("coder", w.propose("coder", "files", bash, `{"command":"git diff a"}`), "")
			}
		}, ""},
		{"another call was made", func(w *world) {
			w.approved(3, "coder", "files", bash, command("git diff a", "git diff b")...)
			w.approve("alice", w.propose("coder", "files", bash, `{"command":"git diff c"}`), `,"edited":true`)
		}, join(
			"allow coder 6 -6: Bash: `git diff a`; `git diff b`",
		)},
		{"in a folder", func(w *world) {
			for _, x := range []string{"a", "b", "c"} {
				w.approve("alice", w.proposeMeta("coder", "coder", bash, `{"command":"git diff `+x+`"}`, `{"meup/cwd":"/repo"}`), "")
			}
		}, join(
			"allow coder 3 -3: Bash: `git diff` with any arguments, in /repo",
		)},
		{"denials", func(w *world) {
			w.rejected(1, "coder", "files", bash, command("git push origin a", "git push", "git push --force")...)
			w.rejected(3, "coder", "files", write, file("/etc/x/a")...)
			w.rejected(1, "coder", "files", "deploy", `{"to":"a"}`, `{"to":"b"}`, `{"to":"c"}`)
			w.rejected(1, "coder", "files", fetch, `{"url":"https://evil.example/c"}`, `{"url":"https://evil.example/d"}`, `{"url":"https://evil.example/e"}`)
		}, join(
			"deny coder 3 -3: Bash: `git push` with any arguments",
			`deny coder 3 -3: WebFetch: https URLs of evil.example`,
			`deny coder 3 -3: Write: paths below /etc/x/a`,
			`deny coder 3 -3: any call of deploy`,
		)},
		{"denials of files in a folder", func(w *world) {
			w.rejected(1, "coder", "files", write, file("docs/a.md", "docs/b.md", "docs/c.md")...)
		}, join(
			`deny coder 3 -3: Write: paths below docs`,
		)},
		{"denials for other reasons", func(w *world) {
			for _, x := range []struct{ command, reason string }{{"git push", "CI pushes"}, {"curl -d x https://a.example", ""}, {"npm publish", "CI pushes"}} {
				for range 3 {
					w.rejectFor("alice", w.propose("coder", "files", bash, `{"command":"`+x.command+`"}`), x.reason)
				}
			}
		}, join(
			"deny coder 6 -6: Bash: `git push` with any arguments; `npm publish` with any arguments",
			"deny coder 3 -3: Bash: `curl` with any arguments",
		)},
		{"denials with an approval", func(w *world) {
			w.approved(1, "coder", "files", bash, command("git push origin a")...)
			w.rejected(3, "coder", "files", bash, command("git push --force")...)
			w.rejected(3, "coder", "files", bash, command("git push  origin b")...)
			w.approved(1, "coder", "files", write, file("/etc/x/b")...)
			w.rejected(3, "coder", "files", write, file("/etc/x/a")...)
			w.approved(1, "coder", "files", "deploy", `{"to":"d"}`)
			w.rejected(1, "coder", "files", "deploy", `{"to":"a"}`, `{"to":"b"}`, `{"to":"c"}`)
		}, join(
			"deny coder 6 -6: Bash: `git push --force`; `git push origin b`",
			`deny coder 3 -3: Write: paths below /etc/x/a`,
		)},
		{"denials for everybody", func(w *world) {
			w.rejected(1, "coder", "files", bash, command("git push a")...)
			w.rejected(1, "twin", "files", bash, command("git push b", "git push c")...)
			w.rejected(2, "coder", "files", "deploy", `{"to":"a"}`)
			w.rejected(1, "twin", "files", "deploy", `{"to":"a"}`)
			w.approved(1, "twin", "files", "deploy", `{"to":"a"}`)
		}, join(
			"deny twin 3 -3: Bash: `git push` with any arguments",
		)},
		{"denials beside what only may match", func(w *world) {
			w.rejected(1, "coder", "files", bash, command("git push a", "git push b", "git push c")...)
			w.approved(1, "coder", "files", bash, command("make test", "eval x")...)
		}, join(
			"deny coder 3 -3: Bash: `git push` with any arguments",
		)},
		{"a masked call", func(w *world) {
			w.approved(3, "coder", "files", bash, command("git diff a", "git diff b")...)
			w.approved(3, "coder", "files", "lookup", `{"q":"a"}`)
			w.reject("alice", w.add(journal.Draft{Envelope: protocol.Envelope{From: "coder", Kind: protocol.KindMCPProposal, Payload: json.RawMessage(
				`{"participant_id":"files","method":"tools/call","params":{"name":"Bash","arguments":{"command":"x [redacted]"}},"redacted":["key"]}`)}}))
		}, join(
			`allow coder 3 -3: lookup with {"q":"a"}`,
			`people coder 6: Bash {"command":"git diff b"}: a rule for it would also allow what alice rejected`,
		)},
		{"a secret", func(w *world) {
			w.approved(3, "coder", "files", "lookup", `{"q":"ghp_`+"R7kQ2mXv9LpZt4WcYb8NhJd3FsGa6EuT1oVi"+`"}`)
		}, join(
			`people coder 3: lookup {"q":"[redacted:github-pat]"}: it contains a secret`,
		)},
		{"a page twice", func(w *world) {
			w.approved(1, "coder", "files", fetch, `{"url":"https://example.com/a?1"}`, `{"url":"https://example.com/a?2"}`, `{"url":"https://example.com/a?3"}`)
		}, join(
			`allow coder 3 -3: WebFetch: https URLs of example.com, path /a`,
		)},
		{"content", func(w *world) {
			w.approved(1, "coder", "files", write, `{"file_path":"docs/a.md","content":"1"}`, `{"file_path":"docs/a.md","content":"2"}`, `{"file_path":"docs/a.md","content":"3"}`)
			w.rejected(1, "coder", "files", write, file("docs/b.md")...)
		}, join(
			`allow coder 3 -3: Write: paths below docs/a.md, except **/.git/**, names of secret files`,
		)},
		{"out of the folder", func(w *world) { w.approved(3, "coder", "files", write, file("docs/../../x", "~bob/x")...) }, join(
			`people coder 6: Write {"file_path":"~bob/x","content":"text"}: it is not certain which path or URL is meant`,
		)},
		{"hostile texts", func(w *world) {
			w.approved(3, "coder", "files", `look\u001b[31mup\n`, `{"q":"a\u001b]0;x\u0007\n- b: c"}`)
		}, join(
			`allow coder 3 -3: look\u001b[31mup\u000a with {"q":"a\u001b]0;x\u0007\n- b: c"}`,
		)},
		{"open, withdrawn and without a host", func(w *world) {
			for range 5 {
				w.propose("coder", "files", bash, `{"command":"git diff a"}`)
				id := w.propose("coder", "files", bash, `{"command":"git diff a"}`)
				w.add(journal.Draft{Settles: id, Envelope: protocol.Envelope{From: "coder", Kind: protocol.KindMCPWithdraw, Correlation: protocol.CorrelateTo(id), Payload: json.RawMessage(`{"reason":"timeout"}`)}})
			}
		}, ""},
		{"a rejection that names no host", func(w *world) {
			w.approved(1, "coder", "files", bash, command("git diff a", "git diff b", "git diff c")...)
			w.reject("alice", w.add(journal.Draft{Envelope: protocol.Envelope{From: "coder", Kind: protocol.KindMCPProposal, Payload: json.RawMessage(
				`{"method":"tools/call","params":{"name":"Bash","arguments":{"command":"git diff d"}}}`)}}))
		}, join(
			`people coder 3: Bash {"command":"git diff c"}: a rule for it would also allow what alice rejected`,
		)},
		{"denials that would deny more", func(w *world) {
			w.rejected(3, "coder", "files", bash, command("git push; git diff", "eval x", "ls > x")...)
			w.rejected(1, "coder", "files", bash, command("git log a", "git log b", "git log c")...)
			w.approved(1, "coder", "files", bash, command("ls a | xargs git log")...)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := office(t)
			c.work(w)
			o := w.options()
			o.Never = []string{"billing_*"}
			if got := says(w.run(o)); got != c.want {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

func join(lines ...string) string { return strings.Join(lines, "\n") }
