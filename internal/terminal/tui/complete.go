package tui

import (
	"slices"
	"strconv"
	"strings"
)

// complete extends the text as far as its completion is unique, and returns the
// candidates.
func (m *model) complete(text string) (string, []string) {
	begin := strings.LastIndexAny(text, " \n") + 1
	word := text[begin:]
	options := m.options(text[:begin], word)
	options = slices.DeleteFunc(options, func(o string) bool { return !strings.HasPrefix(o, word) })
	slices.Sort(options)
	options = slices.Compact(options)
	if len(options) == 0 || word == "" && !strings.HasPrefix(text, "/") {
		return text, nil
	}
	common := options[0]
	for _, o := range options[1:] {
		for !strings.HasPrefix(o, common) {
			common = common[:len(common)-1]
		}
	}
	if len(options) == 1 {
		common += " "
	}
	return text[:begin] + common, options
}

// options returns the candidates for the last word, given the text before it.
func (m *model) options(before, word string) []string {
	var list []string
	command := strings.Fields(before)
	switch {
	case before == "" && strings.HasPrefix(word, "/"):
		for _, c := range commands() {
			list = append(list, c.name)
		}
		return list
	case strings.HasPrefix(word, "@"):
		for _, p := range m.people.here {
			list = append(list, "@"+string(p.ID))
		}
		return list
	case len(command) > 1 && command[0] == "/forget":
		return []string{"oldest", "newest"}
	case len(command) != 1:
		return nil
	}
	switch command[0] {
	case "/to", "/grant", "/revoke", "/status", "/pause", "/resume", "/forget", "/compact", "/clear", "/restart", "/shutdown":
		for _, p := range m.people.here {
			list = append(list, string(p.ID))
		}
	case "/approve", "/reject", "/proposals":
		for _, b := range m.work.pending {
			list = append(list, strconv.Itoa(b.proposal.number))
		}
	case "/context":
		for _, c := range m.contexts.list {
			list = append(list, string(c))
		}
	case "/reasoning":
		list = []string{"all"}
	}
	return list
}
