package permissions

import (
	"strings"
	"testing"
)

func TestTranslate_Codex(t *testing.T) {
	many := strings.Repeat(`["a","b"],`, 7)
	for _, test := range []struct{ name, rules, want string }{
		{"nothing", "# a comment\n\"a text\"\n", ""},
		{"a prefix", `prefix_rule(pattern=["git", "status"], decision="allow")`, `Bash runs ["git status **"]; without options`},
		{"allowed by default", `prefix_rule(pattern=["ls"])`, `Bash runs ["ls **"]; without options`},
		{"by position", `prefix_rule(["ls"], "forbidden")`, `Bash runs ["ls **"]`},
		{"asked about", `prefix_rule(pattern=["git", "push"], decision="prompt", justification="it is public")`, `Bash runs ["git push **"]`},
		{"alternatives", `prefix_rule(pattern=[["npm", "pnpm"], ["test", "lint"]])`, `Bash runs ["npm test **", "npm lint **", "pnpm test **", "pnpm lint **"]; without options`},
		{"too many alternatives", `prefix_rule(pattern=["x", ` + many + `])`, "left: it has a word that command patterns have not, or too many words"},
		{"too many denied", `prefix_rule(pattern=["x", ["y"], [` + strings.Repeat(`"z",`, 65) + `]], decision="forbidden")`, `Bash runs ["x y **"]; with any words after these`},
		{"words with blanks", `prefix_rule(pattern=["git", "commit", "-m", "a $b"])`, `Bash runs ["git commit -m 'a $b' **"]; without options`},
		{"a word with a star", `prefix_rule(pattern=["ls", "*.go"])`, "left: it has a word that command patterns have not, or too many words"},
		{"a denied word with a star", `prefix_rule(pattern=["rm", "*"], decision="forbidden")`, `Bash runs ["rm **"]; with any words after these`},
		{"a denied program with a star", `prefix_rule(pattern=["*"], decision="forbidden")`, "Bash; every command, because it has a word that command patterns have not"},
		{"an escape in a word", `prefix_rule(pattern=["a\x1bb"])`, "left: it has a word that command patterns have not, or too many words"},
		{"an assignment", `prefix_rule(pattern=["A=1", "x"])`, "left: it has a word that command patterns have not, or too many words"},
		{"a raw text over lines", "prefix_rule(\n  pattern = [r'''git''', (\"diff\")],\n)", `Bash runs ["git diff **"]; without options`},
		{"computed and allowed", `prefix_rule(pattern=["git"] + ["diff"])`, "left: its pattern is computed"},
		{"computed and denied", `prefix_rule(pattern=[x], decision="forbidden")`, "Bash; every command, because its pattern is computed"},
		{"a computed decision", `prefix_rule(pattern=["git"], decision=d)`, "left: its decision is computed"},
		{"other statements", "x = 1\nhost_executable(name=\"git\", paths=[\"/usr/bin/git\"])\nnetwork_rule(host=\"a\", protocol=\"https\", decision=\"allow\")\nother()\n", "left: it is no call of prefix_rule; only rules that are written out are translated\nleft: capabilities compare the name of a program, and know no folders of programs\nleft: it is about the network of commands, not about calls\nleft: other is not known"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(summaries(t, "codex", test.rules, Options{}), "\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestTranslate_CodexConfig(t *testing.T) {
	text := "model = \"x\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"
	result, err := Translate("codex", []File{{Path: "config.toml", Text: []byte(text)}}, Options{})
	if err != nil || len(result.Capabilities) != 0 || len(result.Left) != 2 || result.Left[0].Text != `approval_policy = "never"` || result.Left[1].Text != `sandbox_mode = "danger-full-access"` {
		t.Errorf("%v %+v", err, result)
	}
}
