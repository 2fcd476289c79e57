package otlpreceiver

import (
	"encoding/json"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// messageText returns the text of an attribute with messages: of the last message of the
// user for an input, of all messages for an output. A text without messages is
// returned as it is.
func messageText(raw string, asked bool) string {
	raw = strings.TrimSpace(raw)
	if raw == "" || raw[0] != '{' && raw[0] != '[' && raw[0] != '"' {
		return textutil.Shorten(raw, maxText)
	}
	doc, err := protocol.ParseForeignJSON([]byte(raw), protocol.MaxDepth)
	if err != nil {
		return textutil.Shorten(raw, maxText)
	}
	list := unwrapped(doc.Root())
	if args := list.Get("args"); args.Len() > 0 && list.Get("kwargs").Exists() {
		list = args
	}
	for _, key := range []string{"messages", "prompt"} {
		if v := list.Get(key); v.Exists() {
			list = v
		}
	}
	var texts []string
	if list.Type() == protocol.TypeString {
		return textutil.Shorten(list.Text(), maxText)
	}
	if list.Type() == protocol.TypeArray {
		for m := range list.Elements {
			text := partText(m, 0)
			if asked && m.Get("role").EqualText("user") && text != "" {
				texts = nil
			}
			if text != "" && (!asked || len(texts) == 0) {
				texts = append(texts, text)
			}
		}
	} else {
		texts = append(texts, partText(list, 0))
	}
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	if text == "" {
		text = raw
		if root := doc.Root(); len(list.Raw()) < len(root.Raw()) && list.Type() == protocol.TypeObject {
			text = string(list.Raw()) // the arguments of a function
			for _, only := range list.Members {
				if list.Len() == 1 && only.Type() == protocol.TypeString {
					text = only.Text()
				}
			}
		}
	}
	return textutil.Shorten(text, maxText)
}

// unwrapped returns the arguments in an input of OpenLLMetry: {"args":[],"kwargs":{…}} of a
// function in Python that was called with named arguments, {"input_str":…,"inputs":{…},…}
// of a tool of LangChain. Other values are returned as they are.
func unwrapped(v protocol.Value) protocol.Value {
	named, inputs := v.Get("kwargs"), v.Get("inputs")
	switch {
	case v.Len() == 2 && v.Get("args").Type() == protocol.TypeArray && v.Get("args").Len() == 0 && named.Type() == protocol.TypeObject:
		return named
	case v.Get("input_str").Exists() && inputs.Type() == protocol.TypeObject:
		return inputs
	}
	return v
}

// partText returns the text of a message, or of a part of one.
func partText(v protocol.Value, depth int) string {
	if v.Type() == protocol.TypeString {
		return v.Text()
	}
	if depth == maxDepth {
		return ""
	}
	if v.Type() == protocol.TypeArray {
		var texts []string
		for e := range v.Elements {
			if text := partText(e, depth+1); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "\n")
	}
	for _, key := range []string{"parts", "content", "text", "message"} {
		if inner := v.Get(key); inner.Exists() {
			if text := partText(inner, depth+1); text != "" {
				return text
			}
		}
	}
	name := v.Get("name").Text() + v.Get("toolName").Text()
	if kind := v.Get("type").Text(); name != "" && (kind == "tool_call" || kind == "tool-call" || v.Get("toolName").Exists()) {
		return "calls " + name
	}
	return ""
}

// argumentsOf returns the arguments of a call as an object.
func argumentsOf(raw string) json.RawMessage {
	if raw == "" {
		return json.RawMessage("{}")
	}
	doc, err := protocol.ParseForeignJSON([]byte(raw), protocol.MaxDepth-4)
	if err == nil && doc.Root().Type() == protocol.TypeObject && len(raw) <= maxText {
		return unwrapped(doc.Root()).Raw()
	}
	return object("input", textutil.Shorten(raw, maxText))
}
