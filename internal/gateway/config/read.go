package config

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file. The operator writes the configuration, but a reload may
// read a partial file, and the YAML parser takes quadratic time in the nesting.
const (
	maxFileBytes    = 4 << 20
	maxDepth        = 64
	maxExpandedSize = 1 << 20 // values, with all aliases expanded
)

const minimal = `a minimal one is spaces: {lab: {participants: {alice: {token_env: ALICE_TOKEN, capabilities: ["*"]}}}}`

// readTree parses the text of a file. It returns nil if the file cannot be
// processed further; the report has the reason.
func readTree(r *report, data []byte) *node {
	if len(data) > maxFileBytes {
		r.errorf(place{}, "the file has more than %d bytes", maxFileBytes)
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	// The scanner counts one line too many after a comment that ends with CRLF.
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if at := invalidUTF8(data); at.isSet() {
		r.errorf(at, "not UTF-8; save the file in that encoding")
		return nil
	}
	body := parseDocument(r, data)
	if body == nil {
		return nil
	}
	b := builder{report: r, anchors: make(map[string]*node)}
	root := b.build(body, 0)
	if b.overweight {
		return nil
	}
	return root
}

// invalidUTF8 returns the place of the first invalid bytes.
func invalidUTF8(data []byte) place {
	at := place{1, 1}
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		if c == utf8.RuneError && size == 1 {
			return at
		}
		at.column++
		if c == '\n' {
			at = place{at.line + 1, 1}
		}
		data = data[size:]
	}
	return place{}
}

// parseDocument returns the body of the only document in the file.
func parseDocument(r *report, data []byte) (body ast.Node) {
	// The scanner is a dependency and has had index errors on malformed input;
	// a reload must not crash the gateway because of a partial file.
	defer func() {
		if recover() != nil {
			r.errorf(place{}, "the file cannot be read as YAML")
			body = nil
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if at := tooDeep(tokens); at.isSet() {
		r.errorf(at, "nested deeper than %d levels", maxDepth)
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if at := bareStar(tokens); at.isSet() {
			r.errorf(at, `quote the star: "*"`)
			return nil
		}
		reportSyntaxError(r, err)
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if body != nil {
			r.errorf(placeOf(doc.Body), "a second document; a configuration is one, so remove the --- and what follows")
			return body
		}
		body = doc.Body
	}
	if body == nil {
		r.errorf(place{1, 1}, "the file is empty; %s", minimal)
	}
	return body
}

// tooDeep returns the place where flow collections or dashes in one line nest
// beyond maxDepth. Nesting by indentation needs longer and longer lines, so the
// file size bounds it.
func tooDeep(tokens token.Tokens) place {
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if flow+dashes > maxDepth {
			return place{t.Position.Line, t.Position.Column}
		}
	}
	return place{}
}

// bareStar returns the place of a star that no name follows. In YAML a star
// starts an alias; here it was probably intended as text, such as in [*].
func bareStar(tokens token.Tokens) place {
	for i, t := range tokens {
		if t.Type != token.AliasType {
			continue
		}
		at := t.Position
		if i+1 < len(tokens) && tokens[i+1].Type == token.StringType && tokens[i+1].Value != ":" && tokens[i+1].Position.Offset == at.Offset+1 {
			continue // it has a name
		}
		return place{at.Line, at.Column}
	}
	return place{}
}

// reportSyntaxError reports the parser's error, without its excerpt of the file: the
// line may contain a token.
func reportSyntaxError(r *report, err error) {
	var located interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &located) {
		r.errorf(place{}, "the file cannot be read as YAML")
		return
	}
	at := place{1, 1}
	if t := located.GetToken(); t != nil && t.Position != nil {
		at = place{t.Position.Line, t.Position.Column}
	}
	r.errorf(at, "not YAML: %s", located.GetMessage())
}

// placeOf returns the start of a value. The parser reports the place of the
// first colon for a block mapping; this function returns the place of its first
// key.
func placeOf(n ast.Node) place {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return placeOf(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return placeOf(n.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return place{t.Position.Line, t.Position.Column}
	}
	return place{1, 1}
}
