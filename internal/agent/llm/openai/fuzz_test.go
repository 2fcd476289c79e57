package openai

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

func seeds(f *testing.F, pattern string) []string {
	files, _ := filepath.Glob(pattern)
	var out []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var chunks []string
		for line := range strings.Lines(string(text)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && strings.HasPrefix(data, "{") {
				chunks = append(chunks, strings.TrimSpace(data))
			}
		}
		out = append(out, strings.Join(chunks, "\n"))
	}
	return out
}

// FuzzChunks decodes arbitrary chunks, one per line.
func FuzzChunks(f *testing.F) {
	for _, s := range seeds(f, "testdata/*.sse") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		var text, thinking strings.Builder
		a := newChatAnswer(New(Options{Model: "m"}), []llm.Tool{{Name: "list"}}, func(d llm.Delta) {
			if d.Text == "" && d.Kind != llm.CallDelta {
				t.Error("an empty delta")
			}
			if d.Kind == llm.TextDelta {
				text.WriteString(d.Text)
			} else {
				thinking.WriteString(d.Text)
			}
		})
		for line := range strings.SplitSeq(lines, "\n") {
			if a.add([]byte(line)) != nil {
				return
			}
		}
		resp := a.Response()
		if u := resp.Usage; u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.Reasoning < 0 {
			t.Errorf("usage %+v", u)
		}
		seen := map[string]bool{}
		for _, c := range resp.Message.Calls {
			if c.ID == "" || seen[c.ID] || !json.Valid(c.Arguments) {
				t.Errorf("call %+v", c)
			}
			seen[c.ID] = true
		}
		_, _, closed := cutFold(text.String(), closeTag)
		_, _, closedToo := cutFold(text.String(), "[/THINK]")
		if !closed && !closedToo &&
			(text.String() != resp.Message.Text || thinking.String() != resp.Thinking) {
			t.Errorf("%q %q, the deltas say %q %q", resp.Message.Text, resp.Thinking, &text, &thinking)
		}
		// Every answer can be sent back.
		resp.Message.Opaque.Provider = "openai"
		body, err := json.Marshal(a.model.chatBody(llm.Request{Messages: []llm.Message{resp.Message}}, 0))
		if err != nil || !json.Valid(body) {
			t.Errorf("%s %v", body, err)
		}
	})
}

// FuzzThinkTags cuts a content in two places and checks that the result is the
// same.
func FuzzThinkTags(f *testing.F) {
	for _, s := range []string{
		"<think>a</think>b", " <think>\n</think>\n<think></think> x <think>y</think>", "<thin", "<think>a</thi", "a</think>b", "<<think>", "  ", "[THINK]a[/THINK]b", "[THINK]a</think>[/THI",
		"<THINK>a</Think>b", "<thinking>a</think></thinking>b", "<seed:think>a</seed:think>b", "◁think▷a◁/think▷b", "◁think▷a◁/thi", "<thinking", "◁thi",
	} {
		f.Add(s, uint(3), uint(9))
	}
	split := func(parts ...string) (text, thinking string) {
		tags := thinkTags{text: func(s string) { text += s }, thinking: func(s string) { thinking += s }}
		for _, p := range parts {
			tags.write(p)
		}
		tags.end()
		return text, thinking
	}
	f.Fuzz(func(t *testing.T, s string, i, j uint) {
		text, thinking := split(s)
		i %= uint(len(s)) + 1
		j = i + j%(uint(len(s))-i+1)
		text2, thinking2 := split(s[:i], s[i:j], s[j:])
		if text != text2 || thinking != thinking2 {
			t.Errorf("%q at %d and %d: %q %q, whole: %q %q", s, i, j, text2, thinking2, text, thinking)
		}
		tagged := slices.ContainsFunc(tagPairs, func(tag [2]string) bool { _, _, opened := cutFold(s, tag[0]); return opened })
		if !tagged && (text != s || thinking != "") {
			t.Errorf("%q became %q %q", s, text, thinking)
		}
	})
}
