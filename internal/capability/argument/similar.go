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
// and variables. Commands that destroy, and programs that run other commands, are allowed
// only as they are.
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
	last := 0 // the last word that has to stay
	for i := range c.words {
		if c.words[i].isOption() {
			last = i
		}
	}
	name := c.words[0].text
	if c.strays(name, &site{}) {
		return "", false
	}
	said, option := c.said()
	last = max(last, len(said)-1)
	_, hides := hiding[unversioned(program(name))]
	exact := option || strings.Contains(name, "/") ||
		slices.ContainsFunc(destructive, func(d string) bool { return d == said[0] || strings.HasPrefix(strings.Join(said, " ")+" ", d+" ") }) ||
		slices.Contains(shells, unversioned(name)) || slices.Contains(wrappers, name) || hides && name != "git" && name != "npm" || name == "cd"
	text := strings.Join(words, " ")
	if !exact {
		text = strings.Join(words[:last+1], " ") + " **"
	}
	return text, len(text) <= maxEntry && len(words) <= maxPatternWords
}

// said returns the program of a command and the words after it that say what it does, and whether
// an option stands before one of them, so that it is not known which word that is.
func (c *simple) said() (words []string, option bool) {
	words = []string{program(c.words[0].text)}
	if !slices.Contains(subcommands, words[0]) {
		return words, false
	}
	for i := 1; i < len(c.words) && (i == 1 || slices.Contains(nested, words[0]) && i == 2 || slices.Contains(nested, strings.Join(words, " "))); i++ {
		if c.words[i].isOption() {
			return words, true
		}
		words = append(words, c.words[i].text)
	}
	return words, false
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
	return strings.Join(words[:len(said)], " "), !option
}
