package reasoner

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Bounds of the instructions for a model, in bytes.
const (
	maxSection = 16 << 10
	maxPrompt  = 64 << 10
)

// instructions builds a model's instructions from a request.
func instructions(r *wire.AgentIntentRequest, notes []string) string {
	var b strings.Builder
	section(&b, "Instructions", r.Instructions)
	section(&b, "Who you are", data(r.Persona))
	section(&b, "How you work", data(r.Driver))
	section(&b, "Rules", data(r.Rules))
	section(&b, "The repository", data(r.RepoContext))
	section(&b, "What you remember", data(r.MemoryState))
	if len(notes) > 0 {
		section(&b, "What happened before", "- "+strings.Join(notes, "\n- "))
	}
	return textutil.Shorten(strings.TrimSpace(b.String()), maxPrompt)
}

func section(b *strings.Builder, title, body string) {
	body = strings.TrimSpace(body)
	if body != "" {
		b.WriteString("## " + title + "\n\n" + textutil.Shorten(body, maxSection) + "\n\n")
	}
}

// data returns a JSON value for a section; an empty one is "".
func data(raw json.RawMessage) string {
	switch text := string(bytes.TrimSpace(raw)); text {
	case "null", "{}", "[]", `""`:
		return ""
	default:
		return text
	}
}
