package mcptools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Fit returns a tool's result unchanged if it has at most limit bytes and is not nested
// too deeply for an envelope. Otherwise it returns the items that fit, marked: the smaller
// ones before the larger ones, the beginning of the first text that does not fit, and
// labels of the others. If even the mark does not fit, the result is longer than limit.
func Fit(res Result, limit int) json.RawMessage {
	if !res.root.Exists() {
		read := ResultOf(res.JSON)
		res.JSON, res.Fits, res.root = read.JSON, read.Fits, read.root
	}
	if res.Fits && len(res.JSON) <= limit {
		return res.JSON
	}
	r := reduced{isError: res.IsError, mark: truncated{Bytes: len(res.JSON)}}
	r.read(res)
	if !slices.ContainsFunc(r.items, func(i item) bool { return i.place == inContent }) {
		r.items = append(r.items, item{text: res.Text, isText: true, raw: textItem(res.Text)})
	}
	r.choose(limit)
	return r.encode()
}

// truncated is the mark of a result of which something is missing.
type truncated struct {
	Bytes    int `json:"bytes"`
	Text     int `json:"text_bytes"`
	TextKept int `json:"text_kept"`
	Omitted  int `json:"omitted,omitempty"` // items that are missing, or cut
}

// place is where an item is in a result.
type place int

const (
	inContent place = iota
	inResult        // a member of the result
	inMeta          // a member of its _meta
)

// item is one item of a result.
type item struct {
	place  place
	raw    []byte // with the key of a member; nil: nested too deeply
	label  []byte // of content: replaces it if it is left out
	text   string
	isText bool
	kept   []byte // raw, the beginning of the text, or the label; nil: nothing
}

func size(kept []byte) int {
	if kept == nil {
		return 0
	}
	return len(kept) + len(",")
}

// reduced is a result that is being reduced.
type reduced struct {
	items   []item
	isError bool
	mark    truncated
}

// read adds the items of a result.
func (r *reduced) read(res Result) {
	for c := range contents(res.root) {
		i := item{raw: shallow(res, nil, c), label: textItem(fmt.Sprintf("[%s: %d bytes left out]", labelOf(c), len(c.Raw())))}
		i.text, i.isText = textIn(c)
		r.items = append(r.items, i)
	}
	for key, v := range res.root.Members {
		switch key.Text() {
		case "content", "isError", "_meta":
		default:
			r.items = append(r.items, item{place: inResult, raw: shallow(res, key.Raw(), v)})
		}
	}
	for key, v := range res.root.Get("_meta").Members {
		if !key.EqualText(truncatedMeta) {
			r.items = append(r.items, item{place: inMeta, raw: shallow(res, key.Raw(), v)})
		}
	}
}

// shallow returns the text of a value in a result, behind its key if it has one; nil if it
// is nested too deeply.
func shallow(in Result, key []byte, v protocol.Value) []byte {
	const around = 2 // levels
	if !in.Fits {
		if _, err := protocol.ParseJSON(v.Raw(), protocol.MaxDepth-envelopeDepth-around); err != nil {
			return nil
		}
	}
	if key == nil {
		return v.Raw()
	}
	return slices.Concat(key, []byte{':'}, v.Raw())
}

// choose decides which part of each item is kept.
func (r *reduced) choose(limit int) {
	bySize := make([]*item, len(r.items))
	room := limit // beside the labels of all items that are not kept
	for i := range r.items {
		bySize[i] = &r.items[i]
		r.mark.Text += len(r.items[i].text)
		room -= size(r.items[i].label)
	}
	r.mark.TextKept, r.mark.Omitted = r.mark.Text, len(r.items) // the longest numbers
	room -= len(r.encode())
	slices.SortStableFunc(bySize, func(a, b *item) int { return len(a.raw) - len(b.raw) })
	for _, i := range bySize {
		if need := size(i.raw) - size(i.label); i.raw != nil && need <= room {
			i.kept, room = i.raw, room-need
		}
	}
	r.mark.TextKept, r.mark.Omitted = 0, 0
	cut := false
	for n := range r.items {
		i := &r.items[n]
		if i.kept != nil {
			r.mark.TextKept += len(i.text)
			continue
		}
		r.mark.Omitted++
		room += size(i.label)
		if i.isText && !cut {
			cut = true
			i.kept = r.beginning(i.text, room)
		}
		if i.kept == nil && size(i.label) <= room {
			i.kept = i.label
		}
		room -= size(i.kept)
	}
}

// beginning returns an item with as much of a text as has room; nil: not even the
// mark has. The length of a text as JSON depends on its characters.
func (r *reduced) beginning(text string, room int) []byte {
	most := min(len(text), max(room, 0))
	tooMuch := sort.Search(most+1, func(n int) bool { return size(textItem(first(text, n))) > room })
	if tooMuch == 0 {
		return nil
	}
	r.mark.TextKept += len(strings.ToValidUTF8(text[:tooMuch-1], ""))
	return textItem(first(text, tooMuch-1))
}

// first returns the first n bytes of a text, and a mark if that is not all.
func first(text string, n int) string {
	kept := strings.ToValidUTF8(text[:n], "")
	if len(kept) == len(text) {
		return text
	}
	return fmt.Sprintf("%s\n[cut: the first %d of %d bytes]", kept, len(kept), len(text))
}

func textItem(text string) []byte {
	return append(protocol.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

// truncatedMeta is the field of _meta with the mark.
const truncatedMeta = "meup/truncated"

func (r *reduced) encode() json.RawMessage {
	parts := make(map[place][][]byte)
	for _, i := range r.items {
		if i.kept != nil {
			parts[i.place] = append(parts[i.place], i.kept)
		}
	}
	mark, err := json.Marshal(r.mark)
	if err != nil {
		panic(err) // of numbers
	}
	parts[inMeta] = append(parts[inMeta], fmt.Appendf(nil, "%q:%s", truncatedMeta, mark))
	comma := []byte{','}
	parts[inResult] = append([][]byte{
		fmt.Appendf(nil, `"content":[%s]`, bytes.Join(parts[inContent], comma)), fmt.Appendf(nil, `"isError":%t`, r.isError),
	}, append(parts[inResult], fmt.Appendf(nil, `"_meta":{%s}`, bytes.Join(parts[inMeta], comma)))...)
	return fmt.Appendf(nil, "{%s}", bytes.Join(parts[inResult], comma))
}
