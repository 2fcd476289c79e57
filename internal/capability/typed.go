package capability

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/protocol"
)

// typed is a pattern that matches a text by what it means. One of shell, path and url is set.
type typed struct {
	shell *argument.Shell
	seen  *argument.Shell // of shell, for modeSeen
	path  *argument.Path
	url   *argument.URL
	cost  int // steps of a comparison with another pattern
}

// String describes what is matched to people.
func (t *typed) String() string {
	switch {
	case t.shell != nil:
		return t.shell.String()
	case t.path != nil:
		return t.path.String()
	}
	return t.url.String()
}

// matcherName is a key that makes an object pattern a typed pattern. A JSONPath
// begins with $. or $[.
var matcherName = regexp.MustCompile(`^\$[A-Za-z]\w*$`)

// matcher compiles a typed pattern.
func (p *patternParser) matcher(out *Pattern, pointer, name string, v protocol.Value) {
	var err error
	t := &typed{cost: 1 + len(v.Raw())/8}
	out.class, out.typed = classTyped, t
	switch name {
	case "$shell":
		t.shell, err = argument.ParseShell(v)
		if err == nil {
			t.seen = t.shell.Seen()
		}
	case "$path":
		t.path, err = argument.ParsePath(v)
	case "$url":
		t.url, err = argument.ParseURL(v)
	case "$text":
		if v.Type() != protocol.TypeString {
			err = fmt.Errorf("it must be a string, not %s", v.Type())
			break
		}
		p.text(out, pointer, v.Text())
		out.typed, out.meant = nil, true
	default:
		err = fmt.Errorf("unknown matcher %s; there are $shell, $path, $url and $text, and a JSONPath begins with $. or $[", name)
	}
	var where *argument.Error
	switch {
	case errors.As(err, &where):
		p.Fail(pointer+where.Pointer, where.Err)
	case err != nil:
		p.Fail(pointer, err)
	}
}

// match matches a value that is no array. A deny rule also matches an object, in which a
// command or a path may be.
func (t *typed) match(v protocol.Value, m Mode, w *Work) bool {
	if v.Type() != protocol.TypeString {
		return m.deny() && m&modeSeen == 0 && v.Type() == protocol.TypeObject
	}
	text := v.Text()
	if t.shell != nil {
		c, ok := w.parse(text)
		switch {
		case !ok || !w.Spend(t.shell.Cost(c)):
			return m.deny()
		case m.deny():
			return t.denies(c, m, w)
		}
		return t.shell.Allows(c, w.place)
	}
	verdict := argument.Maybe
	switch {
	case t.path != nil && w.Spend(t.path.Cost(len(text))):
		verdict = t.path.Match(text, w.place)
	case t.url != nil && w.Spend(t.url.Cost(len(text))):
		verdict = t.url.Match(text)
	}
	return verdict == argument.Yes || m.deny() && verdict == argument.Maybe
}

// matchWords matches an array of texts as the words of one command, in a deny rule.
func (t *typed) matchWords(v protocol.Value, m Mode, w *Work) bool {
	if t.shell == nil {
		return false
	}
	var words []string
	for e := range v.Elements {
		if e.Type() != protocol.TypeString {
			return m&modeSeen == 0
		}
		words = append(words, e.Text())
	}
	if !w.Spend(100 + len(v.Raw())) {
		return true
	}
	c := argument.Words(words)
	return !w.Spend(t.shell.Cost(c)) || t.denies(c, m, w)
}

// denies matches a command in a deny rule.
func (t *typed) denies(c *argument.Command, m Mode, w *Work) bool {
	if m&modeSeen != 0 {
		return t.seen.Denies(c, w.place)
	}
	return t.shell.Denies(c, w.place)
}

// covers reports whether t, in an allowing rule, certainly matches every text that u matches.
func (t *typed) covers(u *typed, w *Work) bool {
	if !w.Spend(t.cost * u.cost / 8) {
		return false
	}
	switch {
	case t.shell != nil && u.shell != nil:
		return t.shell.Covers(u.shell)
	case t.path != nil && u.path != nil:
		return t.path.Covers(u.path)
	case t.url != nil && u.url != nil:
		return t.url.Covers(u.url)
	}
	return false
}

// verdicts says, in a line each, whether typed patterns in p match the parts of commands, the paths
// and the URLs in v, and why not.
func (p *Pattern) verdicts(v protocol.Value, m Mode, w *Work) []string {
	var out []string
	switch {
	case p.class == classTyped && p.typed.shell != nil && v.Type() == protocol.TypeString:
		c, ok := w.parse(v.Text())
		if !ok {
			return nil
		}
		for _, line := range p.typed.shell.Explain(c, w.place) {
			part := "the text as a whole"
			if line.Part != "" {
				part = short(quote(line.Part))
			}
			if line.Why == "" {
				out = append(out, "  "+part+" is allowed")
			} else {
				out = append(out, "  "+part+" is not allowed: "+line.Why)
			}
		}
	case p.class == classTyped && v.Type() == protocol.TypeString:
		var verdict argument.Verdict
		says := " is allowed"
		if p.typed.path != nil {
			verdict = p.typed.path.Match(v.Text(), w.place)
		} else {
			verdict = p.typed.url.Match(v.Text())
		}
		switch verdict {
		case argument.No:
			says = " is none of the " + p.typed.String()
		case argument.Maybe:
			says = " is not certain to be one of the " + p.typed.String()
			if p.typed.path != nil && w.place.Root == "" {
				says += "; the participant that runs the call has no root"
			}
		}
		out = append(out, "  "+short(quote(v.Text()))+says)
	case p.class == classObject:
		for i := range p.fields {
			f := &p.fields[i]
			if x := f.single(v, m); x.Exists() {
				out = append(out, f.value.verdicts(x, m, w)...)
			}
		}
	}
	return out
}
