// Package schemas contains the JSON Schemas (2020-12) of the protocol: one for
// the envelope, one for the payload of each kind of section 2, one for the
// gateway's configuration, and others for its frames, the HTTP API, turns and the Reasoning API. People read them, editors use them, [Config] checks
// configurations and [Payload] envelopes with them.
//
// Running a compiled schema costs microseconds and some 90 allocations, too
// much for every envelope. Payload therefore first runs a hand-written
// acceptor, which accepts only payloads that the schema accepts. The schema
// decides about all others and provides the error texts. A differential test
// keeps the two consistent.
package schemas

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"
)

//go:embed *.json frames/*.json http/*.json payload/*.json reasoner/*.json turns/*.json
var files embed.FS

// base is the prefix of the files' ids; nothing is ever fetched from there.
const base = "https://raw.githubusercontent.com/meup-protocol/meup/main/schemas/"

const suffix = ".schema.json"

// The compiled schemas of the folders, by the name of the file.
var (
	documents = sync.OnceValue(func() map[string]*jsonschema.Schema { return compile(".") }) // envelope, config
	payloads  = sync.OnceValue(func() map[string]*jsonschema.Schema { return compile("payload") })
	reasoner  = sync.OnceValue(func() map[string]*jsonschema.Schema { return compile("reasoner") })
	turns     = sync.OnceValue(func() map[string]*jsonschema.Schema { return compile("turns") })
	answers   = sync.OnceValue(func() map[string]*jsonschema.Schema { return compile("http") })
	frames    = sync.OnceValue(func() map[string]*jsonschema.Schema { return compile("frames") })
)

// compile returns the schemas of a folder. They can refer to each other, and to
// the files of the top folder and of http. The files are built in and a test compiles them
// all, so a fault in them causes a panic.
func compile(folder string) map[string]*jsonschema.Schema {
	c := newCompiler()
	schemas := make(map[string]*jsonschema.Schema)
	patterns := []string{"*.json", path.Join(folder, "*.json")}
	if folder == "frames" {
		patterns = append(patterns, "http/*.json")
	}
	for _, pattern := range patterns {
		list, _ := fs.Glob(files, pattern) // an error is about the pattern
		for _, name := range list {
			text, err := files.ReadFile(name)
			if err == nil {
				err = c.AddResource(base+name, bytes.NewReader(text))
			}
			if err != nil {
				panic(err)
			}
			if path.Dir(name) == folder {
				schemas[strings.TrimSuffix(path.Base(name), suffix)] = nil
			}
		}
	}
	for name := range schemas {
		schemas[name] = c.MustCompile(base + path.Join(folder, name+suffix))
	}
	return schemas
}

// newCompiler returns a compiler that opens no files: by default, the library
// reads file:// references.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.ExtractAnnotations = true
	c.AssertFormat = true
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("schema %s is not built in, and none is loaded from elsewhere", url)
	}
	return c
}

// Config returns the violations of a configuration: maps, slices, strings,
// bools, nil, and numbers as int64 or finite float64. Their order is not
// specified.
func Config(file any) []Violation {
	s := documents()["config"]
	err := s.Validate(file)
	var failed *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		return []Violation{{Schema: s, message: err.Error()}}
	}
	return violations(nil, s, failed, math.MaxInt)
}

// Payload checks the payload of a kind by section 2. Kinds without a schema,
// mostly kinds of applications, are always valid. It does not allocate for the
// most frequent shapes.
//
// The error is a *protocol.Error, invalid_payload, with the place in the envelope as Path
// ("/payload/message"), the expected value as Detail, and advice as Message.
func Payload(kind protocol.Kind, payload protocol.Value) error {
	if fastAccept(kind, payload) {
		return nil
	}
	schema, ok := payloads()[string(kind)]
	if !ok {
		return nil
	}
	err := schema.Validate(instance(payload))
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return refusal(kind, fault{detail: err.Error()})
	}
	return refusal(kind, explain(schema, payload, failed))
}
