package mcptools

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/meup-protocol/meup/internal/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// repaired returns a message of a server. A response that the SDK cannot read, at which it would
// end the session or wait, becomes an error of its request.
func repaired(message []byte) []byte {
	msg, err := jsonrpc.DecodeMessage(message)
	res, ok := msg.(*jsonrpc.Response)
	if err == nil && (!ok || res.Error != nil || len(res.Result) > 0) {
		return message
	}
	shallow, depth := outline(message)
	var head struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
	}
	if json.Unmarshal(shallow, &head) != nil || head.Version != "2.0" || head.ID == nil || string(head.ID) == "null" || head.Method != nil {
		return message // it is not the response to a request
	}
	why := "it has neither result nor error"
	switch {
	case depth > maxResultDepth:
		why = fmt.Sprintf("it is nested deeper than %d levels", maxResultDepth)
	case err != nil && !json.Valid(message):
		why = "it is not JSON"
	case err != nil:
		why = textutil.JSONFault(err)
	}
	why = "the tool server's response is invalid: " + why
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, head.ID, jsonrpc.CodeInternalError, protocol.AppendString(nil, why))
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
			if level++; level == 2 {
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
