package tui

import (
	"fmt"
	"strings"
	"testing"
)

// promptOf returns a prompt of a width that contains a text.
func promptOf(text string, cells, rows int) *prompt {
	var p prompt
	p.resize(cells+cellWidth(promptSign), rows)
	p.set(text)
	return &p
}

// drawn returns the visible rows without signs, and the position of the cursor.
func (p *prompt) drawn() (rows []string, y, x int) {
	rows, y, x = p.view(&theme{})
	for i, r := range rows {
		rows[i] = strings.TrimPrefix(strings.TrimPrefix(r, promptSign), "  ")
	}
	return rows, y, x - cellWidth(promptSign)
}

func TestPrompt_Keys(t *testing.T) {
	for name, c := range map[string]struct{ text, keys, want string }{
		"in the middle":     {"helo", "left", "hel|o"},
		"a word back":       {"one two  ", "ctrl+w", "one |"},
		"words":             {"one two", "alt+left alt+left alt+right", "one| two"},
		"ends of a line":    {"one\ntwo", "home ctrl+k", "one\n|"},
		"over a line break": {"one\ntwo", "home backspace", "one|two"},
		"delete":            {"one", "home delete", "|ne"},
		"delete with ctrl":  {"one", "ctrl+a ctrl+d", "|ne"},
		"to the beginning":  {"one\ntwo three", "alt+b ctrl+u", "one\n|three"},
		"a word ahead":      {"one two", "home alt+d", "| two"},
		"marks go along":    {"ae\u0301", "backspace", "a|"},
		"over marks":        {"ae\u0301b", "left left delete", "a|b"},
		"an emoji":          {"x👩\u200d🚀", "backspace", "x|"},
		"beyond both ends":  {"a", "left left left right right right", "a|"},
		"nothing to delete": {"", "backspace delete ctrl+w ctrl+k ctrl+u", "|"},
		"end":               {"one\ntwo", "home left end", "one|\ntwo"},
	} {
		t.Run(name, func(t *testing.T) {
			p := promptOf(c.text, 40, 24)
			for name := range strings.FieldsSeq(c.keys) {
				p.press(name, "")
			}
			p.insert("|")
			if got := p.value(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestPrompt_CursorPosition(t *testing.T) {
	p := promptOf("日本語テキスト\nab", 6, 24)
	at := func() string {
		rows, y, x := p.drawn()
		return fmt.Sprintf("%s %d,%d", strings.Join(rows, "/"), y, x)
	}
	if got := at(); got != "日本語/テキス/ト/ab 3,2" {
		t.Error(got)
	}
	p.vertical(-1)
	p.vertical(-1)
	if got := at(); got != "日本語/テキス/ト/ab 1,2" {
		t.Error("two rows up:", got)
	}
	p.resize(8, 6)
	if got := at(); p.height() != 2 || !strings.Contains(got, "テキス") {
		t.Errorf("%d rows of 2: %s", p.height(), got)
	}
	p = promptOf("123456", 6, 24)
	if got := at(); got != "123456/ 1,0" {
		t.Error("after a full row:", got)
	}
}

func FuzzPrompt(f *testing.F) {
	f.Add("one\ntwo", []byte{0, 5, 9, 20}, 7)
	keys := []string{
		"left", "right", "alt+left", "alt+right", "home", "end", "backspace", "delete", "ctrl+w", "alt+d", "ctrl+u", "ctrl+k", "up", "down", "x", "\n", "語",
	}
	f.Fuzz(func(t *testing.T, text string, presses []byte, cells int) {
		cells = min(max(cells, 2), 100)
		p := promptOf(text, cells, 15)
		for _, b := range presses {
			switch k := keys[int(b)%len(keys)]; k {
			case "up":
				p.vertical(-1)
			case "down":
				p.vertical(1)
			case "\n":
				p.insert(k)
			default:
				p.press(k, k)
			}
			if rows, y, x := p.drawn(); y < 0 || y >= len(rows) || x < 0 || x >= cells {
				t.Fatalf("cursor at %d, %d of %d rows, %d cells", y, x, len(rows), cells)
			}
		}
	})
}

func TestPrompt_History(t *testing.T) {
	p := promptOf("", 40, 24)
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

// TestPrompt_CombiningCharacters checks that marks and joiners can be typed
// separately and combine with the preceding character.
func TestPrompt_CombiningCharacters(t *testing.T) {
	for want, keys := range map[string][]string{
		"می\u200cخواهم": {"می", "\u200c", "خواهم"},
		"कु":            {"क", "\u0941"},
		"ab":            {"a", "\u200c", "b", "\u202e"},
		"👩\u200d🚀":      {"👩\u200d🚀"},
	} {
		t.Run(want, func(t *testing.T) {
			p := promptOf("", 40, 24)
			for _, k := range keys {
				p.press("", k)
			}
			if got := p.value(); got != want {
				t.Errorf("%+q, want %+q", got, want)
			}
		})
	}
}
