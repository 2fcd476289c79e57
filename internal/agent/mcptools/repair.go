package mcptools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// repaired returns a message of a server, and whether the SDK can read it. A response that it cannot
// read, at which it would end the session or wait, becomes an error of its request.
func repaired(message []byte) (_ []byte, ok bool) {
	isJSON := json.Valid(message) // the SDK decodes a message with text after it, and then ends the connection
	msg, err := jsonrpc.DecodeMessage(message)
	readable := isJSON && err == nil
	res, isResponse := msg.(*jsonrpc.Response)
	if readable && (!isResponse || res.Error != nil || len(res.Result) > 0) {
		return message, true
	}
	shallow, depth := outline(message)
	var head struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
	}
	if json.NewDecoder(bytes.NewReader(shallow)).Decode(&head) != nil || head.Version != "2.0" || head.ID == nil || string(head.ID) == "null" || head.Method != nil {
		return message, readable // it is not the response to a request
	}
	why := "it has neither result nor error"
	switch {
	case depth > maxResultDepth:
		why = fmt.Sprintf("it is nested deeper than %d levels", maxResultDepth)
	case !isJSON:
		why = "it is not JSON"
	case err != nil:
		why = textutil.JSONFault(err)
	}
	why = "the tool server's response is invalid: " + why
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, head.ID, jsonrpc.CodeInternalError, protocol.AppendString(nil, why)), true
}

// outline returns a JSON text with null in place of each array and object inside of the outermost
// one, and its depth.
func outline(text []byte) (shallow []byte, depth int) {
	level, quoted, escaped := 0, false, false
	for _, c := range text {
		ends := false
		switch {
		case escaped:
			escaped = false
		case c == '"':
			quoted = !quoted
		case quoted:
			escaped = c == '\\'
		case c == '{', c == '[':
			level++
			if level == 2 {
				shallow = append(shallow, "null"...)
			}
			depth = max(depth, level)
		case c == '}', c == ']':
			level--
			ends = level > 0
		}
		if level <= 1 && !ends {
			shallow = append(shallow, c)
		}
	}
	return shallow, depth
}

// jsonBody is the body of a response with one message, which is repaired.
type jsonBody struct {
	io.ReadCloser
	message io.Reader // nil: not read yet
}

// Read reads from the body. It is called by one goroutine.
func (b *jsonBody) Read(p []byte) (int, error) {
	if b.message == nil {
		text, err := io.ReadAll(io.LimitReader(b.ReadCloser, maxLine))
		if err != nil {
			return 0, err
		}
		if len(text) < maxLine {
			text, _ = repaired(text)
		}
		b.message = io.MultiReader(bytes.NewReader(text), b.ReadCloser)
	}
	return b.message.Read(p)
}

// repairedEvent returns an event of a stream with its end, repaired.
func repairedEvent(event []byte) []byte {
	for data := range eventData(event) {
		message, ok := repaired(data)
		if !ok || bytes.Equal(message, data) {
			break
		}
		var out []byte
		for line := range bytes.Lines(event) {
			if !bytes.HasPrefix(line, []byte("data:")) && len(bytes.TrimSpace(line)) > 0 {
				out = append(out, line...)
			}
		}
		return fmt.Appendf(out, "data: %s\n\n", message)
	}
	return event
}
