package textutil

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxToolName bounds the name of a tool, in bytes, for MCP clients and the providers of
// models.
const maxToolName = 64

var (
	legalToolName  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	illegalInName  = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)
	hashedToolName = regexp.MustCompile(`_[0-9a-f]{12}$`)
)

// LegalToolName reports whether MCP clients and the providers of models accept a name.
func LegalToolName(name string) bool { return legalToolName.MatchString(name) }

// IsHashedToolName reports whether a name has the form that HashedToolName returns.
func IsHashedToolName(name string) bool { return hashedToolName.MatchString(name) }

// ToolName returns a legal name for a tool: its own, or one that ends with a hash. It
// depends on nothing but the name, and two tools have two names.
func ToolName(name string) string {
	if LegalToolName(name) && !IsHashedToolName(name) {
		return name
	}
	return HashedToolName(name, name, maxToolName)
}

// ToolNames returns a legal name for each tool of a list: its own, or else a similar one,
// which ends with a hash if another tool claims it. The order of the list does not matter.
func ToolNames(tools []string) map[string]string {
	tools = slices.Compact(slices.Sorted(slices.Values(tools)))
	claims := make(map[string]int, len(tools))
	for _, name := range tools {
		claims[PlainToolName(name)]++
	}
	names, used := make(map[string]string, len(tools)), make(map[string]bool, len(tools))
	for _, name := range tools {
		if LegalToolName(name) {
			names[name], used[name] = name, true
		}
	}
	for _, name := range tools {
		if names[name] != "" {
			continue
		}
		legal := PlainToolName(name)
		if claims[legal] > 1 || used[legal] {
			legal = HashedToolName(name, name, maxToolName)
		}
		for n := 1; used[legal]; n++ { // a tool imitates the hash of another one
			legal = HashedToolName(name, fmt.Sprint(name, "\x00", n), maxToolName)
		}
		names[name], used[legal] = legal, true
	}
	return names
}

// PlainToolName replaces the characters of a name that are not legal, and shortens it. Two
// tools may have one such name.
func PlainToolName(name string) string {
	if LegalToolName(name) {
		return name
	}
	s := strings.Trim(illegalInName.ReplaceAllString(name, "_"), "_")
	if s == "" {
		s = "tool"
	}
	return s[:min(len(s), maxToolName)]
}

// HashedToolName returns a legal name of at most limit bytes, with a hash of an identity at
// its end.
func HashedToolName(name, identity string, limit int) string {
	sum := sha256.Sum256([]byte(identity))
	suffix := "_" + hex.EncodeToString(sum[:6])
	name = PlainToolName(name)
	return name[:min(len(name), limit-len(suffix))] + suffix
}
