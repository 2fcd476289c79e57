package argument

import (
	"errors"
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/protocol"
)

// maxPatternWords bounds the words of a pattern of a command.
const maxPatternWords = 32

// maxWrapped bounds the words of a command that runs one among them. A deny rule matches a longer one.
const maxWrapped = 256

// Shell is a compiled rule for shell commands. An allowing rule allows a command if each
// simple command in it is allowed by itself, and so is each file and each variable that
// the shell itself opens or sets. A deny rule denies it if one of them may be denied.
//
//	commands  patterns of simple commands
//	write     where redirections may write, a value of [Path]
//	read      where they may read; "preset": anywhere, and commands that only read
//	          are allowed too; a value of Path with "preset": true: those below it
//	env       variables that may be assigned
//
// A pattern of a command is the name of the program and words, separated by blanks:
//
//	word      the word, with stars as in other globs
//	*         one word that is no option
//	**        all further words, none of which is an option
//	-*        one option
//	-**       all further words
//
// Quotes and blanks of a command make no difference. A word with an expansion is matched by
// no word of a pattern of an allowing rule, and by any of a deny rule. In a deny rule further
// words may follow a pattern, options may stand anywhere, the folder of the program does not
// count, and commands in the words of others (sudo, xargs, sh -c) are looked at too.
type Shell struct {
	commands []pattern
	write    *Path
	read     *Path
	readAny  bool // anywhere
	preset   bool // commands that only read
	env      []string
	seen     bool // Denies only what can be seen
}

// pattern is a pattern of a simple command: the name of its program, then words.
type pattern struct {
	words  []patternWord
	source string
	name   string // of the program, as it is likely on any system
}

type patternWord struct {
	text string // with stars
	any  bool   // * or -*
	rest bool   // ** or -**
	// option: of any and rest, also options; of other words, an option itself.
	option bool
	stars  bool // text has stars
}

// ParseShell compiles the value of $shell. The error is an *[Error].
func ParseShell(v protocol.Value) (*Shell, error) {
	err := checkKeys(v, "commands", "write", "read", "env")
	if err != nil {
		return nil, err
	}
	s := &Shell{}
	s.commands, err = readList(v, "commands", readPattern)
	if err != nil {
		return nil, err
	}
	s.env, err = readList(v, "env", readVariable)
	if err != nil {
		return nil, err
	}
	write, read := v.Get("write"), v.Get("read")
	if write.Exists() {
		s.write, err = parsePath(write)
		if err != nil {
			return nil, within("/write", err)
		}
	}
	switch {
	case read.EqualText("preset"):
		s.preset, s.readAny = true, true
	case read.Type() == protocol.TypeString:
		return nil, &Error{"/read", errors.New(`it must be "preset", or an object with below`)}
	case read.Exists():
		s.read, err = parsePath(read, "preset")
		if err != nil {
			return nil, within("/read", err)
		}
		preset := read.Get("preset")
		if preset.Exists() && preset.Type() != protocol.TypeBool {
			return nil, &Error{"/read/preset", fmt.Errorf("it must be true or false, not %s", preset.Type())}
		}
		s.preset = preset.Bool()
	}
	if len(s.commands)+len(s.env) == 0 && !s.preset && s.write == nil && s.read == nil {
		return nil, &Error{Err: errors.New("it names no command")}
	}
	return s, nil
}

// within returns an error of a value as one of the object that has it under a key.
func within(key string, err error) error {
	var where *Error
	if errors.As(err, &where) {
		return &Error{key + where.Pointer, where.Err}
	}
	return err
}

func readVariable(v protocol.Value) (string, error) {
	name, err := readEntry(v)
	if err == nil && !syntax.ValidName(name) {
		err = fmt.Errorf("%q is no name of a variable", name)
	}
	return name, err
}

func readPattern(v protocol.Value) (pattern, error) {
	text, err := readEntry(v)
	if err != nil {
		return pattern{}, err
	}
	return parsePattern(text)
}

// assigns matches a word that the shell reads as an assignment in front of a command.
var assigns = regexp.MustCompile(`^[A-Za-z_]\w*\+?=`)

// parsePattern compiles a pattern of a command.
func parsePattern(text string) (pattern, error) {
	out := pattern{source: text}
	p := syntax.NewParser(syntax.Variant(syntax.LangBash))
	var words []*syntax.Word
	for w, err := range p.WordsSeq(strings.NewReader(text)) {
		if err != nil {
			return out, fmt.Errorf("%q is no list of words; quote what is an operator of the shell", text)
		}
		words = append(words, w)
	}
	if len(words) == 0 || len(words) > maxPatternWords {
		return out, fmt.Errorf("a command pattern has 1 to %d words", maxPatternWords)
	}
	for i, w := range words {
		u, raw := unquote(w, true), text[w.Pos().Offset():w.End().Offset()]
		switch {
		case u.unsure || u.pipe:
			return out, fmt.Errorf("%q has an expansion; a pattern has words and stars", text)
		case glob.HasStar(u.text) && strings.ContainsAny(raw, `'"\`):
			return out, fmt.Errorf("%q has a star in a word with quotes; a star always stands for other text", text)
		case i == 0 && assigns.MatchString(raw):
			return out, fmt.Errorf("%q begins with a variable; name the variable in env", text)
		case i == 0 && (u.text == "" || glob.HasStar(u.text)):
			return out, fmt.Errorf("%q must begin with the name of a program, without a star", text)
		}
		x := patternWord{text: u.text, option: u.isOption()}
		switch u.text {
		case "*", "-*":
			x.any = true
		case "**", "-**":
			x.rest = true
			if i < len(words)-1 {
				return out, fmt.Errorf("%q has words after %s, which stands for all further words", text, u.text)
			}
		default:
			x.stars = glob.HasStar(u.text)
		}
		out.words = append(out.words, x)
	}
	out.name = likely(out.words[0].text)
	return out, nil
}

// Cost is the number of comparisons that a match takes.
func (s *Shell) Cost(c *Command) int {
	n := len(c.files) + len(c.vars)
	for i := range c.calls {
		words := len(c.calls[i].words)
		n += words * (1 + len(s.commands))
		if wraps(likely(c.calls[i].words[0].text)) { // any of them may begin another command
			n += min(words, maxWrapped) * min(words, maxWrapped)
		}
		for _, x := range c.calls[i].inner {
			n += s.Cost(x)
		}
	}
	for _, x := range c.texts {
		n += s.Cost(x)
	}
	return n
}

// Allows reports whether an allowing rule certainly allows the command.
func (s *Shell) Allows(c *Command, at Place) bool {
	for _, why := range s.parts(c, at) {
		if why != "" {
			return false
		}
	}
	return true
}

// nothingNamed is why a text of harmless parts alone is not allowed: no deny rule would match it.
const nothingNamed = "it has no command that a rule could name"

// Line is a part of a command and why no allowing rule allows it; "" if one does.
type Line struct{ Part, Why string }

// Explain returns the parts of a command, in their order: the text as a whole if it is not
// certain, simple commands, redirections and variables.
func (s *Shell) Explain(c *Command, at Place) []Line {
	var out []Line
	for part, why := range s.parts(c, at) {
		out = append(out, Line{part, why})
	}
	return out
}

func (s *Shell) parts(c *Command, place Place) iter.Seq2[string, string] {
	return func(yield func(part, why string) bool) {
		at := s.in(place)
		// A rule must name a part of it, so that a deny rule with the same patterns denies it.
		named := len(c.files)+len(c.vars) > 0 || slices.ContainsFunc(c.calls, func(x simple) bool { return !x.known && !x.harmless() })
		if c.unclear != "" && !yield("", c.unclear) || c.unclear == "" && !named && !yield("", nothingNamed) {
			return
		}
		for i := range c.calls {
			if !yield(c.calls[i].source, s.refuses(&c.calls[i], at)) {
				return
			}
		}
		for i := range c.files {
			if !yield(c.files[i].source, s.refusesFile(&c.files[i], at)) {
				return
			}
		}
		for _, name := range c.vars {
			why := ""
			if !slices.Contains(s.env, name) {
				why = "env does not list the variable"
			}
			if !yield(name+"=", why) {
				return
			}
		}
	}
}

// site is a place, and the paths of a rule in it.
type site struct {
	read, write *placed // nil: the rule has none
	moved       bool    // the working directory is not the root
}

func (s *Shell) in(at Place) *site {
	return &site{read: s.read.in(at), write: s.write.in(at), moved: at.Root != "" && at.Dir != "" && path.Clean(at.Dir) != path.Clean(at.Root)}
}

// refusesFile returns why a redirection is not allowed; "": it is.
func (s *Shell) refusesFile(f *file, at *site) string {
	switch {
	case f.name.unsure:
		return "the file is known only when it runs"
	case f.moved && !strings.HasPrefix(f.name.text, "/") && !strings.HasPrefix(f.name.text, "~"):
		return "the folder is known only when it runs"
	case f.write && (at.write == nil || at.write.match(f.name.text) != Yes):
		return "no rule lets redirections write there"
	case !f.write && !s.readAny && (at.read == nil || at.read.match(f.name.text) != Yes):
		return "no rule lets redirections read there"
	}
	return ""
}

// refuses returns why a simple command is not allowed; "": it is.
func (s *Shell) refuses(c *simple, at *site) string {
	name := c.words[0].text
	switch {
	case c.known || c.harmless():
		return ""
	case c.strays(name, at):
		return "the folder of the program is known only when it runs"
	}
	for i := range s.commands {
		if s.commands[i].allows(c.words) {
			return ""
		}
	}
	if slices.ContainsFunc(c.words, func(w word) bool { return w.unsure }) {
		return "a word is known only when it runs"
	}
	if !s.preset {
		return "no pattern of a command matches"
	}
	words := make([]string, len(c.words))
	for i := range c.words {
		words[i] = c.words[i].text
	}
	operands, ok := readsOnly(words)
	switch {
	case !ok:
		return "no pattern of a command matches, and it may do more than read"
	case c.elsewhere(at) && program(name) == "git":
		return "git runs what the folder configures, which is known only when it runs"
	case s.readAny || at.read == nil:
		return ""
	}
	for _, x := range operands {
		if c.dir != "" && x != "" && x[0] != '/' && x[0] != '~' {
			x = path.Join(c.dir, x)
		}
		if c.moved || at.read.match(x) != Yes {
			return "it may read outside of the folders of read"
		}
	}
	return ""
}

// strays reports whether a program is found from another folder than the root, by a cd in this
// command or in one before.
func (c *simple) strays(name string, at *site) bool {
	return c.elsewhere(at) && strings.Contains(name, "/") && name[0] != '/'
}

// elsewhere reports whether a command may not run in the root.
func (c *simple) elsewhere(at *site) bool {
	return c.moved || c.dir != "" || at.moved
}

// harmless reports whether a command does nothing.
func (c *simple) harmless() bool {
	switch c.words[0].text {
	case ":", "true", "false":
		return !slices.ContainsFunc(c.words, func(w word) bool { return w.unsure })
	}
	return false
}

// allows reports whether the pattern certainly matches the words of a command.
func (p *pattern) allows(words []word) bool {
	for i := range p.words {
		x := &p.words[i]
		if x.rest {
			return !slices.ContainsFunc(words[i:], func(w word) bool { return w.unsure || w.isOption() && !x.option })
		}
		if i == len(words) || !x.allows(&words[i]) {
			return false
		}
	}
	return len(words) == len(p.words)
}

func (x *patternWord) allows(w *word) bool {
	switch {
	case w.unsure:
		return false
	case x.any:
		return w.isOption() == x.option
	case w.pipe:
		return false
	case x.stars:
		return w.isOption() == x.option && !hasParent(w.text) && glob.Match(glob.Compile(x.text), w.text)
	}
	return w.text == x.text
}

// Seen returns the rule whose Denies reports only what can be seen in a command: not what a
// program may run that its words do not show, and not what a word may become.
func (s *Shell) Seen() *Shell {
	out := *s
	out.seen = true
	return &out
}

// Denies reports whether a deny rule may deny the command.
func (s *Shell) Denies(c *Command, at Place) bool { return s.denies(c, s.in(at)) }

func (s *Shell) denies(c *Command, at *site) bool {
	if c.hidden != "" && !s.seen {
		return true
	}
	for i := range c.calls {
		if s.deniesCall(&c.calls[i], at) {
			return true
		}
	}
	for i := range c.files {
		f := &c.files[i]
		rule := at.read
		if f.write {
			rule = at.write
		}
		unsure := f.name.unsure || f.moved && !strings.HasPrefix(f.name.text, "/")
		switch {
		case !f.write && s.readAny:
			return true
		case rule == nil || unsure && s.seen:
		case unsure || rule.match(f.name.text) != No:
			return true
		}
	}
	return slices.ContainsFunc(c.texts, func(x *Command) bool { return s.denies(x, at) }) ||
		slices.ContainsFunc(c.vars, func(name string) bool { return slices.Contains(s.env, name) })
}

func (s *Shell) deniesCall(c *simple, at *site) bool {
	for _, x := range c.inner {
		if s.denies(x, at) {
			return true
		}
	}
	if s.deniesWords(c.words) {
		return true
	}
	name := likely(c.words[0].text)
	if len(s.commands) > 0 && !s.seen && runsHidden(name, c.words[1:]) {
		return true
	}
	if !wraps(name) {
		return false
	}
	// Any of its words may begin the command that it runs, or be its text.
	words := c.words[1:]
	if name == "find" || name == "fd" {
		i := slices.IndexFunc(words, func(w word) bool { return w.unsure || foundRuns.MatchString(w.text) })
		words = words[max(0, i):]
		if i < 0 {
			return false
		}
	}
	if len(words) > maxWrapped {
		return !s.seen
	}
	given := len(words)
	if slices.Contains(appenders, name) { // it appends words from elsewhere
		words = slices.Concat(words, []word{{unsure: true}})
	}
	for i := range given {
		w := &words[i]
		if w.unsure && s.seen {
			continue
		}
		if w.unsure || s.deniesText(w.text, at, c.depth) {
			return true
		}
		inner := simple{words: words[i:]}
		if value, ok := attached(w.text); ok {
			if s.deniesText(value, at, c.depth) {
				return true
			}
			w = &word{text: value}
			inner.words = slices.Concat([]word{*w}, words[i+1:])
		}
		r := collector{command: &Command{}, depth: c.depth + 1}
		if slices.Contains(shells, unversioned(likely(w.text))) {
			r.texts(&inner)
		}
		if r.command.hidden != "" && !s.seen || slices.ContainsFunc(inner.inner, func(x *Command) bool { return s.denies(x, at) }) {
			return true
		}
		if s.deniesWords(inner.words) || len(s.commands) > 0 && !s.seen && runsHidden(likely(w.text), inner.words[1:]) {
			return true
		}
	}
	return false
}

// wraps reports whether a program runs a command that is among its words. An option as its name is one
// of eval, of zsh, or of time, which is a program for sh.
func wraps(name string) bool { return strings.HasPrefix(name, "-") || slices.Contains(wrappers, name) }

// deniesText reports whether a word that may be the text of commands has one that is denied.
func (s *Shell) deniesText(text string, at *site, depth int) bool {
	return strings.ContainsAny(text, " \t\n;|&") && s.denies(parse(text, depth+1), at)
}

// attached returns the value that may be attached to an option or a variable.
func attached(text string) (value string, ok bool) {
	_, value, ok = strings.Cut(text, "=")
	if !ok && len(text) > 2 && text[0] == '-' && text[1] != '-' {
		at := max(1, strings.IndexByte(text, 'c')) // of letters before -c
		value, ok = text[at+1:], at+1 < len(text)
	}
	return value, ok && value != ""
}

// foundRuns matches the options of find and fd that run a command.
var foundRuns = regexp.MustCompile(`^(?:-(?:exec|ok)(?:dir)?$|--exec(?:-batch)?(?:=|$)|-[xX])`)

// deniesWords reports whether a pattern, or the preset, may match a simple command.
func (s *Shell) deniesWords(words []word) bool {
	name := likely(words[0].text)
	for i := range s.commands {
		if s.commands[i].mayMatch(name, words, !s.seen) {
			return true
		}
	}
	if !s.preset {
		return false
	}
	plain := make([]string, len(words))
	for i := range words {
		if words[i].unsure {
			return !s.seen
		}
		plain[i] = words[i].text
	}
	_, ok := readsOnly(plain)
	return ok
}

// mayMatch reports whether the pattern may match the words of a command of this likely name, wherever its
// options stand and whatever follows. An option before a word may have that word as its value.
// A word that is not known counts as any word if unknown says so.
func (p *pattern) mayMatch(name string, words []word, unknown bool) bool {
	if words[0].unsure {
		return unknown
	}
	rest := words[1:]
	if name != p.name {
		after, ok := strings.CutPrefix(name, p.name)
		sub, hyphen := strings.CutPrefix(after, "-")
		if !ok || !hyphen || len(p.words) == 1 || p.words[1].text != sub {
			return false
		}
		rest = slices.Concat([]word{{text: sub}}, rest) // git-push is git push
	}
	at := make([]bool, len(rest)+1) // the operands that the pattern may have come to
	at[0] = true
	for i := 1; i < len(p.words); i++ {
		x := &p.words[i]
		if x.rest {
			break
		}
		if x.option {
			if !slices.ContainsFunc(rest, func(w word) bool { return w.unsure && unknown || x.mayBeOption(w.text) }) && !x.mayBeCluster(rest) {
				return false
			}
			continue
		}
		next := make([]bool, len(rest)+1)
		some := false
		for j := range rest {
			w := &rest[j]
			switch {
			case !at[j]:
			case w.unsure && unknown:
				return true
			case w.unsure && x.any:
				next[j+1], some = true, true
			case w.unsure:
			case w.isOption():
				at[j+1] = true
				if j+2 < len(at) {
					at[j+2] = true
				}
			case w.text == "--":
				at[j+1] = true
				if x.any || x.stars || x.text == "--" { // an allowing rule takes it as a word
					next[j+1], some = true, true
				}
			case x.any || x.stars && glob.Match(glob.Compile(strings.ToLower(x.text)), strings.ToLower(w.text)) || strings.EqualFold(x.text, w.text):
				next[j+1], some = true, true
			}
		}
		if !some {
			return false
		}
		at = next
	}
	return true
}

// mayBeOption reports whether a word may be the option: with a value, abbreviated as
// programs accept it, or as a letter for a word that begins with it.
func (x *patternWord) mayBeOption(w string) bool {
	switch {
	case len(w) < 2 || w[0] != '-':
		return false
	case x.any:
		return true
	case x.stars:
		return glob.Match(glob.Compile(x.text), w)
	case w == x.text || strings.HasPrefix(w, x.text+"="):
		return true
	}
	name, _, _ := strings.Cut(w, "=")
	long, isLong := strings.CutPrefix(x.text, "--")
	switch {
	case isLong && strings.HasPrefix(name, "--"):
		return len(name) > 2 && strings.HasPrefix(x.text, name)
	case isLong:
		return strings.Contains(strings.ToLower(name), strings.ToLower(long[:1]))
	case len(x.text) == 2 && strings.HasPrefix(name, "--"):
		return len(name) > 2 && strings.EqualFold(name[2:3], x.text[1:])
	}
	return len(x.text) == 2 && strings.Contains(w, x.text[1:])
}

// mayBeCluster reports whether the letters of an option such as -rf are all among the
// options, together or apart.
func (x *patternWord) mayBeCluster(words []word) bool {
	if x.any || x.stars || len(x.text) < 3 || x.text[1] == '-' {
		return false
	}
	for _, letter := range x.text[1:] {
		one := patternWord{text: "-" + string(letter), option: true}
		if !slices.ContainsFunc(words, func(w word) bool { return one.mayBeOption(w.text) }) {
			return false
		}
	}
	return true
}

// runsHidden reports whether a program may run a command that its words do not show.
func runsHidden(name string, words []word) bool {
	name = unversioned(name)
	list, ok := hiding[name]
	if !ok || list == nil {
		return ok
	}
	// Without an operand it runs its input.
	if slices.Contains(list, "-") && !slices.ContainsFunc(words, func(w word) bool { return !w.isOption() || slices.Contains(questions, w.text) }) {
		return true
	}
	if name == "sed" && slices.ContainsFunc(words, func(w word) bool { return sedRuns.MatchString(w.text) }) {
		return true
	}
	return slices.ContainsFunc(words, func(w word) bool {
		return w.unsure || slices.ContainsFunc(list, func(x string) bool {
			return w.text == x || strings.HasPrefix(x, "--") && strings.HasPrefix(w.text, x) ||
				len(x) == 2 && x[0] == '-' && len(w.text) > 1 && w.text[0] == '-' && w.text[1] != '-' && strings.Contains(w.text[1:], x[1:])
		})
	})
}

// sedRuns matches scripts of GNU sed that may run a command: e, and s/…/…/e.
var sedRuns = regexp.MustCompile(`(^|[\d$/,;{}!\s])e(\s|$)|[^\w\s-][gpiImM\d]*e[gpiImM\d]*\s*($|[;}\n])`)

// questions are options at which a program says something about itself and ends.
var questions = []string{"--version", "-V", "-v", "--help", "-h"}

// Relative reports whether a folder for redirections or operands is relative.
func (s *Shell) Relative() bool {
	return s.write != nil && s.write.Relative() || s.read != nil && s.read.Relative()
}

// Runners returns the patterns of programs that run other commands.
func (s *Shell) Runners() []string {
	var out []string
	for i := range s.commands {
		p := &s.commands[i]
		name := p.words[0].text
		list, hides := hiding[unversioned(name)]
		last := &p.words[len(p.words)-1]
		if len(p.words) > 1 && (slices.Contains(shells, unversioned(name)) || slices.Contains(wrappers, name) || hides && (list == nil || last.rest && last.option)) {
			out = append(out, p.String())
		}
	}
	return out
}

// Covers reports whether every command that q allows is certainly allowed by s.
func (s *Shell) Covers(q *Shell) bool {
	for i := range q.commands {
		if !slices.ContainsFunc(s.commands, func(p pattern) bool { return p.covers(&q.commands[i]) }) {
			return false
		}
	}
	if q.preset && (!s.preset || s.read != nil && (q.read == nil || !s.read.Covers(q.read))) || q.readAny && !s.readAny {
		return false
	}
	if q.read != nil && !s.readAny && (s.read == nil || !s.read.Covers(q.read)) || q.write != nil && (s.write == nil || !s.write.Covers(q.write)) {
		return false
	}
	return !slices.ContainsFunc(q.env, func(name string) bool { return !slices.Contains(s.env, name) })
}

// covers reports whether p certainly matches all commands that q matches.
func (p *pattern) covers(q *pattern) bool {
	for i := range p.words {
		x := &p.words[i]
		if x.rest {
			return !slices.ContainsFunc(q.words[i:], func(w patternWord) bool { return w.option && !x.option })
		}
		if i == len(q.words) || q.words[i].rest || !x.covers(&q.words[i]) {
			return false
		}
	}
	return len(q.words) == len(p.words)
}

func (x *patternWord) covers(y *patternWord) bool {
	switch {
	case x.option != y.option:
		return false
	case x.any:
		return true
	case x.stars && !y.any:
		return !hasParent(y.text) && glob.Compile(x.text).Covers(glob.Compile(y.text))
	}
	return !y.any && !y.stars && x.text == y.text
}

// String describes the rule to people.
func (s *Shell) String() string {
	var out []string
	for i := range s.commands {
		out = append(out, s.commands[i].String())
	}
	switch {
	case s.preset && s.read != nil:
		out = append(out, "commands that only read "+s.read.String())
	case s.preset:
		out = append(out, "commands that only read")
	case s.read != nil:
		out = append(out, "input from "+s.read.String())
	}
	if s.write != nil {
		out = append(out, "output to "+s.write.String())
	}
	if len(s.env) > 0 {
		out = append(out, "with the variables "+strings.Join(s.env, ", "))
	}
	return strings.Join(out, "; ")
}

// String describes a pattern to people: "git diff with any arguments".
func (p *pattern) String() string {
	last := p.words[len(p.words)-1]
	if !last.rest {
		return "`" + p.source + "`"
	}
	name := "`" + strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(p.source, "**"), "-")) + "`"
	if last.option {
		return name + " with any arguments and options"
	}
	return name + " with any arguments"
}

// hasParent reports whether a word has .. as a segment of a path.
func hasParent(word string) bool {
	return slices.Contains(strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(`/\=:,`, r) }), "..")
}
