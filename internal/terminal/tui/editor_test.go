package tui

import (
	"strings"
	"testing"
)

func TestEditing(t *testing.T) {
	for name, c := range map[string]struct{ text, keys, want string }{
		"in the middle":     {"helo", "left", "hel|o"},
		"a word back":       {"one two  ", "ctrl+w", "one |"},
		"words":             {"one two", "alt+left alt+left alt+right", "one| two"},
		"ends of a line":    {"one\ntwo", "home ctrl+k", "one\n|"},
		"over a line break": {"one\ntwo", "home backspace", "one|two"},
		"delete":            {"one", "home delete", "|ne"},
		"to the beginning":  {"one\ntwo three", "alt+b ctrl+u", "one\n|three"},
		"a word ahead":      {"one two", "home alt+d", "| two"},
		"marks go along":    {"ae\u0301", "backspace", "a|"},
		"beyond both ends":  {"a", "left left left right right right", "a|"},
		"nothing to delete": {"", "backspace delete ctrl+w ctrl+k ctrl+u", "|"},
		"end":               {"one\ntwo", "ctrl+home home left end", "one|\ntwo"},
	} {
		t.Run(name, func(t *testing.T) {
			var e editor
			e.set(c.text)
			for key := range strings.FieldsSeq(c.keys) {
				e.key(key)
			}
			if got := string(e.text[:e.at]) + "|" + string(e.text[e.at:]); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestEditor_CursorPosition(t *testing.T) {
	var e editor
	e.set("日本語テキスト\nab")
	lines, y, x := e.lines(6, 5)
	if got := strings.Join(lines, "/"); got != "日本語/テキス/ト/ab" || y != 3 || x != 2 {
		t.Errorf("%s, cursor at %d, %d", got, y, x)
	}
	for range 2 {
		e.vertical(6, -1)
	}
	if _, y, x := e.lines(6, 5); y != 1 || x != 2 {
		t.Errorf("two rows up the cursor is at %d, %d", y, x)
	}
	if lines, y, _ := e.lines(6, 2); len(lines) != 2 || y != 1 {
		t.Errorf("%d rows of 2, the cursor in %d", len(lines), y)
	}
	e.set("123456")
	if lines, y, x := e.lines(6, 5); len(lines) != 2 || y != 1 || x != 0 {
		t.Errorf("behind a full row: %d rows, cursor at %d, %d", len(lines), y, x)
	}
}

func FuzzEditor(f *testing.F) {
	f.Add("one\ntwo", []byte{0, 5, 9, 20}, 7)
	keys := []string{
		"left", "right", "alt+left", "alt+right", "home", "end", "backspace", "delete", "ctrl+w", "alt+d", "ctrl+u", "ctrl+k", "up", "down", "x", "\n", "語",
	}
	f.Fuzz(func(t *testing.T, text string, presses []byte, cells int) {
		cells = min(max(cells, 2), 100)
		var e editor
		e.set(text)
		for _, p := range presses {
			switch k := keys[int(p)%len(keys)]; {
			case k == "up", k == "down":
				e.vertical(cells, map[string]int{"up": -1, "down": 1}[k])
			case !e.key(k):
				e.insert(k)
			}
			lines, y, x := e.lines(cells, 5)
			if y < 0 || y >= len(lines) || x < 0 || x >= cells {
				t.Fatalf("cursor at %d, %d of %d rows, %d cells", y, x, len(lines), cells)
			}
		}
	})
}

func TestHistory(t *testing.T) {
	var p prompt
	p.resize(40, 24)
	for _, text := range []string{"one", "two", "two", " "} {
		p.set(text)
		p.take()
	}
	p.set("new")
	var seen []string
	for _, by := range []int{-1, -1, -1, 1, 1, 1} {
		p.vertical(by)
		seen = append(seen, p.value())
	}
	if got := strings.Join(seen, " "); got != "two one one two new new" {
		t.Error(got)
	}
	for range 2 * maxHistory {
		p.set(strings.Repeat("x", len(p.history)))
		p.take()
	}
	if len(p.history) > maxHistory {
		t.Errorf("%d texts are remembered", len(p.history))
	}
}

// TestEditor_CombiningCharacters checks that marks and joiners can be typed
// separately and combine with the preceding character.
func TestEditor_CombiningCharacters(t *testing.T) {
	for want, keys := range map[string][]string{
		"می\u200cخواهم": {"می", "\u200c", "خواهم"},
		"कु":            {"क", "\u0941"},
		"ab":            {"a", "\u200c", "b", "\u202e"},
		"👩\u200d🚀":      {"👩\u200d🚀"},
	} {
		var e editor
		for _, k := range keys {
			e.insert(k)
		}
		if got := string(e.text); got != want {
			t.Errorf("%+q, want %+q", got, want)
		}
	}
	e := editor{}
	e.insert("x👩\u200d🚀")
	e.key("backspace")
	e.key("backspace")
	if got := string(e.text); got != "x" {
		t.Errorf("%+q", got)
	}
}
