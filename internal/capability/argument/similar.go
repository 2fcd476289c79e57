package argument

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/meup-protocol/meup/internal/kit/glob"
)

// Similar returns a value of $shell that allows commands like this one, and whether there is
// one: the same programs with other operands, the options as they are, and the same files
// and variables. The value of an option for a folder or a file stays too. Commands that destroy,
// programs that run other commands and commands with the name of a secret file are allowed only
// as they are.
func Similar(c *Command) (value map[string]any, ok bool) {
	if c.unclear != "" {
		return nil, false
	}
	var commands, writes, reads []string
	for i := range c.calls {
		x := &c.calls[i]
		if x.known || x.harmless() {
			continue
		}
		p, ok := x.similar()
		if !ok || len(commands) >= maxEntries {
			return nil, false
		}
		if !slices.Contains(commands, p) {
			commands = append(commands, p)
		}
	}
	for i := range c.files {
		f := &c.files[i]
		switch {
		case f.name.unsure || f.moved || f.name.text == "":
			return nil, false
		case f.write:
			writes = append(writes, f.name.text)
		default:
			reads = append(reads, f.name.text)
		}
	}
	value = make(map[string]any)
	if len(commands) > 0 {
		value["commands"] = commands
	}
	if len(writes) > 0 {
		value["write"] = map[string]any{"below": writes}
	}
	if len(reads) > 0 {
		value["read"] = map[string]any{"below": reads}
	}
	if len(c.vars) > 0 {
		value["env"] = c.vars
	}
	return value, len(value) > 0
}

// Exact returns patterns that allow exactly this command: its simple commands, word by word. It
// is empty if there are none, or files or variables beside them.
func Exact(c *Command) []string {
	if c.unclear != "" || len(c.files)+len(c.vars) > 0 {
		return nil
	}
	var out []string
	for i := range c.calls {
		x := &c.calls[i]
		if x.known || x.harmless() {
			continue
		}
		words, ok := x.quoted()
		p := strings.Join(words, " ")
		if !ok || len(p) > maxEntry || len(words) > maxPatternWords || len(out) >= maxEntries {
			return nil
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// quoted returns the words of a command as a pattern has them; false: no pattern matches them.
func (c *simple) quoted() ([]string, bool) {
	words := make([]string, len(c.words))
	for i, w := range c.words {
		quoted, err := syntax.Quote(w.text, syntax.LangBash)
		if err != nil || w.unsure || w.pipe || glob.HasStar(w.text) || i == 0 && w.text == "" {
			return nil, false
		}
		words[i] = quoted
	}
	return words, true
}

// similar returns a pattern of commands like this one; false: no pattern matches it.
func (c *simple) similar() (string, bool) {
	words, ok := c.quoted()
	if !ok {
		return "", false
	}
	name := c.words[0].text
	if c.strays(name, &site{}) {
		return "", false
	}
	last := 0 // the last word that has to stay
	for i := range c.words {
		switch {
		case !c.words[i].isOption():
		case placing.MatchString(c.words[i].text) && i+1 < len(c.words):
			last = i + 1
		default:
			last = i
		}
	}
	said, option := c.said()
	last = max(last, len(said)-1)
	text := strings.Join(words, " ")
	secret := slices.ContainsFunc(c.words, func(w word) bool { return NamesSecret(w.text) })
	if !option && !secret && !strings.Contains(name, "/") && name != "cd" && !onlyAsIs(said) {
		text = strings.Join(words[:last+1], " ") + " **"
	}
	return text, len(text) <= maxEntry && len(words) <= maxPatternWords
}

// onlyAsIs reports whether a command of which the words are what it does is allowed with no other
// operands.
func onlyAsIs(said []string) bool {
	name := said[0]
	if slices.Contains(packaged, name) {
		return len(said) == 1 || onlyAsIs(said[1:])
	}
	begins := func(list []string) bool {
		return slices.ContainsFunc(list, func(d string) bool { return strings.HasPrefix(strings.Join(said, " ")+" ", d+" ") })
	}
	_, hides := hiding[unversioned(name)]
	return begins(destructive) || begins(operandRunners) || slices.Contains(shells, unversioned(name)) || slices.Contains(wrappers, name) ||
		hides && name != "git" && name != "npm"
}

// said returns the program of a command and the words after it that say what it does, and whether
// an option stands before one of them or it is missing, so that it is not known which word that is. The program
// of npx is the one that it names.
func (c *simple) said() (words []string, option bool) {
	words = []string{program(c.words[0].text)}
	inner := c.packaged()
	if inner != nil {
		more, option := inner.said()
		name := c.words[1].text
		elsewhere := strings.ContainsRune(name, ':') || strings.ContainsRune(name, '/') && name[0] != '@' // no package of a registry
		return append(words, more...), option || elsewhere || name == "" || name[0] == '-'
	}
	if !slices.Contains(subcommands, words[0]) {
		return words, false
	}
	for i := 1; i == 1 || slices.Contains(nested, words[0]) && i == 2 || slices.Contains(nested, strings.Join(words, " ")); i++ {
		if i == len(c.words) || c.words[i].isOption() {
			return words, true
		}
		words = append(words, c.words[i].text)
	}
	return words, false
}

// packaged returns the command of the package that npx and its like run, without a version; nil: it is
// another command.
func (c *simple) packaged() *simple {
	if !slices.Contains(packaged, likely(c.words[0].text)) || len(c.words) == 1 {
		return nil
	}
	inner := &simple{words: slices.Clone(c.words[1:])}
	name := &inner.words[0].text
	at := strings.LastIndexByte(*name, '@')
	if at > 0 {
		*name = (*name)[:at]
	}
	return inner
}

// MayDestroy reports whether a command is one that a rule never generalizes, has one in it or
// in its words (sudo, xargs, sh -c), or is not clear.
func MayDestroy(c *Command) bool {
	if c.unclear != "" {
		return true
	}
	rule := destroying()
	for i := range c.calls {
		x := &c.calls[i]
		name := likely(x.words[0].text)
		said, _ := x.said()
		if slices.Contains(targets, said[0]) && len(x.words) > 1 {
			said = append(said, x.words[1].text)
		}
		if slices.ContainsFunc(said[1:], risky.MatchString) {
			return true
		}
		runs := slices.Contains(wrappers, name) || slices.Contains(shells, name)
		if inner := x.packaged(); inner != nil && rule.deniesWords(inner.words) {
			return true
		}
		for j := range x.words {
			w := &x.words[j]
			if rule.deniesWords(x.words[j:]) || runs && strings.ContainsAny(w.text, " \t\n;|&") && MayDestroy(Parse(w.text)) {
				return true
			}
			if !runs {
				break
			}
		}
		if slices.ContainsFunc(x.inner, MayDestroy) {
			return true
		}
	}
	return false
}

// destroying returns the rule for the destructive commands.
var destroying = sync.OnceValue(func() *Shell {
	s := &Shell{}
	for _, text := range append(slices.Clone(destructive), "find -delete", "fd -x", "docker compose down") {
		p, err := parsePattern(text + " **")
		if err != nil {
			panic(err)
		}
		s.commands = append(s.commands, p)
	}
	return s
})

// Family returns the program of a command, with its subcommand, if the command is one program
// alone whose words are certain.
func Family(c *Command) (name string, ok bool) {
	if c.unclear != "" || len(c.calls) != 1 || len(c.files)+len(c.vars) > 0 || c.calls[0].known {
		return "", false
	}
	x := &c.calls[0]
	words, ok := x.quoted()
	if !ok {
		return "", false
	}
	said, option := x.said()
	return strings.Join(words[:len(said)], " "), !option || len(said) == len(words)
}
