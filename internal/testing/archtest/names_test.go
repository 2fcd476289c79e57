package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declared holds the names of the Go code: Name, package.Name, Type.Member,
// package.Type.Member and package.Member.
type declared map[string]bool

// declaredNames reads every Go file that is not a test.
func declaredNames(t *testing.T) declared {
	t.Helper()
	names := make(declared)
	for _, source := range sources(t) {
		if !source.isTest {
			names.addFile(source.file)
		}
	}
	return names
}

func (d declared) add(pkg string, parts ...string) {
	name := strings.Join(parts, ".")
	d[name], d[pkg+"."+name] = true, true
	if len(parts) == 2 {
		d[parts[1]], d[pkg+"."+parts[1]] = true, true
	}
}

func (d declared) addFile(f *ast.File) {
	pkg := f.Name.Name
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				d.add(pkg, decl.Name.Name)
			} else {
				d.add(pkg, receiver(decl.Recv.List[0].Type), decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				d.addSpec(pkg, spec)
			}
		}
	}
}

func (d declared) addSpec(pkg string, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			d.add(pkg, name.Name)
		}
	case *ast.TypeSpec:
		d.add(pkg, spec.Name.Name)
		var fields *ast.FieldList
		switch body := spec.Type.(type) {
		case *ast.StructType:
			fields = body.Fields
		case *ast.InterfaceType:
			fields = body.Methods
		default:
			return
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				d.add(pkg, spec.Name.Name, name.Name)
			}
		}
	}
}

// receiver returns the type's name of a method's receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

var (
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	mermaid    = regexp.MustCompile("(?ms)^```mermaid\n.*?^```$")
	codeBlock  = regexp.MustCompile("(?ms)^```\n(.*?)^```$")
	identifier = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)
	// goName is an identifier that is no word of prose: with a dot or a capital.
	goName = regexp.MustCompile(`[.A-Z]`)
	column = regexp.MustCompile(` {2,}|[|→,⇒…]`)
)

// TestNames_InArchitecture: the functions, types and fields that ARCHITECTURE.md
// names exist.
func TestNames_InArchitecture(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := mermaid.ReplaceAllString(string(raw), "")
	names := declaredNames(t)
	found := 0
	check := func(name string) {
		name = strings.TrimSuffix(name, "()")
		if !identifier.MatchString(name) || notGo[name] {
			return
		}
		found++
		if !names[name] {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", name)
		}
	}
	for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
		if goName.MatchString(span[1]) {
			check(span[1])
		}
	}
	for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
		if strings.Contains(block[1], "web/src") {
			continue // names of the page
		}
		for line := range strings.Lines(block[1]) {
			// The first column has the names, the second their purpose.
			first := strings.TrimLeft(strings.TrimRight(line, "\n"), " ")
			if before, _, two := strings.Cut(first, "  "); two {
				first = before
			}
			for _, name := range column.Split(first, -1) {
				check(strings.TrimSpace(name))
			}
		}
	}
	if found < 100 {
		t.Errorf("%d names were found", found)
	}
}

// notGo are names in ARCHITECTURE.md that are not of the Go code.
var notGo = map[string]bool{"stream.data": true, "http.Server.Shutdown": true, "RLIMIT_NOFILE": true}
