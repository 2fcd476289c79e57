package argument

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// fuzzRules are rules of every sort.
var fuzzRules = []string{
	composedRule,
	`{"commands": ["git status", "git diff **", "git log -**", "rm **", "echo **", "cd *"]}`,
	`{"commands": "true", "read": "preset"}`,
	`{"commands": "cat **", "read": {"below": ["a", "/b"], "not": "**/.git/**", "preset": true}, "write": {"below": "~"}, "env": ["A", "PATH"]}`,
}

// FuzzShell checks what holds for all texts: a deny rule matches what an allowing rule with the
// same patterns matches; a list is allowed only if its commands are; quotes and blanks make
// no difference. Texts of a composer come from the seed.
func FuzzShell(f *testing.F) {
	for i, text := range []string{
		"", " ", "a", "git status", "git diff a && git log -1 | rm x", "cd a && git diff b", "echo $(rm x) `a` ${x:-b} $((1)) <(c) > d 2>&1", "cat <<EOF\n$x\nEOF\n", "cat <<'A' <<-B\nA\n\tB\nrm",
		"if a; then b; elif c; then d; else e; fi", "for x in a b; do c; done", "case a in b|c) d;; *) e;& esac", "[[ -v 'a[$(b)]' && 1 -eq x ]]", "((a[b]))", "f() { a; }; f", "A=1 B=$(c) export D=e", "a # b \\\nc",
		"sudo -u a env B=c timeout 5 sh -c 'rm \"d\"'", "find . -exec rm {} +", "bash -c \"bash -c 'eval \\\"a\\\"'\"", "a \\", "'", "\"$(", "a\x00b", "a\r\nb", "\xff", "{a,b} ~c *d ?e [f]", "coproc a", "a |& b &> c; { d; } & ! e", "git\u00a0status",
	} {
		f.Add(text, uint64(i))
	}
	var rules []*Shell
	for _, source := range fuzzRules {
		rules = append(rules, shellRule(f, "rule", source))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		c := &composer{r: rand.New(rand.NewPCG(seed, 3)), parts: true}
		a, b := c.command(2), c.command(2)
		list := c.join(a, b)
		plain, spelled := c.spellings()
		for i, rule := range rules {
			allows := func(text string) bool {
				c := Parse(text)
				allowed := rule.Allows(c, Place{})
				if allowed && !rule.Denies(c, Place{}) {
					t.Errorf("%s allows %q and does not deny it", fuzzRules[i], text)
				}
				return allowed
			}
			allows(text)
			if allows(list) {
				for _, part := range []string{a, b} {
					for _, line := range rule.Explain(Parse(part), Place{}) {
						if line.Why != "" && line.Why != nothingNamed {
							t.Errorf("%s allows %q and not its part %q: %s", fuzzRules[i], list, part, line.Why)
						}
					}
				}
			}
			if allows(plain) != allows(spelled) {
				t.Errorf("%s allows one of %q and %q", fuzzRules[i], plain, spelled)
			}
			if rule.Denies(Parse(plain), Place{}) != rule.Denies(Parse(spelled), Place{}) {
				t.Errorf("%s denies one of %q and %q", fuzzRules[i], plain, spelled)
			}
		}
	})
}

// spellings returns a command of literal words in two spellings.
func (c *composer) spellings() (plain, spelled string) {
	words := strings.Fields(c.pick("alpha", "gamma", "beta one", "beta two", "git status", "git diff", "git log", "rm", "echo", "cat", "ls", "sudo rm", "xargs rm"))
	for range c.r.IntN(4) {
		words = append(words, c.pick("a", "b.txt", "web/x", "-x", "--long", "--output=x", "-exec", "status", "rm", "one"))
	}
	for i, w := range words {
		words[i] = c.spell(w)
		for c.chance(20) {
			words[i] = `""` + words[i] + `''`
		}
		plain += w + " "
	}
	return strings.TrimSuffix(plain, " "), c.pick("", " ", "\t", "\n", "\\\n") + strings.Join(words, c.pick(" ", "  ", "\t", " \\\n ")) + c.pick("", " ", "\n", " # x", ";")
}
