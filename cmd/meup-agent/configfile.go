package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/pflag"
)

// maxConfig bounds the file that --config names.
const maxConfig = 1 << 20

// applyConfig sets the flags that a YAML file contains and the command line
// does not. The keys are the names of the flags, with underscores for hyphens;
// repeatable flags accept a list. An environment variable for a flag takes
// precedence over the file.
func applyConfig(fl *pflag.FlagSet, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if info.Size() > maxConfig {
		return fmt.Errorf("read configuration: %s has more than %d bytes", path, maxConfig)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	file, err := parser.ParseBytes(raw, 0)
	var at yaml.Error
	if errors.As(err, &at) { // its text quotes the line, which may contain a secret
		return located(path, at.GetToken(), errors.New("not YAML: "+at.GetMessage()))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, doc := range file.Docs {
		var list []*ast.MappingValueNode
		switch n := doc.Body.(type) {
		case *ast.MappingNode:
			list = n.Values
		case *ast.MappingValueNode:
			list = append(list, n)
		case nil, *ast.NullNode, *ast.CommentGroupNode: // only comments
		default:
			return located(path, doc.Body.GetToken(), errors.New("expected keys with values, such as max_steps: 12"))
		}
		for _, member := range list {
			if err := applyMember(fl, member); err != nil {
				return located(path, member.Key.GetToken(), err)
			}
		}
	}
	return nil
}

func located(path string, t *token.Token, err error) error {
	if t == nil || t.Position == nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s:%d:%d: %w", path, t.Position.Line, t.Position.Column, err)
}

func applyMember(fl *pflag.FlagSet, member *ast.MappingValueNode) error {
	key := member.Key.GetToken().Value
	flag := fl.Lookup(strings.ReplaceAll(key, "_", "-"))
	if flag == nil || strings.Contains(key, "-") || flag.Name == "config" || flag.Name == "help" {
		return fmt.Errorf("unknown key %q", key)
	}
	if flag.Changed || os.Getenv(variables[flag.Name]) != "" {
		return nil
	}
	values, err := scalars(member.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.Replace(values)
	}
	if len(values) != 1 {
		return fmt.Errorf("%s: expected one value", key)
	}
	if err := flag.Value.Set(values[0]); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// scalars returns the text of a scalar, or the texts of a list of scalars.
func scalars(node ast.Node) ([]string, error) {
	if list, ok := node.(*ast.SequenceNode); ok {
		var values []string
		for _, item := range list.Values {
			v, err := scalars(item)
			if err != nil {
				return nil, err
			}
			values = append(values, v...)
		}
		return values, nil
	}
	switch n := node.(type) {
	case *ast.StringNode:
		return []string{n.Value}, nil
	case *ast.LiteralNode:
		return []string{n.Value.Value}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return []string{n.GetToken().Value}, nil
	}
	return nil, fmt.Errorf("expected a text, a number, true or false, or a list of them")
}
