package permissions

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"go.starlark.net/syntax"
)

// codexEffects are the decisions of Codex.
var codexEffects = map[string]string{"allow": allow, "prompt": ask, "forbidden": deny}

// codexSettings are settings of Codex that decide about calls too.
var codexSettings = []string{"approval_policy", "approvals_reviewer", "sandbox_mode", "default_permissions"}

// Bounds of the commands of a rule, and of config.toml in bytes, since its parser has none for
// lists in lists.
const (
	maxAlternatives = 64
	maxConfig       = 256 << 10
)

// codex translates a file of rules of Codex, or its configuration.
func (t *translation) codex(f *File) error {
	if strings.HasSuffix(f.Path, ".toml") {
		return t.codexConfig(f)
	}
	file, err := (&syntax.FileOptions{}).Parse(f.Path, f.Text, 0)
	if err != nil {
		var at syntax.Error
		if errors.As(err, &at) {
			return fmt.Errorf("%s:%d: %s", f.Path, at.Pos.Line, at.Msg)
		}
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	lines := strings.Split(string(f.Text), "\n")
	for _, s := range file.Stmts {
		start, end := s.Span()
		written := strings.Join(lines[start.Line-1:min(int(end.Line), len(lines))], " ")
		r := Rule{setting, strings.Join(strings.Fields(written), " "), f.Path, int(start.Line)}
		var call *syntax.CallExpr // nil: it is none
		comment := false
		x, ok := s.(*syntax.ExprStmt)
		if ok {
			call, _ = x.X.(*syntax.CallExpr)
			_, comment = text(x.X)
		}
		switch {
		case comment:
		case call == nil:
			t.leave(r, "it is no call of prefix_rule; only rules that are written out are translated")
		case identifier(call.Fn) == "prefix_rule":
			if err := t.prefixRule(r, call); err != nil {
				return fmt.Errorf("%s:%d: %w", f.Path, start.Line, err)
			}
		case identifier(call.Fn) == "host_executable":
			t.leave(r, "capabilities compare the name of a program, and know no folders of programs")
		case identifier(call.Fn) == "network_rule":
			t.leave(r, "it is about the network of commands, not about calls")
		default:
			t.leave(r, "%s is not known", identifier(call.Fn))
		}
	}
	return nil
}

func identifier(e syntax.Expr) string {
	if id, ok := e.(*syntax.Ident); ok {
		return id.Name
	}
	return "it"
}

func text(e syntax.Expr) (string, bool) {
	if p, ok := e.(*syntax.ParenExpr); ok {
		return text(p.X)
	}
	l, ok := e.(*syntax.Literal)
	if !ok || l.Token != syntax.STRING {
		return "", false
	}
	s, ok := l.Value.(string)
	return s, ok
}

// prefixRule translates a call of prefix_rule. An error is one that Codex reports too.
func (t *translation) prefixRule(r Rule, call *syntax.CallExpr) error {
	args := map[string]syntax.Expr{}
	for i, arg := range call.Args {
		if x, ok := arg.(*syntax.BinaryExpr); ok && x.Op == syntax.EQ {
			args[identifier(x.X)] = x.Y
		} else if i < 2 {
			args[[]string{"pattern", "decision"}[i]] = arg
		}
	}
	decision, ok := "allow", true
	if args["decision"] != nil {
		decision, ok = text(args["decision"])
	}
	if !ok {
		t.leave(r, "its decision is computed")
		return nil
	}
	if codexEffects[decision] == "" {
		return fmt.Errorf("decision %q: expected allow, prompt or forbidden", decision)
	}
	r.Effect = codexEffects[decision]
	if args["pattern"] == nil {
		return errors.New("prefix_rule has no pattern")
	}
	tokens, ok := tokensOf(args["pattern"])
	switch {
	case !ok && r.Effect == allow:
		t.leave(r, "its pattern is computed")
	case !ok:
		t.add(r, []string{"Bash"}, nil, "every command, because its pattern is computed")
	case len(tokens) == 0:
		return errors.New("the pattern is empty")
	case r.Effect == allow:
		t.allowPrefix(r, tokens)
	default:
		t.restrictPrefix(r, tokens)
	}
	return nil
}

// tokensOf returns the words of a pattern, each with its alternatives.
func tokensOf(e syntax.Expr) (out [][]string, ok bool) {
	list, ok := e.(*syntax.ListExpr)
	if !ok {
		return nil, false
	}
	for _, x := range list.List {
		var token []string
		if s, ok := text(x); ok {
			token = []string{s}
		} else if alternatives, ok := x.(*syntax.ListExpr); ok {
			for _, y := range alternatives.List {
				s, ok := text(y)
				if !ok {
					return nil, false
				}
				token = append(token, s)
			}
		}
		if len(token) == 0 {
			return nil, false
		}
		out = append(out, token)
	}
	return out, true
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+:,./-]+$`)

// quoteWord returns a word of a command pattern; false: patterns cannot say it.
func quoteWord(word string) (string, bool) {
	switch {
	case plainWord.MatchString(word):
		return word, true
	case word == "" || !utf8.ValidString(word) || strings.ContainsAny(word, "*'") || strings.ContainsFunc(word, invisible):
		return "", false
	}
	return "'" + word + "'", true
}

// prefixes returns the commands of a pattern, quoted; false: one of them cannot be said, or
// there are too many.
func prefixes(tokens [][]string) (out []string, ok bool) {
	out = []string{""}
	for i, alternatives := range tokens {
		var next []string
		for _, before := range out {
			for _, word := range alternatives {
				quoted, ok := quoteWord(word)
				if !ok || i == 0 && strings.Contains(quoted, "=") || len(next) == maxAlternatives {
					return nil, false
				}
				next = append(next, strings.TrimSpace(before+" "+quoted))
			}
		}
		out = next
	}
	longest := slices.MaxFunc(out, func(a, b string) int { return len(a) - len(b) })
	return out, len(tokens) < maxPatternWords && len(longest) <= maxPatternBytes-4
}

func (t *translation) allowPrefix(r Rule, tokens [][]string) {
	list, ok := prefixes(tokens)
	if !ok {
		t.leave(r, "it has a word that command patterns have not, or too many words")
		return
	}
	for _, prefix := range list {
		program, _, _ := strings.Cut(prefix, " ")
		if t.o.Options && path.Base(program) != "find" { // whose options delete and execute
			t.command(r, "Bash", prefix+" -**", "")
		} else {
			t.command(r, "Bash", prefix+" **", "without options")
		}
	}
}

// restrictPrefix leaves out the end of a pattern that cannot be said, so that it is about more
// commands.
func (t *translation) restrictPrefix(r Rule, tokens [][]string) {
	for n := len(tokens); n > 0; n-- {
		list, ok := prefixes(tokens[:n])
		if !ok {
			continue
		}
		note := ""
		if n < len(tokens) {
			note = "with any words after these"
		}
		for _, prefix := range list {
			t.command(r, "Bash", prefix+" **", note)
		}
		return
	}
	t.add(r, []string{"Bash"}, nil, "every command, because it has a word that command patterns have not")
}

// codexConfig leaves the settings of config.toml that decide about calls.
func (t *translation) codexConfig(f *File) error {
	if len(f.Text) > maxConfig {
		return fmt.Errorf("%s has more than %d bytes", f.Path, maxConfig)
	}
	values := map[string]any{}
	if _, err := toml.Decode(string(f.Text), &values); err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			return fmt.Errorf("%s:%d: %s", f.Path, at.Position.Line, at.Message)
		}
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	for _, key := range codexSettings {
		if v, ok := values[key]; ok {
			t.leave(Rule{setting, fmt.Sprintf("%s = %s", key, encode(v)), f.Path, 0}, "it decides about calls without rules; only rules are translated")
		}
	}
	return nil
}
