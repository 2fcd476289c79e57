package archtest

import (
	"go/ast"
	"testing"
)

// makesErrors are the exported functions whose purpose is to make a
// *protocol.Error: "package.Function".
var makesErrors = map[string]bool{
	"protocol.Errorf": true, "protocol.AsError": true, "access.BadRequest": true, "access.BodyError": true,
}

// TestBorders_ReturnErrors checks that exported functions and methods, and the
// functions in type declarations, return error. A nil *protocol.Error that a
// caller stores as an error is not nil.
func TestBorders_ReturnErrors(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest {
			continue
		}
		pkg := s.file.Name.Name
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && !makesErrors[pkg+"."+d.Name.Name] && returnsConcreteError(pkg, d.Type) {
					t.Errorf("%s: %s returns a *protocol.Error; return error", s.path, d.Name.Name)
				}
			case *ast.GenDecl:
				ast.Inspect(d, func(n ast.Node) bool {
					if f, ok := n.(*ast.FuncType); ok && returnsConcreteError(pkg, f) {
						t.Errorf("%s: a function in a declaration returns a *protocol.Error; return error", s.fset.Position(f.Pos()))
					}
					return true
				})
			}
		}
	}
}

func returnsConcreteError(pkg string, f *ast.FuncType) bool {
	if f.Results == nil {
		return false
	}
	for _, result := range f.Results.List {
		star, ok := result.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		name, ok := star.X.(*ast.Ident)
		if isSelector(star.X, "protocol", "Error") || ok && pkg == "protocol" && name.Name == "Error" {
			return true
		}
	}
	return false
}
