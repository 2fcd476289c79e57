package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxConfig bounds the configuration file.
const maxConfig = 1 << 20

// configPath returns the path of the configuration.
func configPath() (string, error) {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "meup", "config.yaml"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".config", "meup", "config.yaml"), nil
}

// profile holds the settings for one gateway.
type profile struct {
	gateway, space             string
	token, tokenEnv, tokenFile string

	file string // the file that defines it; a relative token_file is relative to its folder
}

// configuration is the content of the file.
type configuration struct {
	path     string
	usual    string // the default profile
	profiles map[string]*profile
}

// readConfig reads the file; a missing file has no profiles.
func readConfig(path string) (*configuration, error) {
	c := &configuration{path: path, usual: "default", profiles: make(map[string]*profile)}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if len(raw) > maxConfig {
		return nil, fmt.Errorf("read configuration: %s has more than %d bytes", path, maxConfig)
	}
	if err := c.parse(raw); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *configuration) parse(raw []byte) error {
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return c.unreadable(err)
	}
	named := (*token.Token)(nil)
	for _, doc := range file.Docs {
		err := c.each(doc.Body, "expected profile and profiles", func(key string, m *ast.MappingValueNode) (err error) {
			switch key {
			case "profile":
				named = m.Value.GetToken()
				c.usual, err = text(m.Value)
			case "profiles":
				err = c.readProfiles(m.Value)
			default:
				err = fmt.Errorf("unknown key %q; there are profile and profiles", key)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if named != nil && c.profiles[c.usual] == nil {
		return c.located(named, fmt.Errorf("there is no profile %q", c.usual))
	}
	return nil
}

func (c *configuration) readProfiles(node ast.Node) error {
	return c.each(node, "expected names with profiles", func(name string, m *ast.MappingValueNode) error {
		p := &profile{file: c.path}
		c.profiles[name] = p
		err := c.each(m.Value, "expected gateway, space and a token", func(key string, m *ast.MappingValueNode) error {
			return p.set(key, m.Value)
		})
		if err == nil && more(p.token != "", p.tokenEnv != "", p.tokenFile != "") {
			return fmt.Errorf("profile %q: token, token_env and token_file: one of them", name)
		}
		return err
	})
}

// more reports whether more than one condition is true.
func more(list ...bool) bool {
	n := 0
	for _, x := range list {
		if x {
			n++
		}
	}
	return n > 1
}

func (p *profile) set(key string, node ast.Node) error {
	field, ok := map[string]*string{
		"gateway": &p.gateway, "space": &p.space,
		"token": &p.token, "token_env": &p.tokenEnv, "token_file": &p.tokenFile,
	}[key]
	if !ok {
		return fmt.Errorf("unknown key %q; there are gateway, space, token_env, token_file and token", key)
	}
	value, err := text(node)
	if err == nil && value == "" {
		err = errors.New("expected a text that is not empty")
	}
	if err == nil && key == "gateway" {
		_, err = parseGateway(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	*field = value
	return nil
}

// each iterates over the keys of a mapping. It adds the position to an error
// that has none.
func (c *configuration) each(node ast.Node, expected string, do func(string, *ast.MappingValueNode) error) error {
	list, ok := members(node)
	if !ok {
		return c.located(node.GetToken(), errors.New(expected))
	}
	for _, m := range list {
		if err := do(m.Key.GetToken().Value, m); err != nil {
			return c.located(m.Key.GetToken(), err)
		}
	}
	return nil
}

func members(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil, true
	}
	return nil, false
}

// text reads a scalar. The error does not quote it: it may be a token.
func text(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	}
	return "", errors.New("expected a text")
}

// locatedError is an error in the file, with its position.
type locatedError struct{ error }

func (f locatedError) Unwrap() error { return f.error }

func (c *configuration) located(t *token.Token, err error) error {
	var placed locatedError
	if errors.As(err, &placed) {
		return err
	}
	return locatedError{fmt.Errorf("%s: %w", position(c.path, t), err)}
}

func position(path string, t *token.Token) string {
	if t == nil || t.Position == nil {
		return path
	}
	return fmt.Sprintf("%s:%d:%d", path, t.Position.Line, t.Position.Column)
}

// unreadable reports the position of a YAML syntax error. It does not quote the
// line, which may contain a token.
func (c *configuration) unreadable(err error) error {
	var at yaml.Error
	if !errors.As(err, &at) {
		return fmt.Errorf("%s: not YAML", c.path)
	}
	return c.located(at.GetToken(), errors.New("not YAML: "+at.GetMessage()))
}
