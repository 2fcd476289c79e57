package search

import (
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// maxText bounds the text of one envelope that is indexed, in bytes.
const maxText = 128 << 10

// field is a text in the payload of an envelope.
type field struct {
	path string // JSON pointer in the payload
	text string
}

// Searchable reports whether envelopes of a kind have text to find: chats,
// reasoning, calls and their results, and the kinds of applications.
func Searchable(k protocol.Kind) bool {
	switch namespace, _ := k.Split(); namespace {
	case "system", "capability", "space", "participant", "stream":
		return false
	}
	return true
}

// fields yields the texts of a payload: its strings and numbers, without names of
// members, binary content, and the members that only programs read.
func fields(payload protocol.Value, yield func(field) bool) {
	w := walker{yield: yield, rest: maxText}
	for key, v := range payload.Members {
		switch name := key.Text(); name {
		case "jsonrpc", "id", "redacted", "format":
		case "method":
			if !v.EqualText("tools/call") && !w.walk("/method", v) {
				return
			}
		default:
			if !w.walk("/"+escape(name), v) {
				return
			}
		}
	}
}

type walker struct {
	yield func(field) bool
	rest  int // bytes of text
}

func (w *walker) walk(path string, v protocol.Value) bool {
	switch v.Type() {
	case protocol.TypeString:
		return w.text(path, v.Text())
	case protocol.TypeNumber:
		return w.text(path, string(v.Raw()))
	case protocol.TypeArray:
		n := 0
		for x := range v.Elements {
			if !w.walk(path+"/"+strconv.Itoa(n), x) {
				return false
			}
			n++
		}
	case protocol.TypeObject:
		content := v.Get("type").Exists()
		binary := v.Get("mimeType").Exists()
		for key, x := range v.Members {
			name := key.Text()
			if content && name == "type" || binary && (name == "mimeType" || name == "data" || name == "blob") {
				continue
			}
			if !w.walk(path+"/"+escape(name), x) {
				return false
			}
		}
	}
	return true
}

func (w *walker) text(path, text string) bool {
	if len(text) > w.rest {
		text = strings.ToValidUTF8(text[:w.rest], "")
	}
	w.rest -= len(text)
	return (text == "" || w.yield(field{path, text})) && w.rest > 0
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

func escape(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return pointer.Replace(name)
}
