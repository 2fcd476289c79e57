package permissions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
)

// object is a JSON object with an order. Its values are texts, numbers, booleans, objects and
// arrays of them.
type object []member

type member struct {
	key   string
	value any
}

// number is a number, true or false.
type number string

// MarshalJSON returns the word.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// MarshalJSON returns the object with its order.
func (o object) MarshalJSON() ([]byte, error) { return o.json(), nil }

func (o object) json() []byte {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, encode(m.key)...), ':'), encode(m.value)...)
	}
	return append(b, '}')
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // of a text, an object or a list of them
	}
	return bytes.TrimSpace(b.Bytes())
}

// plain matches texts that are texts in YAML without quotes.
var plain = regexp.MustCompile(`^\$?[A-Za-z_][A-Za-z0-9_./-]*$`)

var words = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n)$`)

// flow formats a value in one line of YAML.
func flow(v any) string {
	var parts []string
	switch v := v.(type) {
	case object:
		for _, m := range v {
			parts = append(parts, flow(m.key)+": "+flow(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []string:
		for _, s := range v {
			parts = append(parts, flow(s))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []any:
		for _, x := range v {
			parts = append(parts, flow(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		if plain.MatchString(v) && !words.MatchString(v) {
			return v
		}
		return string(termsafe.JSON(encode(v)))
	}
	return string(encode(v))
}

// commandsOf returns the patterns of a list of commands.
func (c *Capability) commandsOf() []string {
	at := any(c.value)
	for _, key := range []string{"payload", "params", "arguments", "command", "$shell", "commands"} {
		at = at.(object).get(key) //nolint:forcetypeassert // Translate made it
	}
	return at.([]string) //nolint:forcetypeassert // likewise
}

func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

var names = map[string]string{"claude": "Claude Code", "codex": "Codex", "cursor": "Cursor"}

// headings explain the effects in the fragment.
var headings = map[string]string{
	allow: "Allowed: these calls are made without a question.",
	ask:   "Asked about: these calls are not made without an approval. They can be proposed.",
	deny:  "Denied: these calls can be neither made nor proposed.",
}

// WriteYAML writes the capabilities as a part of a configuration, with the rules that they
// come from as comments.
func (r *Result) WriteYAML(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(termsafe.Text(fmt.Sprintf(format, args...)) + "\n") }
	line("# Permissions of %s, from:", names[r.Program])
	for _, f := range r.Files {
		line("#   %s", termsafe.Words(f))
	}
	line("# Add them to the capabilities of %s in the configuration of the gateway, and set its root to the\n# folder of the project, to which relative paths are relative.", termsafe.Words(r.Participant))
	effect := ""
	for i := range r.Capabilities {
		c := &r.Capabilities[i]
		if c.Sources[0].Effect != effect {
			effect = c.Sources[0].Effect
			line("\n# %s", headings[effect])
		}
		if !c.commands {
			line("# %s", c.Sources[0].comment())
			line("- %s", flow(c.value))
			continue
		}
		line("- kind: %s", flow(c.value.get("kind")))
		if to := c.value.get("to"); to != nil {
			line("  to: %s", flow(to))
		}
		tool := c.value.get("payload").(object).get("params").(object).get("name") //nolint:forcetypeassert // Translate made it
		line("  payload:\n    params:\n      name: %s\n      arguments:\n        command:\n          $shell:\n            commands:", flow(tool))
		for j, pattern := range c.commandsOf() {
			line("              - %s # %s", flow(pattern), c.Sources[j].comment())
		}
		if effect != allow {
			line("  deny: true")
		}
	}
	if len(r.Capabilities) == 0 {
		line("[]")
	}
	if len(r.Left) > 0 {
		line("\n# Not translated:")
	}
	for i := range r.Left {
		line("#   %s: %s", r.Left[i].comment(), termsafe.Words(r.Left[i].Reason))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Rule) comment() string {
	return termsafe.Words(fmt.Sprintf("%s %s, %s", r.Effect, r.Text, r.place()))
}

func (s *Source) comment() string {
	if s.Note == "" {
		return s.Rule.comment()
	}
	return s.Rule.comment() + "; " + s.Note
}

// WriteJSON writes the translation as JSON. The sources of a capability have its index.
func (r *Result) WriteJSON(w io.Writer) error {
	out := struct {
		Program      string   `json:"program"`
		Participant  string   `json:"participant"`
		Files        []string `json:"files"`
		Capabilities []object `json:"capabilities"`
		Translated   []any    `json:"translated"`
		Left         []Left   `json:"not_translated"`
	}{r.Program, r.Participant, append([]string{}, r.Files...), []object{}, []any{}, append([]Left{}, r.Left...)}
	for i := range r.Capabilities {
		c := &r.Capabilities[i]
		out.Capabilities = append(out.Capabilities, c.value)
		for _, s := range c.Sources {
			out.Translated = append(out.Translated, struct {
				Source
				Capability int `json:"capability"`
			}{s, i})
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := w.Write(termsafe.JSON(b.Bytes()))
	return err
}
