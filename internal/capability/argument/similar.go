package argument

import (
	"slices"
	"strings"

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

// similar returns a pattern of commands like this one; false: no pattern matches it.
func (c *simple) similar() (string, bool) {
	words := make([]string, len(c.words))
	last := 0 // the last word that has to stay
	for i, w := range c.words {
		quoted, err := syntax.Quote(w.text, syntax.LangBash)
		if err != nil || w.unsure || w.pipe || glob.HasStar(w.text) || i == 0 && w.text == "" {
			return "", false
		}
		words[i] = quoted
		if w.isOption() {
			last = i
		}
	}
	name := c.words[0].text
	said := program(name)
	if len(words) > 1 && slices.Contains(subcommands, said) {
		last = max(last, 1)
		said += " " + c.words[1].text
	}
	_, hides := hiding[program(name)]
	exact := slices.Contains(destructive, program(name)) || slices.Contains(destructive, said) || strings.Contains(name, "/") ||
		slices.Contains(shells, name) || slices.Contains(wrappers, name) || hides && name != "git" && name != "npm" || name == "cd"
	text := strings.Join(words, " ")
	if !exact {
		text = strings.Join(words[:last+1], " ") + " **"
	}
	return text, len(text) <= maxEntry && len(words) <= maxPatternWords
}
