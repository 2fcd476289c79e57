package connect

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/meup-protocol/meup/internal/kit/program"
)

// maxConfig bounds the configuration file.
const maxConfig = 1 << 20

// configPath returns the path of the configuration.
func configPath(env *program.Environment) (string, error) {
	if dir := env.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "meup", "config.yaml"), nil
	}
	home, err := env.Home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".config", "meup", "config.yaml"), nil
}

// profile holds the settings for one gateway.
type profile struct {
	Gateway   text `yaml:"gateway,omitempty"`
	Space     text `yaml:"space,omitempty"`
	Token     text `yaml:"token,omitempty"`
	TokenEnv  text `yaml:"token_env,omitempty"`
	TokenFile text `yaml:"token_file,omitempty"` // relative to the folder of the configuration

	path string // of the configuration
}

// text is a YAML scalar as it is written in the file: a token of digits is not
// a number.
type text string

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (t *text) UnmarshalYAML(node ast.Node) error {
	scalar, ok := node.(ast.ScalarNode)
	if !ok {
		return &yaml.TypeError{DstType: reflect.TypeFor[string](), Token: node.GetToken()}
	}
	switch scalar := scalar.(type) {
	case *ast.StringNode:
		*t = text(scalar.Value)
	case *ast.LiteralNode:
		*t = text(scalar.Value.Value)
	case *ast.NullNode:
	default:
		*t = text(node.GetToken().Value)
	}
	return nil
}

// configuration is the content of the file.
type configuration struct {
	Profile  text              `yaml:"profile,omitempty"` // the default one
	Profiles map[text]*profile `yaml:"profiles"`
}

// readConfig reads the file; a missing file has no profiles.
func readConfig(path string) (*configuration, error) {
	raw, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return parseConfig(path, raw)
}

// readFile returns the content of a file, nil if it is missing.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
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
	return raw, nil
}

// parseConfig parses the file strictly. Errors have a position and do not quote
// the line, which may contain a token.
func parseConfig(path string, raw []byte) (*configuration, error) {
	c := &configuration{}
	err := yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict()).Decode(c)
	var located yaml.Error
	var syntax *yaml.SyntaxError
	var mistyped *yaml.TypeError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("%s: not YAML: %s", position(path, syntax.Token), syntax.Message)
	case errors.As(err, &mistyped): // its message has types of Go
		return nil, fmt.Errorf("%s: expected a %s", position(path, mistyped.Token), mistyped.DstType.Kind())
	case errors.As(err, &located):
		return nil, fmt.Errorf("%s: %s", position(path, located.GetToken()), located.GetMessage())
	case err != nil && !errors.Is(err, io.EOF): // the end of an empty file
		return nil, fmt.Errorf("%s: not YAML", path)
	}
	at := func(keys ...text) string {
		p := (&yaml.PathBuilder{}).Root()
		for _, key := range keys {
			p = p.Child(string(key))
		}
		node, err := p.Build().ReadNode(bytes.NewReader(raw))
		if err != nil {
			return path
		}
		return position(path, node.GetToken())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		if p == nil { // a name without settings
			p = &profile{}
			c.Profiles[name] = p
		}
		p.path = path
		if p.Gateway != "" {
			if _, err := parseGateway(string(p.Gateway)); err != nil {
				return nil, fmt.Errorf("%s: %w", at("profiles", name, "gateway"), err)
			}
		}
		if cmp.Or(string(p.Token), string(p.TokenEnv), string(p.TokenFile)) != string(p.Token+p.TokenEnv+p.TokenFile) {
			return nil, fmt.Errorf("%s: profile %q: use only one of token, token_env and token_file", at("profiles", name), name)
		}
	}
	if c.Profile != "" && c.Profiles[c.Profile] == nil {
		return nil, fmt.Errorf("%s: profile %q not found", at("profile"), c.Profile)
	}
	return c, nil
}

func position(path string, t *token.Token) string {
	if t == nil || t.Position == nil {
		return path
	}
	return fmt.Sprintf("%s:%d:%d", path, t.Position.Line, t.Position.Column)
}
