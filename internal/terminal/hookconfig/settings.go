// Package hookconfig writes the hooks of a space into the settings of a coding
// agent, and removes them. All other settings are kept, in their order.
package hookconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Hooks are the hooks of an agent that a space uses.
type Hooks struct {
	Program   string // claude, codex or cursor
	Gateway   *url.URL
	Space     string
	TokenEnv  string        // environment variable of the agent that holds the token
	TokenFile string        // for hooks that are commands, instead of TokenEnv
	Command   string        // the program meup, for hooks that are commands
	Claims    bool          // paths are claimed when a capability requires it
	Prompts   bool          // prompts are published as chats
	Headless  bool          // the agent has no terminal
	Wait      time.Duration // how long the end of a turn waits for a chat
	Approval  time.Duration // how long a call waits for a decision; 0: the gateway's time
	// FailOpen leaves the calls about which the space cannot be asked to the agent's own
	// rules. They are blocked otherwise.
	FailOpen bool
}

// The times of the gateway; agents end a hook after 10 minutes by default.
const (
	defaultApproval = 590 * time.Second
	userApproval    = time.Minute // of a request for permission, while the user waits for the question
)

// url returns the address of the hooks with their parameters.
func (h *Hooks) url() *url.URL {
	q := url.Values{}
	if h.Approval > 0 {
		q.Set("approval", strconv.Itoa(int(h.Approval/time.Second)))
	}
	if h.Claims {
		q.Set("claims", "auto")
	}
	if h.FailOpen {
		q.Set("fail", "open")
	}
	if h.Prompts {
		q.Set("prompts", "chat")
	}
	if h.Headless {
		q.Set("headless", "true")
	}
	if h.Wait > 0 {
		q.Set("wait", strconv.Itoa(int(h.Wait/time.Second)))
	}
	u := address(h.Program, h.Gateway, h.Space)
	u.RawQuery = q.Encode()
	return u
}

func address(program string, gateway *url.URL, space string) *url.URL {
	return gateway.JoinPath("api", "spaces", space, "hooks", program)
}

// object is a JSON object that keeps its order.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

var errNoObject = errors.New("expected a JSON object")

func parseObject(text []byte) (object, error) {
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err != nil {
		return nil, err
	}
	v := doc.Root()
	if v.Type() != protocol.TypeObject {
		return nil, errNoObject
	}
	var o object
	for key, value := range v.Members {
		o = append(o, member{key.Text(), value.Raw()})
	}
	return o, nil
}

func parseList(text []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errors.New("expected a JSON array")
	}
	return list, nil
}

func (o object) get(key string) json.RawMessage {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// with returns the object with another value of a key; nil: without the key.
func (o object) with(key string, value json.RawMessage) object {
	at := slices.IndexFunc(o, func(m member) bool { return m.key == key })
	switch {
	case value == nil && at < 0:
		return o
	case value == nil:
		return slices.Delete(slices.Clone(o), at, at+1)
	case at < 0:
		return append(slices.Clip(o), member{key, value})
	}
	o = slices.Clone(o)
	o[at].value = value
	return o
}

func (o object) text() json.RawMessage {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(protocol.AppendString(b, m.key), ':'), m.value...)
	}
	return append(b, '}')
}

// Add returns settings with the hooks in place of earlier ones of the same space.
// Empty settings are an empty object.
func (h *Hooks) Add(settings []byte) ([]byte, error) {
	layout := layouts[h.Program]
	return edit(settings, h.Program, h.Gateway, h.Space, func(event string, groups []json.RawMessage) ([]json.RawMessage, error) {
		var group bytes.Buffer
		e := json.NewEncoder(&group)
		e.SetEscapeHTML(false)
		handler := h.handler(event)
		if !layout.flat {
			handler = map[string][]any{"hooks": {handler}}
		}
		if err := e.Encode(handler); err != nil {
			return nil, err
		}
		return append(groups, bytes.TrimSpace(group.Bytes())), nil
	})
}

// remove returns settings of an agent without the hooks of a space.
func remove(settings []byte, program string, gateway *url.URL, space string) ([]byte, error) {
	return edit(settings, program, gateway, space, func(_ string, groups []json.RawMessage) ([]json.RawMessage, error) { return groups, nil })
}

// edit removes the hooks of a space, and passes what is left of each event to add.
func edit(settings []byte, program string, gateway *url.URL, space string, add func(string, []json.RawMessage) ([]json.RawMessage, error)) ([]byte, error) {
	given := settings
	if len(bytes.TrimSpace(settings)) == 0 {
		settings = []byte("{}")
	}
	all, err := parseObject(settings)
	if err != nil {
		return nil, err
	}
	var hooks object
	if text := all.get("hooks"); text != nil {
		hooks, err = parseObject(text)
		if err != nil {
			return nil, fmt.Errorf("hooks: %w", err)
		}
	}
	layout, removed, added := layouts[program], false, false
	for _, event := range layout.events {
		var groups []json.RawMessage
		if text := hooks.get(event); text != nil {
			groups, err = parseList(text)
			if err != nil {
				return nil, fmt.Errorf("hooks: %s: %w", event, err)
			}
		}
		left, changed := without(groups, program, gateway, space)
		removed = removed || changed
		kept := len(left)
		left, err = add(event, left)
		if err != nil {
			return nil, err
		}
		added = added || len(left) > kept
		switch {
		case len(left) > 0:
			hooks = hooks.with(event, list(left))
		case changed:
			hooks = hooks.with(event, nil)
		}
	}
	switch {
	case !removed && !added:
		return given, nil
	case len(hooks) > 0:
		if layout.version && all.get("version") == nil {
			all = all.with("version", json.RawMessage("1"))
		}
		all = all.with("hooks", hooks.text())
	case removed:
		all = all.with("hooks", nil)
	}
	indent := "  "
	if found := indented.FindSubmatch(settings); found != nil {
		indent = string(found[1])
	}
	var out bytes.Buffer
	if err := json.Indent(&out, all.text(), "", indent); err != nil {
		return nil, err
	}
	return append(out.Bytes(), '\n'), nil
}

// indented finds the indentation of a JSON object.
var indented = regexp.MustCompile(`^\s*\{\r?\n([ \t]+)"`)

func list(items []json.RawMessage) json.RawMessage {
	parts := make([][]byte, len(items))
	for i, m := range items {
		parts[i] = m
	}
	return append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']')
}

// without returns groups without the hooks of a space. A group of other hooks is
// returned as it is.
func without(groups []json.RawMessage, program string, gateway *url.URL, space string) (left []json.RawMessage, changed bool) {
	want := address(program, gateway, space).String()
	own := func(handler json.RawMessage) bool {
		u := addressOf(handler)
		return u != nil && u.String() == want
	}
	for _, text := range groups {
		if own(text) { // the handlers of the event are in no groups
			changed = true
			continue
		}
		group, err := parseObject(text)
		if err != nil {
			left = append(left, text)
			continue
		}
		handlers, err := parseList(group.get("hooks"))
		if err != nil {
			left = append(left, text)
			continue
		}
		others := slices.DeleteFunc(slices.Clone(handlers), own)
		switch {
		case len(others) == len(handlers):
			left = append(left, text)
			continue
		case len(others) > 0:
			left = append(left, group.with("hooks", list(others)).text())
		}
		changed = true
	}
	return left, changed
}

// addressOf returns the address of a hook of any space, without its parameters;
// nil of any other hook.
func addressOf(text json.RawMessage) *url.URL {
	u := urlOf(text)
	if u != nil {
		u.RawQuery, u.Fragment = "", ""
	}
	return u
}

// urlOf returns the address of a hook of any space; nil of any other hook.
func urlOf(text json.RawMessage) *url.URL {
	h, err := parseObject(text)
	if err != nil {
		return nil
	}
	var at, command string
	if json.Unmarshal(h.get("url"), &at) != nil {
		if json.Unmarshal(h.get("command"), &command) != nil {
			return nil
		}
		found := sent.FindStringSubmatch(command)
		if found == nil {
			return nil
		}
		at = found[1]
	}
	u, err := url.Parse(at)
	if err != nil || !strings.Contains(u.Path, "/api/spaces/") || !strings.Contains(u.Path, "/hooks/") {
		return nil
	}
	return u
}

// Place is a space of a gateway.
type Place struct{ Gateway, Space string }

func (p Place) String() string { return "--gateway " + p.Gateway + " --space " + p.Space }

// places returns the spaces whose hooks settings have.
func places(settings []byte, program string) (list []Place, err error) {
	handlers, err := handlersOf(settings, program)
	for _, handler := range handlers {
		if at, ok := placeOf(addressOf(handler), program); ok && !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list, err
}

// handlersOf returns what may be hooks of any space in settings.
func handlersOf(settings []byte, program string) (list []json.RawMessage, err error) {
	hooks, err := hookMap(settings)
	if err != nil {
		return nil, err
	}
	for _, event := range layouts[program].events {
		groups, err := parseList(hooks.get(event))
		if err != nil {
			continue
		}
		for _, text := range groups {
			list = append(list, text) // of an agent without groups
			if group, err := parseObject(text); err == nil {
				if inside, err := parseList(group.get("hooks")); err == nil {
					list = append(list, inside...)
				}
			}
		}
	}
	return list, nil
}

// placeOf returns the space of an address of hooks.
func placeOf(u *url.URL, program string) (Place, bool) {
	if u == nil {
		return Place{}, false
	}
	found := hookPath.FindStringSubmatch(u.Path)
	if len(found) == 0 || found[3] != program {
		return Place{}, false
	}
	gateway := *u
	gateway.Path, gateway.RawPath = found[1], ""
	return Place{gateway.String(), found[2]}, true
}

var hookPath = regexp.MustCompile(`^(.*)/api/spaces/([^/]+)/hooks/([^/]+)$`)

// sent finds the address in a command of ours.
var sent = regexp.MustCompile(`(?:^| )hooks send ['"]?([^'" ]+)`)

// installed returns the events of settings that have a hook of a space, and whether
// these are all.
func installed(settings []byte, program string, gateway *url.URL, space string) (found int, all bool, err error) {
	hooks, err := hookMap(settings)
	if err != nil {
		return 0, false, err
	}
	for _, event := range layouts[program].events {
		groups, err := parseList(hooks.get(event))
		if err != nil {
			continue
		}
		if _, changed := without(groups, program, gateway, space); changed {
			found++
		}
	}
	return found, found == len(layouts[program].events), nil
}

// hookMap returns the hooks of settings, by event.
func hookMap(settings []byte) (object, error) {
	if len(bytes.TrimSpace(settings)) == 0 {
		return nil, nil
	}
	top, err := parseObject(settings)
	if err != nil {
		return nil, err
	}
	text := top.get("hooks")
	if text == nil {
		return nil, nil
	}
	hooks, err := parseObject(text)
	if err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	return hooks, nil
}
