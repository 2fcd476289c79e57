package argument

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// soup makes rules for commands, and commands, out of one small vocabulary.
type soup struct{ *rand.Rand }

func (r soup) pick(list ...string) string { return list[r.IntN(len(list))] }

func (r soup) pattern() string {
	s := r.pick("git", "alpha", "cat", "./x", "sh")
	for range r.IntN(4) {
		w := r.pick("a", "b", "a/b", "a/..", "-x", "-xy", "--out", "--out=a", "--", "-", "a:b", "x=1", "''", "..", "src/a", "'a b'", "*", "**", "-*", "-**", "a*", "a/*", "a/**", "*a", "--out=*", "-x*", "a:*")
		s += " " + w
		if w == "**" || w == "-**" {
			break
		}
	}
	return s
}

func (r soup) path() string {
	not := ""
	if r.IntN(2) == 0 {
		not = fmt.Sprintf(`,"not":[%q]`, r.pick("**/a", "*.pem", "a", "/etc/**", "~/.ssh", "a/**/b", "src/*", ".git"))
	}
	return fmt.Sprintf(`{"below":[%q,%q]%s}`, r.pick(".", "src", "build", "src/a", "/", "/etc", "~", "~/a", "C:/a", "/r/src"), r.pick("src", "build", "src/a", "/etc/a"), not)
}

func (r soup) rule() string {
	var commands []string
	for range 1 + r.IntN(3) {
		commands = append(commands, fmt.Sprintf("%q", r.pattern()))
	}
	s := `{"commands":[` + strings.Join(commands, ",") + "]"
	if r.IntN(3) == 0 {
		s += `,"write":` + r.path()
	}
	switch r.IntN(5) {
	case 0:
		s += `,"read":"preset"`
	case 1:
		s += `,"read":` + r.path()
	case 2:
		s += `,"read":` + strings.TrimSuffix(r.path(), "}") + `,"preset":true}`
	}
	if r.IntN(3) == 0 {
		s += `,"env":["CI"]`
	}
	return s + "}"
}

func (r soup) command() string {
	var list []string
	for range 1 + r.IntN(3) {
		s := r.pick("git", "alpha", "cat", "./x", "sh", "cat", "head", "cd", "true", "grep", "git status", "git log")
		if r.IntN(8) == 0 {
			s = "CI=1 " + s
		}
		for range r.IntN(4) {
			s += " " + r.pick("a", "b", "a/b", "a/..", "-x", "-xy", "--out", "--out=a", "--", "-", "a:b", "x=1", "''", "..", "build", "src/a", "'a b'", "ab", "a/c/d", "-n5", "--out=zz", "a:zz", "/etc/passwd", "~/a")
		}
		if r.IntN(4) == 0 {
			s += r.pick(" > ", " < ", " >> ") + r.pick("src/a", "build/x", "/etc/a", "~/.ssh/x", "a", "src/../x", "x.pem", "src/a/.git/x")
		}
		list = append(list, s)
	}
	return strings.Join(list, r.pick("; ", " && ", " | "))
}

// TestShell_Covers checks with random rules and commands that what a granted rule allows is
// allowed by a rule that covers it, and denied by the same rule as a deny rule.
func TestShell_Covers(t *testing.T) {
	r := soup{testkit.Rand(t)}
	parse := func(source string) *Shell {
		doc, err := protocol.ParseJSON([]byte(source), protocol.MaxDepth)
		if err != nil {
			return nil // by the replacement below
		}
		s, err := ParseShell(doc.Root())
		if err != nil {
			return nil // a glob that excludes everything
		}
		return s
	}
	type example struct {
		text    string
		command *Command
	}
	var list []example
	for range 2000 {
		text := r.command()
		list = append(list, example{text, Parse(text)})
	}
	places := []Place{{}, {Root: "/r", Dir: "/r"}, {Root: "/r", Dir: "/r/src"}, {Root: "/r", Dir: "/etc"}, {Dir: "/r"}}
	rules, covered := 2000, 0
	if testkit.IsSlow() {
		rules = 60_000
	}
	for range rules {
		a := r.rule()
		b := r.rule()
		if r.IntN(2) == 0 { // a narrower one
			b = strings.Replace(a, r.pick(`"src"`, "**", "*", `"build"`, "a"), r.pick(`"src/a"`, "a", "*", `"build"`, "ab"), 1)
		}
		held, granted := parse(a), parse(b)
		if held == nil || granted == nil {
			continue
		}
		covers := held.Covers(granted)
		if covers {
			covered++
		}
		for range 50 {
			x, at := &list[r.IntN(len(list))], places[r.IntN(len(places))]
			if !granted.Allows(x.command, at) {
				continue
			}
			if !granted.Denies(x.command, at) {
				t.Errorf("%s allows %q in %v, and does not deny it", b, x.text, at)
			}
			if covers && !held.Allows(x.command, at) {
				t.Errorf("%s covers %s, which alone allows %q in %v", a, b, x.text, at)
			}
		}
	}
	if covered == 0 {
		t.Error("no rule covers another one")
	}
}
