package schemas

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"
)

//go:embed turns/*.json
var turnFiles embed.FS

// Turns returns the schemas of the gateway's responses about turns: history,
// threads, turn, and the events reasoning_update and job_reasoning, each with
// the suffix .schema.json.
func Turns() fs.FS {
	sub, err := fs.Sub(turnFiles, "turns")
	if err != nil {
		panic(err) // the folder is built in
	}
	return sub
}

// TurnsAnswer checks a gateway's response about turns, by the name of its
// schema. It is for tests and for clients that validate responses.
func TurnsAnswer(name string, raw []byte) error {
	schema, ok := turnSchemas()[name]
	if !ok {
		return fmt.Errorf("there is no schema %s", name)
	}
	doc, err := protocol.ParseJSON(raw, protocol.MaxDepth)
	if err != nil {
		return err
	}
	return schema.Validate(instance(doc.Root()))
}

// turnSchemas returns the compiled schemas by name. The files are built in and
// a test compiles them all, so a fault in them causes a panic.
var turnSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	c := newCompiler()
	c.AssertFormat = true
	entries, err := turnFiles.ReadDir("turns")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		f, err := turnFiles.Open(path.Join("turns", e.Name()))
		if err == nil {
			err = c.AddResource(base+"turns/"+e.Name(), f)
			_ = f.Close() // only read
		}
		if err != nil {
			panic(err)
		}
	}
	m := make(map[string]*jsonschema.Schema)
	for _, e := range entries {
		m[strings.TrimSuffix(e.Name(), suffix)] = c.MustCompile(base + "turns/" + e.Name())
	}
	return m
})
