package review

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a file of rules, in bytes and patterns.
const (
	MaxRulesFile = 1 << 20
	maxRules     = 500
)

// Rules judge calls by patterns: a call that a reject rule selects is rejected, one that an ask
// rule selects is left to people, and one that an approve rule certainly selects is approved,
// whatever their order in the file. About others they say nothing.
//
// Reject and ask rules have the sense of deny rules, except that a command is not selected for
// what a program in it may run unseen: every rule for commands would select make.
type Rules struct{ rejects, asks, approves []rule }

// keyAsk is the key of a rule whose calls are left to people.
const keyAsk = "ask"

type rule struct {
	pattern *capability.Capability
	reason  string
}

// ParseRules reads the text of a file of rules. Its errors have the name, the line and the
// column.
func ParseRules(name string, text []byte) (*Rules, error) {
	if len(text) > MaxRulesFile {
		return nil, fmt.Errorf("%s: it has more than %d bytes", name, MaxRulesFile)
	}
	file, err := parser.ParseBytes(text, 0)
	var fault yaml.Error
	switch {
	case errors.As(err, &fault):
		return nil, located(name, fault.GetToken(), errors.New("not YAML: "+fault.GetMessage()))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(file.Docs) != 1:
		return nil, fmt.Errorf("%s: %w", name, errNoRules)
	}
	p := rulesParser{name: name, rules: &Rules{}, values: yaml.NewDecoder(strings.NewReader(""))}
	list, ok := file.Docs[0].Body.(*ast.SequenceNode)
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, errNoRules)
	}
	for _, n := range list.Values {
		if err := p.rule(n); err != nil {
			return nil, err
		}
	}
	return p.rules, nil
}

var errNoRules = errors.New(`expected a list of rules, such as "- approve: {payload: {params: {name: read_file}}}"`)

func located(name string, t *token.Token, err error) error {
	if t == nil || t.Position == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s:%d:%d: %w", name, t.Position.Line, t.Position.Column, err)
}

type rulesParser struct {
	name   string
	rules  *Rules
	values *yaml.Decoder // knows the anchors of earlier patterns
}

// rule reads an item of the list: approve, ask or reject, with one pattern or several, and a reason.
func (p *rulesParser) rule(n ast.Node) error {
	var verdict string
	var patterns []ast.Node
	var reason string
	members, ok := n.(ast.MapNode)
	if !ok {
		return located(p.name, n.GetToken(), errors.New("expected approve, ask or reject, with a pattern"))
	}
	for it := members.MapRange(); it.Next(); {
		key := it.Key().GetToken().Value
		switch key {
		case protocol.OpinionApprove, keyAsk, protocol.OpinionReject:
			if verdict != "" {
				return located(p.name, it.Key().GetToken(), errors.New("a rule has only one of approve, ask and reject"))
			}
			verdict, patterns = key, []ast.Node{it.Value()}
			if several, ok := it.Value().(*ast.SequenceNode); ok {
				patterns = several.Values
			}
		case "reason":
			if err := yaml.NodeToValue(it.Value(), &reason); err != nil {
				return located(p.name, it.Value().GetToken(), errors.New("reason: expected a text"))
			}
			if utf8.RuneCountInString(reason) > maxReason {
				return located(p.name, it.Value().GetToken(), fmt.Errorf("reason: at most %d characters", maxReason))
			}
		default:
			return located(p.name, it.Key().GetToken(), fmt.Errorf("unknown key %q; a rule has approve, ask or reject, and reason", key))
		}
	}
	if len(patterns) == 0 {
		return located(p.name, n.GetToken(), errors.New("a rule has approve, ask or reject, with a pattern"))
	}
	to := &p.rules.approves
	switch verdict {
	case keyAsk:
		to = &p.rules.asks
	case protocol.OpinionReject:
		to = &p.rules.rejects
	}
	for _, x := range patterns {
		c, err := p.pattern(x, verdict != protocol.OpinionApprove)
		if err != nil {
			return err
		}
		*to = append(*to, rule{c, reason})
	}
	if len(p.rules.approves)+len(p.rules.asks)+len(p.rules.rejects) > maxRules {
		return located(p.name, n.GetToken(), fmt.Errorf("there are more than %d patterns", maxRules))
	}
	return nil
}

// pattern compiles a pattern of calls.
func (p *rulesParser) pattern(n ast.Node, deny bool) (*capability.Capability, error) {
	var fields map[string]any
	if err := p.values.DecodeFromNode(n, &fields); err != nil || fields == nil {
		return nil, located(p.name, n.GetToken(), errors.New("a pattern has payload, to or context, as a capability for mcp.request"))
	}
	if _, given := fields["deny"]; given {
		return nil, located(p.name, n.GetToken(), errors.New("leave deny out: reject denies"))
	}
	fields["deny"] = deny
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, located(p.name, n.GetToken(), errors.New("keys must be texts"))
	}
	c, err := capability.ParseCall(text)
	var where *capability.PatternError
	if errors.As(err, &where) {
		return nil, located(p.name, nodeAt(n, where.Pointer).GetToken(), err)
	}
	if err != nil {
		return nil, located(p.name, n.GetToken(), err)
	}
	for _, f := range capability.LintCall(c, false, nil) {
		if f.Mistake {
			return nil, located(p.name, n.GetToken(), errors.New(f.Message))
		}
	}
	return c, nil
}

// nodeAt returns the node at a JSON pointer, or the last one on the way to it.
func nodeAt(n ast.Node, pointer string) ast.Node {
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		key = protocol.UnescapePointer(key)
		switch x := n.(type) {
		case ast.MapNode:
			for it := x.MapRange(); it.Next(); {
				if it.Key().GetToken().Value == key {
					n = it.Value()
					break
				}
			}
		case *ast.SequenceNode:
			i, err := strconv.Atoi(key)
			if err == nil && i >= 0 && i < len(x.Values) {
				n = x.Values[i]
			}
		}
	}
	return n
}

// judge returns what the rules say of a call, and whether a rule is about it at all. The file of
// rules is trusted, and Options.MaxCall bounds the call.
func (r *Rules) judge(request *capability.Request) (o opinion, about bool) {
	unbounded := *request
	unbounded.Unbounded = true
	call := &unbounded
	for _, x := range r.rejects {
		if x.pattern.Sees(call) {
			return opinion{protocol.OpinionReject, cmp.Or(x.reason, "A rule rejects such calls.")}, true
		}
	}
	for _, x := range r.asks {
		if x.pattern.Sees(call) {
			return opinion{protocol.OpinionAbstain, cmp.Or(x.reason, "A rule leaves such calls to people.")}, true
		}
	}
	for _, x := range r.approves {
		if x.pattern.Certain(call) {
			return opinion{protocol.OpinionApprove, cmp.Or(x.reason, "A rule approves such calls.")}, true
		}
	}
	return opinion{protocol.OpinionAbstain, "No rule is about this call."}, false
}
