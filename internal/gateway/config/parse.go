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

// parse returns the values of a file, or nil if it cannot be processed further;
// the report has the reason.
func (r *report) parse(data []byte) *node {
	if len(data) > maxFileBytes {
		r.errorf(nil, "the file has more than %d bytes", maxFileBytes)
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	// The scanner counts one line too many after a comment that ends with CRLF.
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if !utf8.Valid(data) {
		i := 0 // the first byte that is invalid
		for c, size := utf8.DecodeRune(data); c != utf8.RuneError || size > 1; c, size = utf8.DecodeRune(data[i:]) {
			i += size
		}
		line := data[1+bytes.LastIndexByte(data[:i], '\n') : i]
		r.errorf(&node{place: place{1 + bytes.Count(data[:i], []byte("\n")), 1 + utf8.RuneCount(line)}},
			"not UTF-8; save the file in that encoding")
		return nil
	}
	body := r.parseDocument(string(data))
	if body == nil {
		return nil
	}
	b := builder{report: r, anchors: make(map[string]*node)}
	root := b.build(body, "", 0)
	if b.overweight {
		return nil
	}
	return root
}

// parseDocument returns the body of the only document in the file.
func (r *report) parseDocument(text string) (body ast.Node) {
	// The scanner is a dependency and has had index errors on malformed input;
	// a reload must not crash the gateway because of a partial file.
	defer func() {
		if recover() != nil {
			r.errorf(nil, "the file cannot be read as YAML")
			body = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	if t := tooDeep(tokens); t != nil {
		r.errorf(at(t), "nested deeper than %d levels", maxDepth)
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if t := bareStar(tokens); t != nil {
			r.errorf(at(t), `quote the star: "*"`)
			return nil
		}
		open, end := unclosed(tokens)
		switch {
		case end != nil:
			r.errorf(at(open), "not YAML: this %s is not closed before the %s in line %d; add %s", open.Value, end.Value, end.Position.Line, closing[open.Type])
			return nil
		case open != nil:
			r.errorf(at(open), "not YAML: this %s is not closed; add %s", open.Value, closing[open.Type])
			return nil
		}
		var located interface {
			GetToken() *token.Token
			GetMessage() string // without the excerpt of the file: the line may contain a token
		}
		if errors.As(err, &located) {
			r.errorf(at(located.GetToken()), "not YAML: %s", located.GetMessage())
		} else {
			r.errorf(nil, "the file cannot be read as YAML")
		}
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if body != nil {
			r.errorf(at(start(doc.Body)), "a second document; remove the --- and the text after it")
			return body
		}
		body = doc.Body
	}
	if body == nil {
		r.errorf(at(nil), "the file is empty; %s", minimal)
	}
	return body
}

// tooDeep returns the token at which flow collections or dashes in one line
// nest beyond maxDepth. Nesting by indentation needs longer and longer lines,
// so the file size bounds it.
func tooDeep(tokens token.Tokens) *token.Token {
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
			return t
		}
	}
	return nil
}

// closing has the bracket that closes each.
var closing = map[token.Type]string{token.MappingStartType: "}", token.SequenceStartType: "]"}

// unclosed returns the innermost bracket that is open where one around it is closed, with
// that end, or at the end of the file. The parser reports the place at which it notices
// that, which may be many lines below. nil: there is none.
func unclosed(tokens token.Tokens) (open, end *token.Token) {
	var stack []*token.Token
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			stack = append(stack, t)
		case token.MappingEndType, token.SequenceEndType:
			if len(stack) == 0 {
				return nil, nil
			}
			last := stack[len(stack)-1]
			if closing[last.Type] != t.Value {
				return last, t
			}
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) == 0 {
		return nil, nil
	}
	return stack[len(stack)-1], nil
}

// bareStar returns a star that no name follows. In YAML a star starts an alias;
// here it was probably intended as text, such as in [*].
func bareStar(tokens token.Tokens) *token.Token {
	for i, t := range tokens {
		if t.Type != token.AliasType {
			continue
		}
		if i+1 < len(tokens) && tokens[i+1].Type == token.StringType && tokens[i+1].Value != ":" &&
			tokens[i+1].Position.Offset == t.Position.Offset+1 {
			continue // it has a name
		}
		return t
	}
	return nil
}

// at returns the place of a token; without a token, the start of the file.
func at(t *token.Token) *node {
	if t == nil || t.Position == nil {
		return &node{place: place{1, 1}}
	}
	return &node{place: place{t.Position.Line, t.Position.Column}}
}

// start returns the first token of a value. The parser reports the first colon
// of a block mapping; this function returns its first key.
func start(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return start(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return start(n.Key)
	}
	return n.GetToken()
}
