package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/kit/program"
)

// checkTarget checks whether a configuration may be written to a file; "": none is.
func checkTarget(from, to string, force bool) error {
	source, _ := os.Stat(from) // it is read later
	there, err := os.Stat(to)
	switch {
	case to == "" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case os.SameFile(source, there):
		return program.Usagef("--write %s is the configuration itself, which is never replaced: name another file", to)
	case !force:
		return program.Usagef("--write %s: the file exists: name another one, or replace it with --force", to)
	}
	return nil
}

// errCannotMerge means that the configuration is written in a way that lines cannot be added to.
var errCannotMerge = errors.New("the suggestions cannot be added to the configuration as it is written: paste their lines")

// writeSuggestions writes the configuration with the suggestions to a file, and keeps its
// comments and its permissions. It returns how many are in it: those for participants of the configuration.
func writeSuggestions(from, to string, force bool, r *api.Suggestions) (n int, err error) {
	text, err := os.ReadFile(from)
	if err != nil {
		return 0, err
	}
	want, err := valueOf(text)
	if err != nil {
		return 0, fmt.Errorf("read the configuration: %w", err)
	}
	file, err := parser.ParseBytes(text, parser.ParseComments)
	if err != nil {
		return 0, err
	}
	for i := range r.Suggestions {
		s := &r.Suggestions[i]
		if s.ConfiguredIn == "" {
			continue
		}
		if s.Rule != nil {
			err = addRule(file, s.ConfiguredIn, s.Rule)
		} else {
			err = pathOf("spaces", s.ConfiguredIn, "participants", string(s.Participant), "capabilities").Build().
				MergeFromReader(file, strings.NewReader(fmt.Sprintf("- %s\n", s.Capabilities[0])))
		}
		if err != nil {
			return 0, errCannotMerge
		}
		expect(want, s)
		n++
	}
	out := []byte(file.String())
	got, err := valueOf(out)
	cfg, _ := config.Inspect(to, out)
	if err != nil || cfg == nil || !reflect.DeepEqual(got, want) {
		return 0, errCannotMerge
	}
	info, err := os.Stat(from)
	if err != nil {
		return 0, err
	}
	how := os.O_EXCL
	if force {
		how = os.O_TRUNC
	}
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|how, info.Mode().Perm())
	if err != nil {
		return 0, err
	}
	err = w.Chmod(info.Mode().Perm()) // the replaced file may be open to others
	if err == nil {
		_, err = w.Write(out)
	}
	return n, errors.Join(err, w.Close())
}

// pathOf returns the path of a value in a configuration.
func pathOf(keys ...string) *yaml.PathBuilder {
	at := (&yaml.PathBuilder{}).Root()
	for _, key := range keys {
		at = at.Child(key)
	}
	return at
}

// addRule adds a rule of the deciders to a space of a file: to the rules with which they begin, or
// before the others.
func addRule(file *ast.File, space string, rule json.RawMessage) error {
	keys := []string{"spaces", space, "proposals", "deciders"}
	if pathOf(keys...).Index(0).Child("rules").Build().MergeFromReader(file, strings.NewReader(fmt.Sprintf("- %s\n", rule))) == nil {
		return nil
	}
	for _, in := range []struct {
		keys        []string
		block, flow string
	}{
		{keys, "- rules:\n    - %s\n", "- {rules: [%s]}\n"},
		{keys[:3], "deciders:\n  - rules:\n      - %s\n", "deciders: [{rules: [%s]}]\n"},
		{keys[:2], "proposals:\n  deciders:\n    - rules:\n        - %s\n", "proposals: {deciders: [{rules: [%s]}]}\n"},
	} {
		at := pathOf(in.keys...).Build()
		node, err := at.FilterFile(file)
		if err != nil {
			continue // the file does not have it
		}
		list, isList := node.(*ast.SequenceNode)
		body, isMapping := node.(*ast.MappingNode)
		text := in.block
		if isList && list.IsFlowStyle || isMapping && body.IsFlowStyle {
			text = in.flow
		}
		if at.MergeFromReader(file, strings.NewReader(fmt.Sprintf(text, rule))) != nil {
			continue
		}
		if isList {
			toFront(list)
		}
		return nil
	}
	return errCannotMerge
}

// toFront moves the last item of a list to its front. Comments stay with their items.
func toFront(list *ast.SequenceNode) {
	last := len(list.Values) - 1
	list.Values = slices.Concat(list.Values[last:], list.Values[:last])
	if len(list.ValueHeadComments) != len(list.Values) {
		return
	}
	list.ValueHeadComments = slices.Concat(list.ValueHeadComments[last:], list.ValueHeadComments[:last])
	if last > 0 && list.Comment != nil {
		list.ValueHeadComments[1], list.Comment = list.Comment, nil
	}
}

// valueOf returns what a text of YAML means.
func valueOf(text []byte) (v map[string]any, err error) {
	plain, err := yaml.YAMLToJSON(text)
	if err == nil {
		err = json.Unmarshal(plain, &v)
	}
	return v, err
}

// expect adds the rule of a suggestion to what a configuration means.
func expect(cfg map[string]any, s *api.Suggestion) {
	space := member(member(cfg, "spaces"), s.ConfiguredIn)
	if s.Rule == nil {
		p := member(member(space, "participants"), string(s.Participant))
		held, _ := p["capabilities"].([]any)
		p["capabilities"] = append(held, decoded(s.Capabilities[0]))
		return
	}
	rule := decoded(s.Rule)
	proposals := member(space, "proposals")
	deciders, _ := proposals["deciders"].([]any)
	if len(deciders) > 0 {
		first, _ := deciders[0].(map[string]any)
		rules, ok := first["rules"].([]any)
		if ok {
			first["rules"] = append(rules, rule)
			return
		}
	}
	proposals["deciders"] = slices.Concat([]any{map[string]any{"rules": []any{rule}}}, deciders)
}

// decoded returns the value of a JSON text; nil of another one, so that the file has something else.
func decoded(text json.RawMessage) (v any) {
	_ = json.Unmarshal(text, &v)
	return v
}

// member returns an object in an object, which it makes if there is none.
func member(of map[string]any, key string) map[string]any {
	m, ok := of[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[key] = m
	}
	return m
}
