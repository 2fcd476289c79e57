package schemas

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"
)

//go:embed reasoner/*.json
var reasonerFiles embed.FS

// Reasoner returns the schemas of the Reasoning API: agent_intent.request,
// agent_intent.response and so on, each with the suffix .schema.json.
func Reasoner() fs.FS {
	sub, err := fs.Sub(reasonerFiles, "reasoner")
	if err != nil {
		panic(err) // the folder is built in
	}
	return sub
}

// Fault describes an error in a document of the Reasoning API.
type Fault struct {
	Path    string // JSON pointer; empty for the whole document
	Message string // a sentence that names the expected value
	Syntax  bool   // not JSON, or not JSON that all parsers read alike
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// AgentIntent checks the body of a request for an agent's next action. The
// error is a *Fault.
func AgentIntent(raw []byte) error { return reasonerDocument("agent_intent.request", raw) }

// CancelIntent checks the body of a request to cancel jobs, as AgentIntent
// does.
func CancelIntent(raw []byte) error { return reasonerDocument("agent_intent_cancel.request", raw) }

// WorkflowIntent checks the body of a request for a workflow's next node, as
// AgentIntent does.
func WorkflowIntent(raw []byte) error { return reasonerDocument("workflow_intent.request", raw) }

// ReasonerAnswer checks a response of the service, by the name of its schema:
// agent_intent.response, agent_intent.callback, error and so on. It is for
// tests and for clients that validate responses.
func ReasonerAnswer(name string, raw []byte) error { return reasonerDocument(name, raw) }

// reasonerSchemas returns the compiled schemas by name. The files are built in
// and a test compiles them all, so a fault in them causes a panic.
var reasonerSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	m := make(map[string]*jsonschema.Schema)
	entries, err := reasonerFiles.ReadDir("reasoner")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		s, err := compileReasoner(path.Join("reasoner", e.Name()))
		if err != nil {
			panic(err)
		}
		m[strings.TrimSuffix(e.Name(), suffix)] = s
	}
	return m
})

func compileReasoner(name string) (*jsonschema.Schema, error) {
	f, err := reasonerFiles.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	c := newCompiler()
	if err := c.AddResource(base+name, f); err != nil {
		return nil, fmt.Errorf("read schema %s: %w", name, err)
	}
	return compile(c, name)
}

func reasonerDocument(name string, raw []byte) error {
	schema, ok := reasonerSchemas()[name]
	if !ok {
		return fmt.Errorf("there is no schema %s", name)
	}
	if tooMany(raw) {
		return &Fault{Message: fmt.Sprintf("The request has more than %d JSON values: send a shorter history, or results as text.", MaxValues)}
	}
	doc, err := protocol.ParseJSON(raw, protocol.MaxDepth)
	if err != nil {
		return syntaxFault(err)
	}
	if long := tooLong(schema, doc.Root()); long != nil {
		return long
	}
	err = schema.Validate(instance(doc.Root()))
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return &Fault{Message: "The request could not be checked: " + err.Error() + "."}
	}
	return describeFault(explain(schema, doc.Root(), failed))
}

func syntaxFault(err error) error {
	f := &Fault{Syntax: true, Message: "The request is not JSON: " + err.Error() + "."}
	var syntax *protocol.SyntaxError
	if errors.As(err, &syntax) {
		f.Path = syntax.Path
	}
	return f
}

// describeFault converts a fault into a sentence for the sender.
func describeFault(f fault) *Fault {
	place := "at " + f.path
	if f.path == "" {
		place = "as a whole"
	}
	out := &Fault{Path: f.path}
	switch {
	case f.missing != "":
		out.Message = fmt.Sprintf("The request lacks %s: add %s.", f.path, f.advice)
	case f.advice != "":
		out.Message = fmt.Sprintf("The request is wrong %s: %s. What belongs there: %s.", place, f.detail, f.advice)
	default:
		out.Message = fmt.Sprintf("The request is wrong %s: %s.", place, f.detail)
	}
	return out
}
