package textutil

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// Marks is reasoning that an agent wrote into the text of a message.
type Marks struct {
	Seconds float64 // negative: unknown
	Steps   []string
}

// Bounds of one marker.
const (
	maxMarker  = 64 << 10 // bytes
	maxEnds    = 16       // occurrences of its end that are tried: a step may contain it
	maxElapsed = 1e8      // seconds
)

var agentReasoning = regexp.MustCompile(`^<!--AGENT_REASONING:(?:idle|reasoning|collapsed|complete):([0-9]{1,9}):`)

// SplitMarks splits reasoning from the beginning of a message:
//
//	<!--REASONING_BLOCK:{"elapsed":SECONDS,"steps":["…"]}-->
//	<!--AGENT_REASONING:STATUS:SECONDS:["…"]-->
//	<think>…</think>
//
// Several may follow one another. Anything else, and a marker that is not
// complete, stays text. The page has the same rules (web/src/core/marks.ts), held
// to the same cases in testdata.
func SplitMarks(text string) (Marks, string) {
	m, rest := Marks{Seconds: -1}, text
	for {
		next := strings.TrimLeft(rest, " \t\r\n")
		size := m.read(next)
		if size == 0 {
			break
		}
		rest = next[size:]
	}
	if len(rest) == len(text) {
		return m, text
	}
	return m, strings.TrimLeft(rest, " \t\r\n")
}

// BeginsMarks reports whether a text that grows begins with the start of reasoning that SplitMarks
// splits, or open: whether it does depends on what follows.
func BeginsMarks(text string) (begins, open bool) {
	text = strings.TrimLeft(text, " \t\r\n")
	for _, start := range []string{"<think>", "<!--REASONING_BLOCK:", "<!--AGENT_REASONING:"} {
		begins = begins || strings.HasPrefix(text, start)
		open = open || strings.HasPrefix(start, text)
	}
	return begins, open && !begins
}

// IsEmpty reports whether there is nothing to show.
func (m *Marks) IsEmpty() bool { return m.Seconds <= 0 && len(m.Steps) == 0 }

// read adds the marker at the beginning of a text, and returns its length; 0: there
// is none.
func (m *Marks) read(text string) int {
	if inner, found := strings.CutPrefix(text, "<think>"); found {
		end := strings.Index(inner, "</think>")
		if end < 0 {
			return 0
		}
		m.add(inner[:end])
		return len("<think>") + end + len("</think>")
	}
	if body, found := strings.CutPrefix(text, "<!--REASONING_BLOCK:"); found {
		doc, size := jsonBefore[map[string]any](body)
		seconds, isNumber := doc["elapsed"].(float64)
		steps, isList := doc["steps"].([]any)
		if size == 0 || !isNumber || !isList || !m.addAll(seconds, steps) {
			return 0
		}
		return len(text) - len(body) + size
	}
	head := agentReasoning.FindStringSubmatch(text)
	if head == nil {
		return 0
	}
	seconds, err := strconv.ParseFloat(head[1], 64)
	steps, size := jsonBefore[[]any](text[len(head[0]):])
	if err != nil || size == 0 || !m.addAll(seconds, steps) {
		return 0
	}
	return len(head[0]) + size
}

// jsonBefore reads the JSON before the end of a marker, and returns the length of
// both; 0: there is none of this type.
func jsonBefore[T any](body string) (v T, size int) {
	const end = "-->"
	body = body[:min(len(body), maxMarker)]
	at := 0
	for range maxEnds {
		i := strings.Index(body[at:], end)
		if i < 0 {
			break
		}
		var read *T
		if json.Unmarshal([]byte(body[:at+i]), &read) == nil && read != nil {
			return *read, at + i + len(end)
		}
		at += i + len(end)
	}
	return v, 0
}

func (m *Marks) addAll(seconds float64, steps []any) bool {
	if seconds < 0 || seconds > maxElapsed {
		return false
	}
	texts := make([]string, len(steps))
	for i, s := range steps {
		text, isText := s.(string)
		if !isText {
			return false
		}
		texts[i] = text
	}
	m.Seconds = seconds
	for _, text := range texts {
		m.add(text)
	}
	return true
}

func (m *Marks) add(step string) {
	step = strings.Trim(step, " \t\r\n")
	if step != "" {
		m.Steps = append(m.Steps, step)
	}
}
