package main

import (
	"fmt"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, test := range []struct {
		line, want string
	}{
		{`npx -y server /srv/docs`, `["npx" "-y" "server" "/srv/docs"]`},
		{`  a   b	c  `, `["a" "b" "c"]`},
		{`run 'my docs' "and \"yours\"" it\'s`, `["run" "my docs" "and \"yours\"" "it's"]`},
		{`a '' ""b`, `["a" "" "b"]`},
		{`$HOME *`, `["$HOME" "*"]`},
		{``, `[]`},
	} {
		t.Run(test.line, func(t *testing.T) {
			got, err := splitWords(test.line)
			if err != nil || fmt.Sprintf("%q", got) != test.want {
				t.Errorf("%s: %q, %v; want %s", test.line, got, err, test.want)
			}
		})
	}
	for _, line := range []string{`a 'b`, `a "b`, `a \`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("%s: %q", line, got)
		}
	}
}
