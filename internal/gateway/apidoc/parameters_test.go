package apidoc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/apidoc"
)

// handlers are the functions and methods of packages by name.
type handlers map[string][]*ast.FuncDecl

func parseHandlers(t *testing.T, folders ...string) handlers {
	t.Helper()
	all := handlers{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					all[f.Name.Name] = append(all[f.Name.Name], f)
				}
			}
		}
	}
	return all
}

// nameOf returns the last name of an expression: f, x.f.
func nameOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.CallExpr:
		return nameOf(x.Fun)
	}
	return ""
}

func literal(x ast.Expr) (string, bool) {
	lit, ok := x.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// reads adds the names of the parameters that functions of a name and the ones that
// they call read of a query.
func (h handlers) reads(function string, seen map[string]bool, names map[string]bool) {
	// A constructor reads no request, and the token is documented as a way to authenticate.
	if seen[function] || strings.HasPrefix(function, "New") || function == "TokenFromRequest" {
		return
	}
	seen[function] = true
	for _, f := range h[function] {
		h.readsOf(f, seen, names)
	}
}

// readsOf adds the literals in Get, Has, an index, and the cases of a switch over name.
func (h handlers) readsOf(f *ast.FuncDecl, seen map[string]bool, names map[string]bool) {
	add := func(x ast.Expr) {
		if name, ok := literal(x); ok {
			names[name] = true
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Get" || s.Sel.Name == "Has") && len(n.Args) == 1 {
				if of := nameOf(s.X); of == "q" || of == "Query" {
					add(n.Args[0])
				} else if name, ok := literal(n.Args[0]); ok && of == "Header" && (name == "Last-Event-ID" || name == "Meup-Space") {
					names[name] = true
				}
			}
			h.reads(nameOf(n.Fun), seen, names)
		case *ast.IndexExpr:
			if nameOf(n.X) == "Query" {
				add(n.Index)
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && nameOf(n.Tag) == "name" && n.Init == nil {
				for _, clause := range n.Body.List {
					for _, value := range clause.(*ast.CaseClause).List {
						add(value)
					}
				}
			}
		case *ast.SelectorExpr: // a method that is passed on
			if base, ok := n.X.(*ast.Ident); ok && base.Name == "s" {
				h.reads(n.Sel.Name, seen, names)
			}
		}
		return true
	})
}

// The documented parameters of a route are the ones that its handler reads.
func TestOpenAPI_Parameters(t *testing.T) {
	api := parseHandlers(t, "httpapi", "access")
	routes := api["routes"]
	if len(routes) != 1 {
		t.Fatal("httpapi has no function routes")
	}
	compared := 0
	compare := func(t *testing.T, pattern string, read map[string]bool, except ...string) {
		t.Helper()
		for _, name := range except {
			if !read[name] {
				t.Errorf("%s does not read %s", pattern, name)
			}
			delete(read, name)
		}
		documented := apidoc.ParametersOf(pattern)
		slices.Sort(documented)
		if got := slices.Sorted(maps.Keys(read)); !slices.Equal(got, documented) {
			t.Errorf("%s reads %v, and %v are documented", pattern, got, documented)
		}
		compared += len(read)
	}
	ast.Inspect(routes[0].Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || nameOf(call.Fun) != "handle" || len(call.Args) != 2 {
			return true
		}
		pattern, ok := literal(call.Args[0])
		if !ok || strings.Contains(pattern, "/hooks/") {
			return true
		}
		read := map[string]bool{}
		ast.Inspect(call.Args[1], func(n ast.Node) bool {
			if method, ok := n.(*ast.SelectorExpr); ok && method.Sel.Name != "inSpace" && method.Sel.Name != "ownHosts" && method.Sel.Name != "options" {
				api.reads(method.Sel.Name, map[string]bool{}, read)
			}
			return true
		})
		var except []string
		if strings.HasSuffix(pattern, "{space}/events") {
			except = []string{"space", "dialect"} // it sets them itself
		}
		compare(t, pattern, read, except...)
		return true
	})
	for pattern, c := range map[string]struct{ folder, function string }{
		"GET /ws":                       {"access", "ParseConnect"},
		"POST /mcp":                     {"mcpserver", ""},
		"POST /api/spaces/{space}/agui": {"agui", "serve"},
		"POST /v1/traces":               {"otlpreceiver", ""},
		"POST /api/spaces/{space}/hooks/{program}": {"hooks", "readSettings"},
	} {
		functions, read := parseHandlers(t, c.folder), map[string]bool{}
		for name := range functions {
			if c.function == name || c.function == "" { // all functions
				functions.reads(name, map[string]bool{}, read)
			}
		}
		compare(t, pattern, read)
	}
	if compared < 50 {
		t.Errorf("only %d parameters were compared", compared)
	}
}
