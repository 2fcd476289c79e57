package protocol

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Clients of mew/v0.4 send and receive stream.data as raw frames #ID#DATA.

// IsStreamFrame reports whether a frame of the dialect is stream data.
func IsStreamFrame(frame []byte, d Dialect) bool {
	return d == DialectMEW04 && len(frame) > 0 && frame[0] == '#'
}

// envelopeOf converts a raw frame into a stream.data envelope.
func envelopeOf(frame []byte) ([]byte, *Error) {
	id, data, found := bytes.Cut(frame[1:], []byte{'#'})
	if !found || !utf8.Valid(frame) {
		return nil, &Error{Code: CodeInvalidJSON, Detail: "expected #ID#DATA in UTF-8",
			Message: "Stream data is a frame #ID#DATA in UTF-8; encode binary data as text, for example in base64."}
	}
	dst := make([]byte, 0, len(frame)+64)
	dst = AppendString(append(dst, `{"kind":"stream.data","payload":{"stream_id":`...), string(id))
	dst = AppendString(append(dst, `,"data":`...), string(data))
	return append(dst, "}}"...), nil
}

// AppendStreamFrame appends the raw frame of a stream.data. It reports false,
// and appends nothing, if the stream's id is not valid in such a frame.
func AppendStreamFrame(dst []byte, payload json.RawMessage) ([]byte, bool) {
	doc, err := ParseJSON(payload, MaxDepth)
	if err != nil {
		return dst, false
	}
	id := doc.Root().Get("stream_id").Text()
	if id == "" || strings.Contains(id, "#") {
		return dst, false
	}
	dst = append(append(append(dst, '#'), id...), '#')
	return append(dst, doc.Root().Get("data").Text()...), true
}
