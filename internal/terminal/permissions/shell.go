package permissions

import (
	"errors"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Bounds of a pattern of a command.
const (
	maxPatternBytes = 1024
	maxPatternWords = 32
)

// shellSyntax are the characters that operators and expansions of a shell have.
const shellSyntax = "$`;&|<>(){}[]?~#!^"

// cutRest removes the star that stands for all further words of a command.
func cutRest(text string) (command string, rest bool) {
	text = strings.Trim(text, " ")
	if body, ok := strings.CutSuffix(text, ":*"); ok {
		return strings.TrimRight(body, " "), true
	}
	body := strings.TrimRight(text, "*")
	if len(body) < len(text) && (body == "" || body[len(body)-1] == ' ') {
		return strings.TrimRight(body, " "), true
	}
	return text, false
}

// allowed translates a command with stars, each of which stands for any text, to a pattern
// that matches no other commands.
func (t *translation) allowed(text string) (pattern, note string, err error) {
	body, rest := cutRest(text)
	words := strings.Fields(body)
	quoted := strings.ContainsAny(body, `"'\`)
	switch {
	case len(words) == 0:
		return "", "", errors.New("it names no program")
	case strings.ContainsFunc(body, invisible):
		return "", "", errors.New("it has a character that is not seen")
	case strings.ContainsAny(body, shellSyntax):
		return "", "", errors.New("it has an operator or an expansion of the shell")
	case quoted && strings.Contains(body, "*"):
		return "", "", errors.New("it has quotes and a star")
	case quoted && !balanced(body):
		return "", "", errors.New("its quotes do not end")
	case strings.ContainsAny(words[0], `"'\`):
		return "", "", errors.New("the name of its program has quotes")
	case strings.Contains(words[0], "*"):
		return "", "", errors.New("the name of its program has a star")
	case strings.Contains(words[0], "="):
		return "", "", errors.New("it assigns a variable")
	}
	var notes []string
	for i, word := range words {
		if !strings.Contains(word, "*") {
			continue
		}
		words[i] = singleStars(word)
		if i == len(words)-1 { // its star stands for further words too
			rest = true
		} else {
			notes = append(notes, "a star is a part of one word")
		}
	}
	out := strings.Join(words, " ")
	if quoted {
		out = body
	}
	if rest && t.o.Options && path.Base(words[0]) != "find" { // whose options delete and execute
		out += " -**"
	} else if rest {
		out += " **"
		notes = append(notes, "without options")
	}
	if len(out) > maxPatternBytes || len(words) >= maxPatternWords {
		return "", "", errors.New("it is too long")
	}
	return out, strings.Join(slices.Compact(notes), ", "), nil
}

// invisible reports whether a character is no blank, and separates words or is not seen.
func invisible(r rune) bool {
	return r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Z, r) && r != ' '
}

// singleStars replaces runs of stars by one.
func singleStars(text string) string {
	for strings.Contains(text, "**") {
		text = strings.ReplaceAll(text, "**", "*")
	}
	return text
}

// doubleStars replaces runs of stars by two, which match any text.
func doubleStars(text string) string { return strings.ReplaceAll(singleStars(text), "*", "**") }

// balanced reports whether all quotes of a text end.
func balanced(text string) bool {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quote != '\'':
			i++
			if i == len(text) {
				return false
			}
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return quote == 0
}

// restrict adds a command that a rule asks about or denies: as a pattern of a command, or as
// a glob over the text of the call.
func (t *translation) restrict(r Rule, tool, text string) {
	body, rest := cutRest(text)
	words := strings.Fields(body)
	if len(words) == 0 {
		t.add(r, []string{tool}, nil, "every command")
		return
	}
	if strings.ContainsAny(body, shellSyntax+`*"'\`) || strings.ContainsFunc(body, invisible) || strings.Contains(words[0], "=") || len(body) > maxPatternBytes-3 || len(words) >= maxPatternWords {
		glob := doubleStars("*" + body + "*")
		if len(glob) > maxGlob {
			glob = strings.TrimRight(strings.ToValidUTF8(glob[:maxGlob-2], ""), "*") + "**"
		}
		t.add(r, []string{tool}, object{{"command", glob}}, "a text in the command")
		return
	}
	out := strings.Join(words, " ")
	if rest {
		out += " **"
	}
	t.command(r, tool, out, "")
}
