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

// Hooks are the hooks of Claude Code that a space uses.
type Hooks struct {
	Gateway  *url.URL
	Space    string
	TokenEnv string        // environment variable of the agent that holds the token
	Prompts  bool          // prompts are published as chats
	Headless bool          // the agent has no terminal
	Wait     time.Duration // how long the end of a turn waits for a chat
	Approval time.Duration // how long a request for permission waits; 0: 10 minutes
	// FailClosed blocks calls while the gateway cannot be reached.
	FailClosed bool
}

// defaultApproval is the time of the gateway; agents end a hook after 10 minutes
// by default.
const defaultApproval = 590 * time.Second

// events are the events in the order of the settings.
var events = []string{
	"UserPromptSubmit", "MessageDisplay", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure",
	"PermissionDenied", "SubagentStart", "SubagentStop", "Stop", "StopFailure", "SessionEnd",
}

// handler is one hook in the settings.
type handler struct {
	Type    string            `json:"type"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Allowed []string          `json:"allowedEnvVars"`
	Timeout int               `json:"timeout"` // seconds
	Failure string            `json:"onFailure,omitempty"`
}

// handler returns the hook of an event.
func (h *Hooks) handler(event string) handler {
	approval := h.Approval
	q := url.Values{}
	if approval == 0 {
		approval = defaultApproval
	} else {
		q.Set("approval", strconv.Itoa(int(approval/time.Second)))
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
	timeout := 10 * time.Second
	switch {
	case event == "PermissionRequest", event == "PreToolUse" && h.Headless:
		timeout += approval
	case event == "PreToolUse":
		timeout = 30 * time.Second
	case event == "Stop":
		timeout = h.Wait + time.Minute
	}
	u := address(h.Gateway, h.Space)
	u.RawQuery = q.Encode()
	out := handler{
		Type: "http", URL: u.String(), Headers: map[string]string{"Authorization": "Bearer ${" + h.TokenEnv + "}"},
		Allowed: []string{h.TokenEnv}, Timeout: int(timeout / time.Second),
	}
	if h.FailClosed && event == "PreToolUse" {
		out.Failure = "block"
	}
	return out
}

func address(gateway *url.URL, space string) *url.URL {
	return gateway.JoinPath("api", "spaces", space, "hooks", "claude")
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

// text encodes the object.
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
	return edit(settings, h.Gateway, h.Space, func(event string, groups []json.RawMessage) ([]json.RawMessage, error) {
		var group bytes.Buffer
		e := json.NewEncoder(&group)
		e.SetEscapeHTML(false)
		if err := e.Encode(map[string][]handler{"hooks": {h.handler(event)}}); err != nil {
			return nil, err
		}
		return append(groups, bytes.TrimSpace(group.Bytes())), nil
	})
}

// Remove returns settings without the hooks of a space.
func Remove(settings []byte, gateway *url.URL, space string) ([]byte, error) {
	return edit(settings, gateway, space, func(_ string, groups []json.RawMessage) ([]json.RawMessage, error) { return groups, nil })
}

// edit removes the hooks of a space, and passes what is left of each event to add.
func edit(settings []byte, gateway *url.URL, space string, add func(string, []json.RawMessage) ([]json.RawMessage, error)) ([]byte, error) {
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
		if hooks, err = parseObject(text); err != nil {
			return nil, fmt.Errorf("hooks: %w", err)
		}
	}
	removed, added := false, false
	for _, event := range events {
		var groups []json.RawMessage
		if text := hooks.get(event); text != nil {
			if groups, err = parseList(text); err != nil {
				return nil, fmt.Errorf("hooks: %s: %w", event, err)
			}
		}
		left, changed := without(groups, gateway, space)
		removed = removed || changed
		kept := len(left)
		if left, err = add(event, left); err != nil {
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
		all = all.with("hooks", hooks.text())
	case removed:
		all = all.with("hooks", nil)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, all.text(), "", indentOf(settings)); err != nil {
		return nil, err
	}
	return append(out.Bytes(), '\n'), nil
}

// indentOf returns the indentation of a JSON object; two spaces if it has none.
func indentOf(text []byte) string {
	if found := indented.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return "  "
}

var indented = regexp.MustCompile(`^\s*\{\r?\n([ \t]+)"`)

func list(items []json.RawMessage) json.RawMessage {
	return append(append([]byte{'['}, bytes.Join(toBytes(items), []byte{','})...), ']')
}

func toBytes(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, m := range items {
		out[i] = m
	}
	return out
}

// without returns groups without the hooks of a space. A group of other hooks is
// returned as it is.
func without(groups []json.RawMessage, gateway *url.URL, space string) (left []json.RawMessage, changed bool) {
	want := address(gateway, space).String()
	for _, text := range groups {
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
		others := slices.DeleteFunc(slices.Clone(handlers), func(h json.RawMessage) bool {
			u := addressOf(h)
			return u != nil && u.String() == want
		})
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
	h, err := parseObject(text)
	if err != nil {
		return nil
	}
	var kind, at string
	if json.Unmarshal(h.get("type"), &kind) != nil || kind != "http" || json.Unmarshal(h.get("url"), &at) != nil {
		return nil
	}
	u, err := url.Parse(at)
	if err != nil || !strings.Contains(u.Path, "/api/spaces/") || !strings.HasSuffix(u.Path, "/hooks/claude") {
		return nil
	}
	u.RawQuery, u.Fragment = "", ""
	return u
}

// Installed returns the events of settings that have a hook of a space, and whether
// these are all.
func Installed(settings []byte, gateway *url.URL, space string) (found int, all bool, err error) {
	if len(bytes.TrimSpace(settings)) == 0 {
		return 0, false, nil
	}
	top, err := parseObject(settings)
	if err != nil {
		return 0, false, err
	}
	hooks := object{}
	if text := top.get("hooks"); text != nil {
		if hooks, err = parseObject(text); err != nil {
			return 0, false, fmt.Errorf("hooks: %w", err)
		}
	}
	for _, event := range events {
		groups, err := parseList(hooks.get(event))
		if err != nil {
			continue
		}
		if _, changed := without(groups, gateway, space); changed {
			found++
		}
	}
	return found, found == len(events), nil
}
