package block

import (
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// maxParams bounds the displayed parameters, in characters.
const maxParams = 200

// maxDepth bounds the nesting of parameters; they come from a gateway, which
// has a lower bound.
const maxDepth = 128

// Params formats the parameters of a call on one line, cut at 200 characters: {
// "query": "auth design", "limit": 3 }.
func Params(d *api.Decision) string {
	if len(d.Parameters) == 0 || string(d.Parameters) == "null" {
		if d.ParameterBytes > 0 {
			return "(" + textutil.Count(d.ParameterBytes, "byte") + ", too long to be kept)"
		}
		return "{}"
	}
	return inShort(d.Parameters)
}

// inShort sanitizes parameters and then cuts them.
func inShort(params []byte) string { return termsafe.Cut(termsafe.Line(JSON(params)), maxParams) }

// JSON formats JSON for people: on one line with spaces, numbers unchanged, and
// strings without unnecessary escapes, so that "\u0061" is "a". The result is
// not safe for a terminal. Invalid JSON is returned unchanged.
func JSON(text []byte) string {
	doc, err := protocol.ParseJSON(text, maxDepth)
	if err != nil {
		return string(text)
	}
	var b strings.Builder
	writeJSON(&b, doc.Root())
	return b.String()
}

func writeJSON(b *strings.Builder, v protocol.Value) {
	switch {
	case v.Type() == protocol.TypeObject && v.Len() > 0:
		b.WriteString("{ ")
		sep := ""
		for key, x := range v.Members {
			b.WriteString(sep)
			writeText(b, key)
			b.WriteString(": ")
			writeJSON(b, x)
			sep = ", "
		}
		b.WriteString(" }")
	case v.Type() == protocol.TypeArray && v.Len() > 0:
		b.WriteByte('[')
		sep := ""
		for x := range v.Elements {
			b.WriteString(sep)
			writeJSON(b, x)
			sep = ", "
		}
		b.WriteByte(']')
	case v.Type() == protocol.TypeObject:
		b.WriteString("{}")
	case v.Type() == protocol.TypeArray:
		b.WriteString("[]")
	case v.Type() == protocol.TypeString:
		writeText(b, v)
	default:
		b.Write(v.Raw())
	}
}

// writeText writes a string as JSON with only the necessary escapes.
func writeText(b *strings.Builder, v protocol.Value) {
	if _, plain := v.Plain(); plain {
		b.Write(v.Raw())
		return
	}
	b.WriteByte('"')
	for _, r := range v.Text() {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if r < ' ' {
				fmt.Fprintf(b, `\u%04x`, r)
				continue
			}
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

// outcome formats the outcome of a call: 3 documents found, answered by files.
// Of a response without a description, it adds the size: success (4,321 bytes).
func outcome(d *api.Decision) string {
	text := exchange.JoinOutcome(termsafe.Words(d.Outcome), termsafe.Words(string(d.DecidedBy)), termsafe.Words(d.OutcomeText))
	if d.AnsweredBy != "" {
		text += ", answered by " + termsafe.Words(string(d.AnsweredBy))
	}
	if d.ResultBytes != nil && d.OutcomeText == "" {
		text += " (" + textutil.Count(*d.ResultBytes, "byte") + ")"
	}
	return text
}
