package toolserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/mcp/toolserver"
)

// Every schema has one type: some model providers reject a list of types.
func TestOf_OneType(t *testing.T) {
	type inner struct {
		To []string `json:"to,omitempty"`
	}
	type outer struct {
		List     []inner            `json:"list"`
		Optional *inner             `json:"optional,omitempty"`
		Number   *float64           `json:"number,omitempty"`
		ByName   map[string]inner   `json:"by_name"`
		Any      json.RawMessage    `json:"any"`
		Deep     map[string][]inner `json:"deep"`
	}
	text, err := json.Marshal(toolserver.SchemaOf[outer]())
	if err != nil || strings.Contains(string(text), "null") || strings.Contains(string(text), `"type":[`) {
		t.Errorf("%s %v", text, err)
	}
	if first := toolserver.SchemaOf[outer](); first != toolserver.SchemaOf[outer]() {
		t.Error("it is made again")
	}
}
