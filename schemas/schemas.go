// Package schemas contains the JSON Schemas (2020-12) of the protocol: one for
// the envelope, one for the payload of each kind of section 2, and one for the
// gateway's configuration. People read them, editors use them, [Config] checks
// configurations and [Payload] envelopes with them.
//
// Running a compiled schema costs microseconds and some 90 allocations, too
// much for every envelope. Payload therefore first runs a hand-written
// acceptor, which accepts only payloads that the schema accepts. The schema
// decides about all others and provides the error texts. A differential test
// keeps the two consistent.
package schemas

import (
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

//go:embed *.json payload/*.json
var files embed.FS

// base is the prefix of the files' ids; nothing is ever fetched from there.
const base = "https://raw.githubusercontent.com/meup-protocol/meup/main/schemas/"

const suffix = ".schema.json"

// FS returns the schema files: envelope.schema.json, config.schema.json,
// payload/KIND.schema.json, …
func FS() fs.FS { return files }

// Config returns the violations of a configuration: maps, slices, strings,
// bools, nil, and numbers as int64 or finite float64. Their order is not
// specified.
func Config(file any) []Violation {
	s, err := config()
	if err != nil {
		panic(err) // the file is built in
	}
	err = s.Validate(file)
	var failed *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		return []Violation{{Schema: s, message: err.Error()}}
	}
	return violations(nil, s, failed, math.MaxInt)
}

var config = sync.OnceValues(func() (*jsonschema.Schema, error) { return compileOne("config" + suffix) })

// Envelope checks an envelope of meup/v0.1 with only the schema, without the
// rules that a schema cannot express (sections 1 and 3). It is the reference
// for tests of the hand-written decoder and not used by the gateway.
func Envelope(doc protocol.Value) error {
	s, err := envelope()
	if err != nil {
		return err
	}
	return s.Validate(instance(doc))
}

var envelope = sync.OnceValues(func() (*jsonschema.Schema, error) { return compileOne("envelope" + suffix) })

// payloads returns the compiled schema of every kind that has one. The files
// are built in and a test compiles them all, so a fault in them causes a panic.
var payloads = sync.OnceValue(func() map[protocol.Kind]*jsonschema.Schema {
	c, err := builtIn()
	if err != nil {
		panic(err)
	}
	m := make(map[protocol.Kind]*jsonschema.Schema)
	for _, name := range names("payload") {
		s, err := compile(c, name)
		if err != nil {
			panic(err)
		}
		m[protocol.Kind(strings.TrimSuffix(path.Base(name), suffix))] = s
	}
	return m
})

// names lists the schema files of a folder.
func names(folder string) []string {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic(err) // the folder is built in
	}
	var list []string
	for _, e := range entries {
		if !e.IsDir() {
			list = append(list, path.Join(folder, e.Name()))
		}
	}
	return list
}

func compileOne(name string) (*jsonschema.Schema, error) {
	c, err := builtIn()
	if err != nil {
		return nil, err
	}
	return compile(c, name)
}

func compile(c *jsonschema.Compiler, name string) (*jsonschema.Schema, error) {
	s, err := c.Compile(base + name)
	if err != nil {
		return nil, fmt.Errorf("compile schema %s: %w", name, err)
	}
	return s, nil
}

// builtIn returns a compiler that has loaded the files, so that they can refer
// to each other.
func builtIn() (*jsonschema.Compiler, error) {
	c := newCompiler()
	for _, name := range append(names("."), names("payload")...) {
		f, err := files.Open(name)
		if err != nil {
			return nil, err
		}
		err = c.AddResource(base+name, f)
		_ = f.Close() // only read
		if err != nil {
			return nil, fmt.Errorf("read schema %s: %w", name, err)
		}
	}
	return c, nil
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
