package protocol

import (
	"strings"
	"testing"
)

func TestParseContextPath(t *testing.T) {
	long := strings.Repeat("a", MaxIDBytes)
	for _, s := range []string{
		"msg-1", "a/b/c/d/e", "A.z_9:-/x", long, long + "/" + long[:126], ".", "..",
	} {
		if p, ok := ParseContextPath(s, DefaultContextDepth); !ok || string(p) != s {
			t.Errorf("%q: %q, %v", s, p, ok)
		}
	}
	for _, s := range []string{
		"", "/", "/a", "a/", "a//b", "a b", "a/ü", "a\\b", "a\x00", "a/b/c/d/e/f",
		long + "a", long + "/" + long[:127],
	} {
		if _, ok := ParseContextPath(s, DefaultContextDepth); ok {
			t.Errorf("%q is a context", s)
		}
	}
	if _, ok := ParseContextPath("a/b", 1); ok {
		t.Error("a/b has one segment")
	}
}

// TestWithin: prefixes are whole segments.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path, prefix ContextPath
		want         bool
	}{
		{"msg-3", "msg-3", true},
		{"msg-3/x", "msg-3", true},
		{"msg-301", "msg-3", false},
		{"msg-301/x", "msg-3", false},
		{"msg-3", "msg-3/x", false},
		{"a/b/c", "a/b", true},
		{"a/b/c", "b", false},
		{"a", "", true},
		{"", "", true},
		{"", "a", false},
	} {
		if got := c.path.Within(c.prefix); got != c.want {
			t.Errorf("%q within %q: %v", c.path, c.prefix, got)
		}
	}
}

func TestContextParts(t *testing.T) {
	for _, c := range []struct {
		path, parent ContextPath
		last         string
		depth        int
	}{
		{"", "", "", 0},
		{"a", "", "a", 1},
		{"a/b", "a", "b", 2},
		{"a/b/c", "a/b", "c", 3},
	} {
		if c.path.Parent() != c.parent || c.path.Last() != c.last || c.path.Depth() != c.depth {
			t.Errorf("%q: parent %q, last %q, depth %d", c.path, c.path.Parent(), c.path.Last(), c.path.Depth())
		}
		if c.path != "" && c.path.Parent().Child(ID(c.path.Last())) != c.path {
			t.Errorf("%q does not come back", c.path)
		}
	}
}

func TestIDs(t *testing.T) {
	long := strings.Repeat("x", MaxIDBytes)
	for s, want := range map[string]struct{ id, participant bool }{
		"a":                     {true, true},
		"A-Z.a_z:0-9":           {true, true},
		long:                    {true, true},
		"":                      {false, false},
		long + "x":              {false, false},
		"a b":                   {false, false},
		"a/b":                   {false, false},
		"ä":                     {false, false},
		"a\n":                   {false, false},
		"ann+bot@example.org":   {false, true},
		"auth0|5f7c8ec7c33c6c0": {false, true},
	} {
		if ValidID(s) != want.id || ValidSpaceName(s) != want.id || ValidParticipantID(s) != want.participant {
			t.Errorf("%q: id %v, space %v, participant %v", s, ValidID(s), ValidSpaceName(s), ValidParticipantID(s))
		}
	}
}

func TestParseSeq(t *testing.T) {
	if n, err := ParseSeq("9223372036854775807"); err != nil || n.String() != "9223372036854775807" {
		t.Errorf("%d, %v", n, err)
	}
	for _, s := range []string{"", "-1", "1.0", "9223372036854775808", "0x1", "1_0", " 1"} {
		if n, err := ParseSeq(s); err == nil {
			t.Errorf("%q is %d", s, n)
		}
	}
}
