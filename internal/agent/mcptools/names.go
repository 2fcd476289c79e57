package mcptools

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// uniqueNames assigns each server a unique name.
func uniqueNames(servers []Server) []string {
	names := make([]string, len(servers))
	taken := make(map[string]bool)
	for i, s := range servers {
		name := cleanName(s.Name)
		if name == "" {
			name = cleanName(guessName(s))
		}
		if name == "" {
			name = "tools"
		}
		base := name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[name] = true
		names[i] = name
	}
	return names
}

// guessName returns the package that npx or uvx runs, else the program's name,
// else the host.
func guessName(s Server) string {
	if len(s.Command) == 0 {
		u, err := url.Parse(s.URL)
		if err != nil {
			return ""
		}
		return u.Hostname()
	}
	program := filepath.Base(s.Command[0])
	switch program {
	case "npx", "uvx", "node", "python", "python3":
		for _, arg := range s.Command[1:] {
			if !strings.HasPrefix(arg, "-") {
				return strings.TrimSuffix(filepath.Base(arg), filepath.Ext(arg))
			}
		}
	}
	return program
}

// cleanName replaces the characters that are not valid in names of tools, so
// that a qualified name is valid too.
func cleanName(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, s), "-")
}
