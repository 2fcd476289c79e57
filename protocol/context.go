package protocol

import "strings"

// ContextPath is the context of an envelope: "" is the main conversation,
// "msg-301/msg-302" a context nested in another one. Section 3.
type ContextPath string

// Bounds of a context path; a gateway's configuration can change the depth.
const (
	MaxContextBytes     = 255
	DefaultContextDepth = 5
)

// ParseContextPath checks a path of at most maxDepth segments. It rejects the
// empty path, because an envelope of the main conversation has no context
// field.
func ParseContextPath(s string, maxDepth int) (ContextPath, bool) {
	if s == "" || len(s) > MaxContextBytes {
		return "", false
	}
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '/' {
			continue
		}
		if !ValidID(s[start:i]) {
			return "", false
		}
		depth++
		start = i + 1
	}
	return ContextPath(s), depth <= maxDepth
}

// Within reports whether c equals prefix or is nested in it, by whole segments:
// "msg-301" is not within "msg-3". Every path is within "".
func (c ContextPath) Within(prefix ContextPath) bool {
	if prefix == "" || c == prefix {
		return true
	}
	return len(c) > len(prefix) && c[len(prefix)] == '/' && c[:len(prefix)] == prefix
}

// Depth returns the number of segments; 0 for the main conversation.
func (c ContextPath) Depth() int {
	if c == "" {
		return 0
	}
	return strings.Count(string(c), "/") + 1
}

// Child returns the path of the context that the envelope id opens inside c.
func (c ContextPath) Child(id ID) ContextPath {
	if c == "" {
		return ContextPath(id)
	}
	return c + "/" + ContextPath(id)
}

// Parent returns the path without its last segment; "" for a context directly
// in the main conversation.
func (c ContextPath) Parent() ContextPath {
	i := strings.LastIndexByte(string(c), '/')
	if i < 0 {
		return ""
	}
	return c[:i]
}

// Root returns the first segment: the outermost context; "" for the main
// conversation.
func (c ContextPath) Root() ContextPath {
	root, _, _ := strings.Cut(string(c), "/")
	return ContextPath(root)
}

// Last returns the last segment: the id of the reasoning.start that opened the
// context, if an envelope opened it.
func (c ContextPath) Last() string {
	return string(c[strings.LastIndexByte(string(c), '/')+1:])
}
