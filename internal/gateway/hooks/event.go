package hooks

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the texts of an event, in bytes.
const (
	maxName      = 256
	maxFolder    = 4096
	maxRealPaths = 32 << 10
	maxMessage   = 16 << 10 // of a prompt or a displayed message
	maxResult    = 32 << 10
)

// event is the report of a hook of any program. Fields that are absent or of
// another type are empty.
type event struct {
	program   *program
	name      string
	session   string
	prompt    string // id of the user's prompt
	agent     string // id of the subagent; "": the main agent
	agentType string
	tool      string
	toolUse   string         // id of the call
	args      protocol.Value // arguments of the call
	unread    error          // why the arguments of the call cannot be read; nil: they are an object, or there are none
	response  protocol.Value // result of the call
	body      protocol.Value // the whole event
}

var (
	errNotObject = errors.New("the body is not a JSON object")
	errArguments = errors.New("tool_input: expected a JSON object")
	errRealPaths = errors.New(api.HookRealPaths + ": expected a JSON object of at most 32 KiB")
	errCommand   = errors.New("command: expected a text")
	errNoName    = errors.New("the event has no hook_event_name")
	errNoTool    = errors.New("the event has no tool_name")
)

// decode reads the body of a hook of a program.
func decode(p *program, body []byte) (event, error) {
	doc, err := protocol.ParseForeignJSON(body, protocol.MaxDepth)
	if err != nil {
		return event{}, fmt.Errorf("the body is not a JSON object: %w", err)
	}
	v := doc.Root()
	if v.Type() != protocol.TypeObject {
		return event{}, errNotObject
	}
	e := event{program: p, body: v, args: v.Get("tool_input"), response: v.Get(p.fields.response)}
	for name, to := range map[string]*string{
		"hook_event_name": &e.name, p.fields.session: &e.session, p.fields.prompt: &e.prompt, p.fields.agent: &e.agent,
		"agent_type": &e.agentType, "tool_name": &e.tool, "tool_use_id": &e.toolUse,
	} {
		*to = e.text(name)
		if len(*to) > maxName {
			return event{}, fmt.Errorf("%s: expected at most %d bytes", name, maxName)
		}
	}
	if p.complete != nil {
		p.complete(&e)
	}
	switch e.args.Type() {
	case protocol.TypeObject, protocol.TypeNone, protocol.TypeNull:
	default:
		e.unread = cmp.Or(e.unread, errArguments)
	}
	real := v.Get(api.HookRealPaths)
	if real.Exists() && (real.Type() != protocol.TypeObject || len(real.Raw()) > maxRealPaths) {
		e.unread = cmp.Or(e.unread, errRealPaths)
	}
	return e, nil
}

// text returns a field that is a text.
func (e *event) text(name string) string { return e.body.Get(name).Text() }

// input returns the arguments of the call, as they are; {} if it has none.
func (e *event) input() []byte {
	if t := e.args.Type(); t == protocol.TypeNone || t == protocol.TypeNull {
		return []byte("{}")
	}
	return e.args.Raw()
}

// sum identifies the tool and the arguments of the call.
func (e *event) sum() string {
	if e.program.subject != nil {
		return sumOf(e.tool, e.program.subject(e))
	}
	return sumOf(e.tool, e.args.AppendCanonical(nil))
}

func sumOf(tool string, subject []byte) string {
	sum := sha256.Sum256(append([]byte(tool+"\n"), subject...))
	return string(sum[:])
}

// result returns the result of the call as text.
func (e *event) result() string {
	v := e.response
	switch v.Type() {
	case protocol.TypeString:
		return v.Text()
	case protocol.TypeNone:
		return ""
	}
	for _, list := range []protocol.Value{v, v.Get("content")} { // of an MCP tool, of a subagent
		if list.Type() != protocol.TypeArray {
			continue
		}
		var texts []string
		for part := range list.Elements {
			texts = append(texts, part.Get("text").Text())
		}
		if text := strings.Join(texts, "\n"); strings.TrimSpace(text) != "" {
			return text
		}
	}
	out, errs := v.Get("stdout"), v.Get("stderr") // of a shell
	if out.Type() == protocol.TypeString || errs.Type() == protocol.TypeString {
		return strings.TrimSuffix(out.Text()+"\n"+errs.Text(), "\n")
	}
	return string(v.Raw())
}

// summary describes a call in a line.
func (e *event) summary() string {
	in := e.args
	for _, field := range []string{"description", "command", "file_path", "pattern", "query", "url"} {
		if text := strings.TrimSpace(in.Get(field).Text()); text != "" {
			return e.tool + ": " + short(text, maxName)
		}
	}
	return e.tool
}

// short returns a text that has at most limit bytes.
func short(text string, limit int) string { return textutil.Shorten(text, limit) }
