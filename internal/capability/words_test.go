package capability

import (
	"fmt"
	"testing"
)

func TestCapability_Words(t *testing.T) {
	for text, want := range map[string]string{
		`"chat"`:                                 "[]",
		`{"kind":"chat","payload":{"text":"a"}}`: "[]",
		`{"kind":"mcp.request","payload":{"params":{"arguments":{"command":{"$shell":{"commands":["git diff **"]}}}}}}`: "[`git diff` with any arguments]",
		`{"kind":"mcp.request","payload":{"a":[{"$path":{"below":"x"}},"y"],"b":{"$url":{"host":"example.com"}}}}`:      "[paths below x http or https URLs of example.com]",
	} {
		c, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.Words()); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestArgumentMatcher(t *testing.T) {
	for name, want := range map[string]string{"command": "$shell", "cmd": "$shell", "file_path": "$path", "url": "$url", "q": ""} {
		if got := ArgumentMatcher(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
