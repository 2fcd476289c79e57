package argument

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// MaxCommand bounds a command in bytes. A longer one is not parsed.
const MaxCommand = 64 << 10

// maxBrackets bounds the opening brackets and question marks in a command. The parser uses stack
// for each level of them, and time that grows with the square.
const maxBrackets = 2000

// maxInner bounds the depth of commands in the words of other commands, as in
// bash -c 'bash -c …'.
const maxInner = 4

// Command is the text of a shell command, parsed as Bash: the simple commands in it,
// wherever they are, and the files and variables that it writes or reads itself.
type Command struct {
	calls []simple
	files []file
	vars  []string   // that it assigns
	texts []*Command // values of variables that programs run
	// unclear says why the text as a whole means something only when it runs, in a
	// way that no allowing rule covers. "": it does not.
	unclear string
	// hidden says why it may run commands that cannot be seen in it; then it is
	// unclear too.
	hidden string
}

// simple is a simple command.
type simple struct {
	words  []word
	source string
	moved  bool       // a cd before it may have changed the folder
	dir    string     // the folder of a cd before it, if that is the only one
	depth  int        // of the text that it is in
	known  bool       // it calls a function that the text declares before
	inner  []*Command // texts in it that it runs: of sh -c and eval
}

// word is a word of a simple command.
type word struct {
	text   string // without quotes
	unsure bool   // it has an expansion, so that it may be another text, or several words
	pipe   bool   // it is the name of a pipe, of a process substitution
}

// isOption reports whether programs take the word as an option. A single hyphen is
// standard input, and two end the options.
func (w *word) isOption() bool {
	return len(w.text) > 1 && w.text[0] == '-' && w.text != "--"
}

// file is a file that a redirection opens.
type file struct {
	name   word
	write  bool
	moved  bool
	source string
}

// continued matches a backslash at the end of a line in a comment, in a text with a
// here-document, and after a character of the syntax: there the parser and shells differ.
var continued = regexp.MustCompile(`#[^\n]*\\\n|(?s:<<.*\\\n)|[$<>&|;(){}!\\[=\x60]\\\n`)

var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// Parse reads a command. It never fails: a text that cannot be parsed is one that may
// do anything.
func Parse(text string) *Command { return parse(text, 0) }

func parse(text string, depth int) *Command {
	r := collector{command: &Command{}, text: text, depth: depth}
	switch {
	case len(text) > MaxCommand:
		r.hide("it is longer than 64 KiB")
		return r.command
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }):
		r.hide("it contains a control character")
		return r.command
	case strings.Contains(text, "\\\n") && continued.MatchString(text):
		r.hide("a line ends with a backslash where shells read it differently")
		return r.command
	case strings.Count(text, "(")+strings.Count(text, "{")+strings.Count(text, "`")+strings.Count(text, "?") > maxBrackets:
		r.hide("it has more than 2,000 brackets")
		return r.command
	case depth > maxInner:
		r.hide("commands are nested too deep")
		return r.command
	}
	tree, err := parseBash(text)
	if err != nil {
		r.hide("it cannot be parsed as Bash: " + err.Error())
		return r.command
	}
	r.folder(tree)
	r.command.calls = make([]simple, 0, 2*len(tree.Stmts))
	if strings.Contains(text, "(") || strings.Contains(text, "function") {
		syntax.Walk(tree, func(n syntax.Node) bool {
			if f, ok := n.(*syntax.FuncDecl); ok && f.Name != nil {
				r.functions = append(r.functions, f.Name.Value)
			}
			return true
		})
	}
	for _, s := range tree.Stmts {
		r.statement(s)
		f, ok := s.Cmd.(*syntax.FuncDecl)
		if !ok || s.Background || f.Name == nil || f.RsrvWord || slices.Contains(builtins, f.Name.Value) {
			continue // function is a program for sh
		}
		if _, ok := f.Body.Cmd.(*syntax.Block); ok {
			r.known = append(r.known, f.Name.Value)
		}
	}
	// Of a file that is open for reading, these are other names, by which it is opened again.
	if slices.ContainsFunc(r.command.files, func(f file) bool { return !f.write }) {
		r.command.files = append(r.command.files, r.outputs...)
	}
	for i := range r.command.calls {
		r.command.calls[i].moved = r.command.calls[i].moved || r.wanders
	}
	for i := range r.command.files {
		r.command.files[i].moved = r.command.files[i].moved || r.wanders
	}
	return r.command
}

// parseBash parses a text. A fault of the parser is an error: the text is a stranger's.
func parseBash(text string) (tree *syntax.File, err error) {
	p := parsers.Get().(*syntax.Parser) //nolint:forcetypeassert // the pool holds nothing else
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the parser failed: %v", fault)
			return
		}
		parsers.Put(p)
	}()
	return p.Parse(strings.NewReader(text), "")
}

// collector collects the parts of a command from its syntax tree.
type collector struct {
	command   *Command
	words     []word // of its commands, as far as they are allocated together
	text      string
	depth     int
	functions []string // declared anywhere
	known     []string // declared before, whatever happens
	inside    int      // of so many declarations of functions
	dir       string   // the folder of the first cd, if it holds for the whole text
	fixed     bool     // dir does
	entered   string   // dir, after that cd
	moved     bool
	repeats   int  // inside so many loops
	replaced  int  // inside so many substitutions
	wanders   bool // a cd may come before what stands before it
	outputs   []file
}

func (r *collector) unclear(why string) {
	if r.command.unclear == "" {
		r.command.unclear = why
	}
}

func (r *collector) hide(why string) {
	r.unclear(why)
	if r.command.hidden == "" {
		r.command.hidden = why
	}
}

// folder finds out whether the text is cd FOLDER && …, so that it runs in that folder
// or not at all.
func (r *collector) folder(tree *syntax.File) {
	if len(tree.Stmts) != 1 {
		return
	}
	s := tree.Stmts[0]
	for s != nil {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.AndStmt || s.Background || s.Negated || len(s.Redirs) > 0 {
			break
		}
		s = b.X
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s == tree.Stmts[0] || s.Background || s.Negated || len(s.Redirs) > 0 || len(c.Assigns) > 0 || len(c.Args) != 2 || c.Args[0].Lit() != "cd" {
		return
	}
	to := unquote(c.Args[1], false)
	if !to.unsure && to.text != "" && to.text[0] != '-' && to.text[0] != '~' {
		r.dir, r.fixed = to.text, true
	}
}

func (r *collector) statements(list []*syntax.Stmt) {
	for _, s := range list {
		r.statement(s)
	}
}

func (r *collector) statement(s *syntax.Stmt) {
	if s == nil {
		return
	}
	if s.Coprocess || s.Disown {
		r.hide("it has an operator that Bash does not know")
	}
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		r.call(c)
	case *syntax.BinaryCmd:
		r.statement(c.X)
		r.statement(c.Y)
	case *syntax.Subshell:
		r.statements(c.Stmts)
	case *syntax.Block:
		r.statements(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			r.statements(c.Cond)
			r.statements(c.Then)
		}
	case *syntax.WhileClause:
		r.repeats++
		r.statements(c.Cond)
		r.statements(c.Do)
		r.repeats--
	case *syntax.ForClause:
		r.loop(c)
	case *syntax.CaseClause:
		r.data(c.Word)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				r.data(p)
			}
			r.statements(item.Stmts)
		}
	case *syntax.FuncDecl:
		r.inside++
		r.statement(c.Body)
		r.inside--
	case *syntax.TestClause:
		r.test(c.X)
		if c.Pos().Line() != c.End().Line() {
			r.hide("a shell without [[ reads its next line as a command")
		}
	case *syntax.TimeClause:
		r.statement(c.Stmt)
	case *syntax.CoprocClause:
		r.unclear("coproc sets variables")
		r.statement(c.Stmt)
	case *syntax.ArithmCmd:
		r.arithmetic(c.X)
		r.hide("sh reads (( as two subshells")
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			r.arithmetic(x)
		}
	case *syntax.DeclClause:
		r.declaration(c)
	default:
		r.hide("it has a command that Bash does not know")
	}
	for _, x := range s.Redirs {
		r.redirection(x)
	}
}

// call reads a simple command, or assignments alone.
func (r *collector) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		r.assignment(a)
	}
	if len(c.Args) == 0 {
		return
	}
	x := simple{moved: r.moved, dir: r.entered, depth: r.depth, source: r.text[c.Args[0].Pos().Offset():c.End().Offset()]}
	for _, w := range c.Args {
		r.data(w) // has commands of its own
	}
	if len(c.Args) > cap(r.words)-len(r.words) {
		r.words = make([]word, 0, max(len(c.Args), min(len(r.text)/8, maxTogether)))
	}
	first := len(r.words)
	for _, w := range c.Args {
		r.words = append(r.words, unquote(w, false))
	}
	x.words = slices.Clip(r.words[first:])
	name := &x.words[0]
	for i := range x.words { // command and builtin run the builtin that they name
		name = &x.words[i]
		if name.unsure || !name.isOption() && name.text != "command" && name.text != "builtin" {
			break
		}
	}
	switch {
	case name.unsure:
		r.hide("the name of a command is known only when it runs")
	case name.text == "set" && !slices.ContainsFunc(x.words[1:], func(w word) bool { return w.unsure || !slices.Contains(setOptions, w.text) }):
		x.known = true
	case r.inside > 0 && slices.Contains(r.functions, name.text):
		r.unclear("a function calls a function") // perhaps itself
	case slices.Contains(r.known, x.words[0].text):
		x.known = true
	case slices.Contains(evaluates, name.text) && slices.ContainsFunc(x.words[1:], isSubscript):
		r.hide(name.text + " evaluates a subscript")
	case x.words[0].text == "eval" || slices.Contains(shells, unversioned(program(x.words[0].text))):
		r.texts(&x)
	case slices.Contains(runsText, name.text):
		r.hide(name.text + " runs a text or changes what other commands mean")
	case slices.Contains(setsState, name.text):
		r.unclear(name.text + " changes variables or options of the shell")
		if slices.ContainsFunc(x.words, func(w word) bool { return strings.Contains(w.text, "[") }) {
			r.hide(name.text + " evaluates a text")
		}
	case name.text == "cd" || name.text == "chdir" || name.text == "pushd" || name.text == "popd":
		r.moved = r.moved || len(r.command.calls) > 0 || !r.fixed
		r.entered = r.dir
		r.wanders = r.wanders || r.repeats > 0 || len(r.functions) > 0
	}
	if len(r.command.calls) == cap(r.command.calls) {
		r.command.calls = slices.Grow(r.command.calls, max(1, len(r.command.calls)))
	}
	r.command.calls = append(r.command.calls, x)
}

// maxTogether bounds the words that are allocated together.
const maxTogether = 256

// isSubscript reports whether a word has a subscript with a command, which a builtin runs if it takes
// the word as the name of a variable or as arithmetic.
func isSubscript(w word) bool {
	_, after, found := strings.Cut(w.text, "[")
	return found && (strings.Contains(after, "$(") || strings.Contains(after, "`"))
}

// texts reads the commands in the words of eval and of sh -c.
func (r *collector) texts(x *simple) {
	isEval, given := x.words[0].text == "eval", false
	var all []string
	for i := 1; i < len(x.words); i++ {
		w := &x.words[i]
		switch {
		case w.unsure:
			r.hide("a text that a shell runs is known only when it runs")
			return
		case w.isOption() && !isEval:
			given = given || w.text[1] != '-' && strings.Contains(w.text, "c")
		default:
			all = append(all, w.text)
			if !isEval {
				x.inner = append(x.inner, parse(w.text, r.depth+1))
			}
		}
	}
	switch {
	case isEval:
		r.unclear("eval runs a text")
		x.inner = append(x.inner, parse(strings.Join(all, " "), r.depth+1))
	case !given:
		x.inner = append(x.inner, &Command{hidden: "a shell runs a file or its input", unclear: "a shell runs a file or its input"})
	}
}

// loop reads for and select. Its variable is an assignment, unless no program reads it: those
// that programs read have capitals or an underscore.
func (r *collector) loop(c *syntax.ForClause) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		name := l.Name.Value
		if strings.ContainsFunc(name, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }) || slices.Contains(lowerCase, name) {
			r.command.vars = append(r.command.vars, name)
		}
		for _, w := range l.Items {
			r.data(w)
		}
	case *syntax.CStyleLoop:
		r.arithmetic(l.Init)
		r.arithmetic(l.Cond)
		r.arithmetic(l.Post)
	}
	r.repeats++
	r.statements(c.Do)
	r.repeats--
}

func (r *collector) assignment(a *syntax.Assign) {
	r.command.vars = append(r.command.vars, a.Name.Value)
	r.data(a.Value)
	if a.Value != nil && slices.Contains(runsValue, a.Name.Value) {
		value := unquote(a.Value, false)
		inner := &Command{hidden: "the value of a variable that programs run is known only when it runs"}
		if !value.unsure {
			inner = parse(value.text, r.depth+1)
		}
		r.command.texts = append(r.command.texts, inner)
	}
	if a.Append || a.Index != nil || a.Array != nil {
		r.unclear("it assigns an array, or appends to a variable")
		r.arithmetic(a.Index)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			r.arithmetic(e.Index)
			r.data(e.Value)
		}
	}
}

// declaration reads export and its like. Only export NAME and export NAME=text are clear.
func (r *collector) declaration(c *syntax.DeclClause) {
	if c.Variant.Value != "export" {
		r.unclear(c.Variant.Value + " changes what variables mean")
	}
	for _, a := range c.Args {
		if a.Name != nil {
			r.assignment(a)
			if a.Value != nil && slices.ContainsFunc(a.Value.Parts, isSplit) {
				r.unclear("some shells split the value of " + a.Name.Value + "; quote it")
			}
			continue
		}
		r.data(a.Value)
		r.unclear(c.Variant.Value + " has options")
		w := unquote(a.Value, false)
		if w.unsure || strings.Contains(w.text, "[") {
			r.hide(c.Variant.Value + " evaluates a text")
		}
	}
}

// redirection reads a redirection. Files are collected, descriptors and /dev/null are free.
func (r *collector) redirection(x *syntax.Redirect) {
	if x.N != nil && !isDigits(x.N.Value) {
		r.command.vars = append(r.command.vars, strings.Trim(x.N.Value, "{}"))
	}
	switch x.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.replaced > 0 {
			r.hide("shells find the end of a here-document in a substitution differently")
		}
		if x.Hdoc != nil {
			r.parts(x.Hdoc.Parts)
		}
		return
	case syntax.WordHdoc:
		r.data(x.Word)
		return
	}
	r.data(x.Word)
	name := unquote(x.Word, false)
	descriptor := (x.Op == syntax.DplIn || x.Op == syntax.DplOut) && (name.text == "-" || isDigits(name.text)) // for zsh 2- is a file
	f := file{name: name, moved: r.moved, source: r.text[x.Pos().Offset():x.Word.End().Offset()]}
	reads := x.Op == syntax.RdrIn || x.Op == syntax.DplIn || x.Op == syntax.RdrInOut
	writes := !reads || x.Op == syntax.RdrInOut
	if !name.unsure && (descriptor || freeFile(name.text, writes)) {
		if !descriptor && writes && name.text != "/dev/null" {
			f.write = true
			r.outputs = append(r.outputs, f)
		}
		return
	}
	if r.fixed && name.text != "" && name.text[0] != '/' && name.text[0] != '~' {
		f.name.text = path.Join(r.dir, name.text)
	}
	if reads {
		r.command.files = append(r.command.files, f)
	}
	if writes {
		f.write = true
		r.command.files = append(r.command.files, f)
	}
}

// freeFile reports whether a file stands for nothing, or for a descriptor in its direction. On
// Linux, writing to /dev/stdin opens the file that input comes from.
func freeFile(name string, write bool) bool {
	switch name {
	case "/dev/null", "/dev/stdout", "/dev/stderr":
		return true
	case "/dev/stdin":
		return !write
	}
	n, ok := strings.CutPrefix(name, "/dev/fd/")
	return ok && n != "" && isDigits(n) && (!write || n == "1" || n == "2")
}

// isDigits reports whether a text has nothing but digits.
func isDigits(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < '0' || c > '9' })
}

// isSplit reports whether a part of a word may become several words.
func isSplit(part syntax.WordPart) bool {
	switch part.(type) {
	case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp:
		return true
	}
	return false
}

// test reads [[ … ]]. Bash evaluates both sides of -eq and its like, and the name after -v,
// as arithmetic, which may run commands.
func (r *collector) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		r.data(x)
	case *syntax.ParenTest:
		r.test(x.X)
	case *syntax.UnaryTest:
		r.test(x.X)
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar || x.Op == syntax.TsFdTerm {
			r.number(x.X)
		}
	case *syntax.BinaryTest:
		r.test(x.X)
		r.test(x.Y)
		switch x.Op {
		case syntax.AndTest, syntax.OrTest, syntax.TsBefore, syntax.TsAfter, syntax.TsReMatch:
			r.hide("a shell without [[ runs or writes what stands behind its operator")
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			r.number(x.X)
			r.number(x.Y)
		}
	}
}

// number asks that an operand be a number, so that evaluating it runs nothing.
func (r *collector) number(x syntax.TestExpr) {
	if w, ok := x.(*syntax.Word); ok {
		u := unquote(w, false)
		if !u.unsure && u.text != "" && isDigits(u.text) {
			return
		}
	}
	r.hide("a test evaluates a text")
}

// arithmetic reads an arithmetic expression. Names are variables, whose values Bash
// evaluates in turn.
func (r *collector) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.BinaryArithm:
		r.arithmetic(x.X)
		r.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		r.arithmetic(x.X)
	case *syntax.ParenArithm:
		r.arithmetic(x.X)
	case *syntax.Word:
		text := x.Lit()
		switch {
		case text == "":
			r.data(x)
			r.hide("arithmetic evaluates a text")
		case !isDigits(text):
			r.unclear("arithmetic reads a variable")
		}
	default:
		r.hide("arithmetic evaluates a text")
	}
}

// data reads the commands in the expansions of a word.
func (r *collector) data(w *syntax.Word) {
	if w != nil {
		r.parts(w.Parts)
	}
}

func (r *collector) parts(list []syntax.WordPart) {
	for i, part := range list {
		switch x := part.(type) {
		case *syntax.Lit:
		case *syntax.SglQuoted:
			if x.Dollar && strings.Contains(x.Value, "'") {
				r.hide("sh ends the quotes at an escaped quote")
			}
		case *syntax.ExtGlob:
			r.hide("zsh may run a command in a glob with parentheses")
		case *syntax.DblQuoted:
			r.parts(x.Parts)
		case *syntax.CmdSubst:
			if x.TempFile || x.ReplyVar {
				r.hide("it has a substitution that Bash does not know")
			}
			r.replaced++
			r.statements(x.Stmts)
			r.replaced--
		case *syntax.ProcSubst:
			r.replaced++
			r.statements(x.Stmts)
			r.replaced--
		case *syntax.ArithmExp:
			r.arithmetic(x.X)
		case *syntax.ParamExp:
			// An expansion that evaluates a text, assigns or has a subscript may run commands.
			if x.Exp != nil && !isPlainWord(x.Exp.Word) || x.Repl != nil && !(isPlainWord(x.Repl.Orig) && isPlainWord(x.Repl.With)) {
				r.hide("shells read the quotes in an expansion differently")
			}
			assigns := x.Exp != nil && (x.Exp.Op == syntax.AssignUnset || x.Exp.Op == syntax.AssignUnsetOrNull || x.Exp.Op == syntax.OtherParamOps)
			if x.Excl || x.Index != nil || x.Slice != nil || x.Names != 0 || x.NestedParam != nil || x.Flags != nil || len(x.Modifiers) > 0 || x.Width || assigns {
				r.hide("an expansion evaluates a text or assigns a variable")
			}
			if x.Short && i+1 < len(list) {
				next, ok := list[i+1].(*syntax.Lit)
				if ok && strings.HasPrefix(next.Value, "[") {
					r.hide("zsh evaluates a subscript after a variable")
				}
			}
		default:
			r.hide("it has an expansion that Bash does not know")
		}
	}
}

// plainWord matches a word without quotes, expansions and operators.
var plainWord = regexp.MustCompile(`^[\w./:@%+=,*-]*$`)

// isPlainWord reports whether all shells read a word alike, also within quotes.
func isPlainWord(w *syntax.Word) bool {
	return w == nil || w.Lit() != "" && plainWord.MatchString(w.Lit())
}

// program returns the name of a program without its folder.
func program(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// likely returns the name that a program may have on any system, for deny rules.
func likely(name string) string {
	name = strings.ToLower(name[strings.LastIndexAny(name, `/\`)+1:])
	for _, end := range []string{".exe", ".com", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// unversioned returns the name of a program without a version at its end.
func unversioned(name string) string {
	if short := strings.TrimRightFunc(name, func(c rune) bool { return c >= '0' && c <= '9' || c == '.' || c == '-' }); short != "" {
		return short
	}
	return name
}

// unquote returns a word as a program gets it. In a pattern, stars without quotes are kept
// as stars and the other marks of globs are text.
func unquote(w *syntax.Word, pattern bool) word {
	if lit, ok := w.Parts[0].(*syntax.Lit); ok && len(w.Parts) == 1 && !strings.ContainsAny(lit.Value, `\*?[{=~`) {
		return word{text: lit.Value}
	}
	var out strings.Builder
	u := word{}
	brace, list, value := false, false, false
	for i, part := range w.Parts {
		switch x := part.(type) {
		case *syntax.Lit:
			text := x.Value
			if i == 0 && !pattern && text != "" {
				u.unsure = text[0] == '=' && len(text) > 1 || text[0] == '~' && (text != "~" || len(w.Parts) > 1) && !strings.HasPrefix(text, "~/")
			}
			for j := 0; j < len(text); j++ {
				c := text[j]
				switch {
				case c == '\\' && j+1 < len(text):
					j++
					c = text[j]
				case strings.IndexByte("*?[", c) >= 0 && !pattern:
					u.unsure = u.unsure || len(w.Parts) > 1 || text != "["
				case c == '{':
					brace = true
				case c == '=':
					value = value || i == 0 && syntax.ValidName(text[:j])
				case c == '~' && value && (text[j-1] == '=' || text[j-1] == ':') && !pattern: // as in an assignment
					u.unsure = true
				case c == ',' || c == '.' && strings.HasPrefix(text[j:], ".."):
					list = list || brace
				}
				out.WriteByte(c)
			}
		case *syntax.SglQuoted:
			u.unsure = u.unsure || x.Dollar
			out.WriteString(x.Value)
		case *syntax.DblQuoted:
			u.unsure = u.unsure || x.Dollar
			for _, inner := range x.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					u.unsure = true
					continue
				}
				for j := 0; j < len(lit.Value); j++ {
					if lit.Value[j] == '\\' && j+1 < len(lit.Value) && strings.IndexByte("$`\"\\", lit.Value[j+1]) >= 0 {
						j++
					}
					out.WriteByte(lit.Value[j])
				}
			}
		case *syntax.ProcSubst:
			u.pipe = len(w.Parts) == 1
			u.unsure = u.unsure || !u.pipe
		default:
			u.unsure = true
		}
	}
	u.text = out.String()
	u.unsure = u.unsure || brace && list && !pattern
	return u
}

// Words returns the command of one program with these words, which no shell reads.
func Words(words []string) *Command {
	r := collector{command: &Command{}}
	x := simple{words: make([]word, len(words))}
	for i, text := range words {
		x.words[i].text = text
	}
	if len(words) == 0 {
		return r.command
	}
	if slices.Contains(shells, unversioned(program(words[0]))) {
		r.texts(&x)
	}
	r.command.calls = append(r.command.calls, x)
	return r.command
}
