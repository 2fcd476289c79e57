package safety

import "github.com/meup-protocol/meup/protocol"

// beside inspects the fields beside the payload and returns what becomes of
// them, without braces; nil: they stay. The edits of the payload are kept.
func (w *walk) beside(extra protocol.Value) []byte {
	if extra.Type() != protocol.TypeObject {
		return nil
	}
	edits, root := w.edits, w.root
	w.edits, w.root = nil, -1
	w.value(extra, nil, open)
	var out []byte
	if len(w.edits) > 0 && w.refused == "" {
		out = w.splice(extra)
		out = out[1 : len(out)-1]
	}
	w.edits, w.root = edits, root
	return out
}
