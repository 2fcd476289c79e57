package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the path of the repository, relative to this package.
const root = "../../.."

// source is one Go file of the repository.
type source struct {
	path   string // from the root
	isTest bool
	file   *ast.File
	fset   *token.FileSet
}

// sources returns all Go files of the repository, files for other systems
// included and generated files excluded. The tests share them.
func sources(t *testing.T) []source {
	t.Helper()
	list, err := parseSources()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 50 {
		t.Fatalf("found only %d Go files", len(list))
	}
	return list
}

var parseSources = sync.OnceValues(func() (list []source, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipForeign(path, d.Name())
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		s := source{isTest: strings.HasSuffix(path, "_test.go"), fset: token.NewFileSet()}
		s.path, err = filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s.file, err = parser.ParseFile(s.fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(s.file) {
			list = append(list, s)
		}
		return nil
	})
	return list, err
})

// skipForeign skips the folders of tools, of other languages and of test data, and those
// that the pattern ./... ignores, which tests make and remove.
func skipForeign(path, name string) error {
	foreign := []string{"bin", "node_modules", "testdata"}
	if path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || slices.Contains(foreign, name)) {
		return filepath.SkipDir
	}
	return nil
}

func TestPackagesSayWhatTheyAre(t *testing.T) {
	documented := make(map[string]bool)
	for _, s := range sources(t) {
		if strings.HasSuffix(s.file.Name.Name, "_test") {
			continue
		}
		dir := filepath.Dir(s.path)
		documented[dir] = documented[dir] || strings.TrimSpace(s.file.Doc.Text()) != ""
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("the package in %s has no comment", dir)
		}
	}
}

// TestNoSleep rejects tests that wait for real time: they are slow and
// sometimes wrong. Inside a synctest bubble time is fake, and sleeping advances
// it.
func TestNoSleep(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isTest {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isSelector(call.Fun, "synctest", "Test") {
				return false
			}
			if sel, ok := n.(*ast.SelectorExpr); ok && isSelector(sel, "time", "Sleep") {
				t.Errorf("%s sleeps: wait for what is to happen, or use testing/synctest", s.fset.Position(n.Pos()))
			}
			return true
		})
	}
}

func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// TestTestsUseTestkit rejects checks for goroutines with the fixed second of goleak, which
// a busy machine reaches.
func TestTestsUseTestkit(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isTest {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if isSelector(sel, "goleak", "VerifyTestMain") || isSelector(sel, "goleak", "VerifyNone") {
				t.Errorf("%s: use testkit.Main, which waits longer", s.fset.Position(n.Pos()))
			}
			return true
		})
	}
}

// TestHeadersAssignNothing rejects `if x = f(); cond`: the assignment is easily read over. It
// stands on a line of its own. Declarations, such as `if err := f(); err != nil`, stay.
func TestHeadersAssignNothing(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			var init ast.Stmt
			switch n := n.(type) {
			case *ast.IfStmt:
				init = n.Init
			case *ast.SwitchStmt:
				init = n.Init
			case *ast.TypeSwitchStmt:
				init = n.Init
			}
			assign, isAssign := init.(*ast.AssignStmt)
			_, isIncDec := init.(*ast.IncDecStmt)
			if isAssign && assign.Tok != token.DEFINE || isIncDec {
				t.Errorf("%s: the header assigns: move the assignment to the line before", s.fset.Position(init.Pos()))
			}
			return true
		})
	}
}
