package argument

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// example is a command of testdata with the rule that it is about.
type example struct {
	place string // file and line
	rule  *Shell
	text  string
	note  string // what follows ##
}

// examples reads a file of testdata, whose head describes its lines.
func examples(t testing.TB, name string) []example {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var list []example
	var rule *Shell
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line, place := lines.Text(), fmt.Sprintf("%s:%d", name, n)
		source, isRule := strings.CutPrefix(line, "== ")
		switch {
		case line == "" || line == "#" || strings.HasPrefix(line, "# "):
		case isRule:
			rule = shellRule(t, place, source)
		default:
			text, note, _ := strings.Cut(line, "  ## ")
			if strings.HasPrefix(text, `"`) {
				text, err = strconv.Unquote(text)
				if err != nil {
					t.Fatalf("%s: %v", place, err)
				}
			}
			list = append(list, example{place, rule, text, note})
		}
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return list
}

func shellRule(t testing.TB, place, source string) *Shell {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(source), protocol.MaxDepth)
	if err != nil {
		t.Fatalf("%s: %v", place, err)
	}
	rule, err := ParseShell(doc.Root())
	if err != nil {
		t.Fatalf("%s: %v", place, err)
	}
	return rule
}

// A program with a relative path is another one after cd, but not if that is in a subshell of its words.
func TestShell_FolderOfProgram(t *testing.T) {
	rule := shellRule(t, "rule", `{"commands":["./diff * *","cd *","ls"]}`)
	for text, want := range map[string]bool{"./diff a <(cd b && ls)": true, "./diff a b; cd c": true, "cd c && ./diff a b": false, "cd c; ./diff a b": false} {
		if got := rule.Allows(Parse(text), Place{}); got != want {
			t.Errorf("%q is allowed: %t", text, got)
		}
	}
}

func TestShell_Evasions(t *testing.T) {
	list := examples(t, "evasions.txt")
	if len(list) < 300 {
		t.Errorf("%d evasions, want 300", len(list))
	}
	for _, e := range list {
		if e.note == "" {
			t.Errorf("%s: %q has no reason", e.place, e.text)
		}
		if e.rule.Allows(Parse(e.text), Place{}) {
			t.Errorf("%s: %q is allowed: %s", e.place, e.text, e.note)
		}
	}
}

// TestShell_LongEvasions has commands that are too long or too deep to stand in a file.
func TestShell_LongEvasions(t *testing.T) {
	rule := shellRule(t, "rule", `{"commands": ["echo **", "git status"], "env": ["CI"]}`)
	const many = 100_000
	tests := map[string]string{
		"arguments":        "echo" + strings.Repeat(" a", many),
		"one word":         "echo " + strings.Repeat("a", many),
		"list":             strings.Repeat("git status; ", many) + "git push",
		"blanks":           "git status" + strings.Repeat(" ", many) + "; git push",
		"line breaks":      "git status" + strings.Repeat("\n", many) + "git push",
		"comment":          "git status #" + strings.Repeat("a", many) + "\ngit push",
		"here-document":    "echo <<EOF\n" + strings.Repeat("a\n", many) + "EOF\ngit push",
		"quotes":           "echo " + strings.Repeat("''", many) + "$(git push)",
		"assignments":      strings.Repeat("CI=1 ", many) + "git push",
		"subshells":        strings.Repeat("(", many) + "git push" + strings.Repeat(")", many),
		"open subshells":   strings.Repeat("(", many),
		"groups":           strings.Repeat("{ ", many) + "git push;" + strings.Repeat(" }", many),
		"substitutions":    "echo " + strings.Repeat("$(echo ", many) + strings.Repeat(")", many),
		"open backquotes":  "echo " + strings.Repeat("`", many+1),
		"parameters":       "echo " + strings.Repeat("${x:-", many) + strings.Repeat("}", many),
		"arithmetic":       "echo $((" + strings.Repeat("(", many) + "1" + strings.Repeat(")", many) + "))",
		"conditions":       strings.Repeat("if git status; then ", many) + "git push" + strings.Repeat("; fi", many),
		"negations":        "[[ " + strings.Repeat("! ", many) + "a ]]",
		"braces":           "echo " + strings.Repeat("{a,b}", many),
		"continued":        "echo " + strings.Repeat("\\\n", many) + "$(git push)",
		"just over 64 KiB": "echo " + strings.Repeat("a", 64<<10),
		"brackets":         "echo " + strings.Repeat("'()'", maxBrackets+1),
		"open brackets":    strings.Repeat("(", maxBrackets+1),
		"a choice":         "echo $((" + strings.Repeat("1?", maxBrackets) + "1" + strings.Repeat(":1", maxBrackets) + "))",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			c := Parse(text)
			if rule.Allows(c, Place{}) {
				t.Error("is allowed")
			}
			if !rule.Denies(c, Place{}) {
				t.Error("is not denied")
			}
		})
	}
}

// TestShell_WrappedWords has more words after a wrapper than a deny rule looks at, each of which may
// be the command that it runs.
func TestShell_WrappedWords(t *testing.T) {
	rule := shellRule(t, "rule", `{"commands": ["rm **"]}`)
	for n, want := range map[int]bool{maxWrapped: false, maxWrapped + 1: true} {
		c := Parse("nice" + strings.Repeat(` a\ b`, n))
		if got := rule.Denies(c, Place{}); got != want {
			t.Errorf("%d words: denied %t, want %t", n, got, want)
		}
		if n == maxWrapped && rule.Cost(c) < n*n {
			t.Errorf("%d words cost %d", n, rule.Cost(c))
		}
	}
}

func TestShell_Harmless(t *testing.T) {
	list := examples(t, "harmless.txt")
	if len(list) < 300 {
		t.Errorf("%d harmless commands, want 300", len(list))
	}
	allowed := 0
	var refused []string
	for _, e := range list {
		if e.rule.Allows(Parse(e.text), Place{}) {
			allowed++
		} else {
			refused = append(refused, fmt.Sprintf("%s: %q", e.place, e.text))
		}
	}
	t.Logf("%d of %d are allowed", allowed, len(list))
	t.Logf("refused:\n%s", strings.Join(refused, "\n"))
	if allowed*100 < len(list)*95 {
		t.Errorf("%d of %d are allowed, want 95 %%", allowed, len(list))
	}
}

func TestShell_Denied(t *testing.T) {
	list := examples(t, "denied.txt")
	if len(list) < 120 {
		t.Errorf("%d denied commands, want 120", len(list))
	}
	for _, e := range list {
		if !e.rule.Denies(Parse(e.text), Place{}) {
			t.Errorf("%s: %q is not denied: %s", e.place, e.text, e.note)
		}
	}
}

func TestShell_Spared(t *testing.T) {
	list := examples(t, "spared.txt")
	if len(list) < 60 {
		t.Errorf("%d spared commands, want 60", len(list))
	}
	for _, e := range list {
		if e.rule.Denies(Parse(e.text), Place{}) {
			t.Errorf("%s: %q is denied", e.place, e.text)
		}
	}
}
