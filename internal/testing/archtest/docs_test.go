package archtest

import (
	"encoding/json"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

var example = regexp.MustCompile("(?ms)^```json\n(.*?)^```$")

// TestExamples checks that every example in the contract is an envelope that a
// gateway accepts.
func TestExamples(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "protocol", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range example.FindAllSubmatch(text, -1) {
			found++
			tryExample(t, m[1])
		}
	}
	if found < 30 {
		t.Fatalf("found %d examples", found)
	}
}

// tryExample checks a JSON text with the decoder, and an envelope that a client
// may send with the schema of its kind.
func tryExample(t *testing.T, text []byte) {
	t.Helper()
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err != nil {
		t.Errorf("not JSON: %v:\n%s", err, text)
		return
	}
	isEnvelope := doc.Root().Get("kind").Exists() && !doc.Root().Get("deny").Exists()
	if !isEnvelope {
		return
	}
	dialect, _ := protocol.ParseDialect(doc.Root().Get("protocol").Text()) // the default if there is none
	in, err := protocol.Decode(text, dialect, protocol.DefaultContextDepth)
	if err == nil && !in.Envelope.Kind.IsReserved() {
		err = schemas.Payload(in.Envelope.Kind, in.Payload)
	}
	if refused := protocol.AsError(err); refused != nil {
		t.Errorf("refused: %v (%s %s):\n%s", refused, refused.Path, refused.Detail, text)
	}
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	named    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	noSlug   = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	explicit = regexp.MustCompile(`<a id="([^"]+)"></a>`)
)

// TestLinks checks that the targets of the documents' links in this repository
// exist, headings too.
func TestLinks(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "bench/*.md", "bench/*/*.md", "examples/*/*.md", "deploy/*/*.md", "sdk/*.md", "sdk/*/*.md", "client/*.md", "client/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(unfenced(string(text)), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			checkLink(t, path, m[1])
		}
	}
}

// checkLink checks a link of a document to a file, a heading, or both.
func checkLink(t *testing.T, document, target string) {
	t.Helper()
	file, anchor, hasAnchor := strings.Cut(target, "#")
	path := document
	if file != "" {
		path = filepath.Join(filepath.Dir(document), file)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s points to %s: %v", document, target, err)
		return
	}
	if !hasAnchor || filepath.Ext(path) != ".md" {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(anchors(string(text)), anchor) {
		t.Errorf("%s points to %s, which has no such heading", document, target)
	}
}

// exampleFile matches the name under which the README has its reader write an example.
var exampleFile = regexp.MustCompile(", as `([^`]+)`:")

// TestIgnored checks that git ignores what the commands and examples of the README leave in a
// clone, and nothing like it elsewhere.
func TestIgnored(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	ignore, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	left := []string{
		"meup.yaml", "tokens.env", "gateway.log", "meup-data/log", "bin/meup", // init, serve and make build
		"package.json", "package-lock.json", "node_modules/x", "sdk/typescript/dist/index.js", "bun.lock", "deno.lock", // npm install, Bun and Deno
		".venv/pyvenv.cfg", "sdk/python/build/x", "sdk/python/meup.egg-info/x", "sdk/python/meup/__pycache__/x.pyc", // pip install
	}
	for _, m := range exampleFile.FindAllStringSubmatch(string(readme), -1) {
		left = append(left, m[1])
	}
	if !slices.Contains(left, "bot.py") {
		t.Error("the README has no example that is written as bot.py")
	}
	ours := []string{"web/package.json", "web/package-lock.json", "sdk/typescript/package.json", "e2e/mcp/package-lock.json", "sdk/python/bot.py", "examples/bot.mjs"}

	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), ignore, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(input string, arguments ...string) string {
		cmd := exec.Command(git, arguments...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"} // without a person's own list
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %s: %v", arguments[0], err)
		}
		return string(out)
	}
	run("", "init", "-q")
	ignored := strings.Fields(run(strings.Join(slices.Concat(left, ours), "\n"), "check-ignore", "--stdin"))
	for _, name := range left {
		if !slices.Contains(ignored, name) {
			t.Errorf("git shows %s; .gitignore lacks it", name)
		}
	}
	for _, name := range ours {
		if slices.Contains(ignored, name) {
			t.Errorf("git ignores %s; begin its line in .gitignore with a slash", name)
		}
	}
}

// TestProtocolIndex checks that the index of the contract has the anchor of every
// heading of its pages, and every page: links to the index stay valid.
func TestProtocolIndex(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "protocol", "[0-9]*.md"))
	if err != nil || len(pages) < 9 {
		t.Fatalf("%v, %v", pages, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(index), "](protocol/"+filepath.Base(page)+")") {
			t.Errorf("docs/protocol.md has no link to %s", filepath.Base(page))
		}
		for _, a := range anchors(string(text))[1:] { // without the title
			if !slices.Contains(anchors(string(index)), a) {
				t.Errorf("docs/protocol.md has no anchor %s of %s", a, filepath.Base(page))
			}
		}
	}
}

// TestProtocolKinds checks that the contract names every kind that a participant may send.
func TestProtocolKinds(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "protocol", "2-kinds.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range protocol.Kinds() {
		if !strings.Contains(string(page), "`"+string(k)+"`") {
			t.Errorf("docs/protocol/2-kinds.md has no `%s`", k)
		}
	}
}

// errorRow matches a row of a table of codes: in section 5 the codes come first, in section 4
// the status.
var (
	errorRow   = regexp.MustCompile("(?m)^\\| (`[a-z_`, ]+`) \\|([^|]*)\\| ([0-9]{3}) \\|")
	refusedRow = regexp.MustCompile("(?m)^\\| ([0-9]{3}) \\| `([a-z_]+)` \\|")
)

// TestProtocolErrors checks that the contract has every code, with its status, and every field of
// an error; and that section 5 has the codes with which envelopes are rejected.
func TestProtocolErrors(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	inEnvelopes, status, fields := make(map[string]bool), make(map[string]string), []string{"error", "message"}
	for _, m := range errorRow.FindAllStringSubmatch(read("docs/protocol/5-errors.md"), -1) {
		for _, code := range codeSpan.FindAllStringSubmatch(m[1], -1) {
			inEnvelopes[code[1]], status[code[1]] = true, m[3]
		}
		for _, field := range codeSpan.FindAllStringSubmatch(m[2], -1) {
			fields = append(fields, field[1])
		}
	}
	for _, m := range refusedRow.FindAllStringSubmatch(read("docs/protocol/4-connecting.md"), -1) {
		if before := status[m[2]]; before != "" && before != m[1] {
			t.Errorf("%s has the status %s in section 4 and %s in section 5", m[2], m[1], before)
		}
		status[m[2]] = m[1]
	}

	codes := errorCodes(t)
	for name, code := range codes {
		if want := strconv.Itoa(protocol.Code(code).HTTPStatus()); status[code] != want {
			t.Errorf("protocol.%s: sections 4 and 5 have %s with the status %q, want %s", name, code, status[code], want)
		}
		delete(status, code)
	}
	for code := range status {
		t.Errorf("sections 4 and 5 have %s, which is no code", code)
	}
	for _, s := range sources(t) {
		dir := filepath.ToSlash(filepath.Dir(s.path))
		if s.isTest || !below(dir, "internal/space") || dir == "internal/space" { // the space itself rejects connections and reads
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if ok && codes[sel.Sel.Name] != "" && isSelector(sel, "protocol", sel.Sel.Name) && !inEnvelopes[codes[sel.Sel.Name]] {
				t.Errorf("%s: section 5 does not have %s", s.fset.Position(n.Pos()), codes[sel.Sel.Name])
			}
			return true
		})
	}

	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(read("schemas/http/error.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	for f := range reflect.TypeFor[protocol.Error]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if schema.Properties[name] == nil {
			t.Errorf("schemas/http/error.schema.json has no %s", name)
		}
		if !slices.Contains(fields, name) {
			t.Errorf("no code of section 5 has the field %s", name)
		}
		delete(schema.Properties, name)
	}
	for name := range schema.Properties {
		t.Errorf("schemas/http/error.schema.json has %s, which no error has", name)
	}
}

// errorCodes returns the constants of type Code in package protocol, by their names.
func errorCodes(t *testing.T) map[string]string {
	t.Helper()
	codes := make(map[string]string)
	for _, s := range sources(t) {
		if s.isTest || filepath.ToSlash(filepath.Dir(s.path)) != "protocol" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			of, ok := spec.Type.(*ast.Ident)
			if !ok || of.Name != "Code" {
				return true
			}
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes[spec.Names[0].Name] = value
			return true
		})
	}
	if len(codes) < 30 {
		t.Fatalf("found %d codes", len(codes))
	}
	return codes
}

// anchors returns the anchors of a document: the ones that GitHub makes of its
// headings, and its own.
func anchors(text string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(unfenced(text), -1) {
		words := named.ReplaceAllString(m[1], "$1")
		list = append(list, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(words), ""), " ", "-"))
	}
	for _, m := range explicit.FindAllStringSubmatch(unfenced(text), -1) {
		list = append(list, m[1])
	}
	return list
}

// unfenced returns a document without its code blocks.
func unfenced(text string) string {
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		ticks := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case fence != "":
			if trimmed == fence {
				fence = ""
			}
		case len(ticks) >= 3:
			fence = ticks
		default:
			out.WriteString(line)
		}
	}
	return out.String()
}
