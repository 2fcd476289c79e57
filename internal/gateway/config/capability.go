package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/protocol"

	"github.com/meup-protocol/meup/internal/capability"
)

// capability compiles one item of a list of capabilities.
func (r *resolver) capability(n *node) (*capability.Capability, bool) {
	raw, err := appendJSON(nil, n)
	if err != nil {
		r.errorf(n.place, "capability: %v", err)
		return nil, false
	}
	c, err := capability.ParseJSON(raw)
	if err == nil {
		return c, true
	}
	var where *capability.PatternError
	if errors.As(err, &where) {
		r.errorf(n.find(where.Pointer).place, "%v", err)
	} else {
		r.errorf(n.place, "%v", err)
	}
	return nil, false
}

// find returns the value at a JSON pointer, or the last existing value on the
// path.
func (n *node) find(pointer string) *node {
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		step = protocol.UnescapePointer(step)
		next := n.get(step)
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// appendJSON writes a value as JSON, with its keys in the order of the file.
func appendJSON(to []byte, n *node) ([]byte, error) {
	switch n.kind {
	case null:
		return append(to, "null"...), nil
	case boolean:
		return strconv.AppendBool(to, n.truth), nil
	case integer:
		return strconv.AppendInt(to, n.whole, 10), nil
	case float:
		return appendFloat(to, n)
	case text:
		return appendText(to, n.text), nil
	case list:
		return appendList(to, n)
	}
	return appendMapping(to, n)
}

// appendFloat keeps the digits of the file if they are valid JSON.
func appendFloat(to []byte, n *node) ([]byte, error) {
	if math.IsNaN(n.number) || math.IsInf(n.number, 0) {
		return nil, fmt.Errorf("%s is not a number in JSON", n.text)
	}
	if json.Valid([]byte(n.text)) {
		return append(to, n.text...), nil
	}
	return strconv.AppendFloat(to, n.number, 'g', -1, 64), nil
}

func appendText(to []byte, s string) []byte {
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false) // a welcome shows this to users
	if err := e.Encode(s); err != nil {
		panic(err) // every string has a JSON form
	}
	return append(to, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}

func appendList(to []byte, n *node) (out []byte, err error) {
	to = append(to, '[')
	for i, item := range n.items {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = appendJSON(to, item); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

func appendMapping(to []byte, n *node) (out []byte, err error) {
	to = append(to, '{')
	for i, m := range n.members {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendText(to, m.key.text), ':')
		if to, err = appendJSON(to, m.value); err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}
