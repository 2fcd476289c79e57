package toolserver

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemas has the schema of each type that was asked for.
var schemas sync.Map // reflect.Type → *jsonschema.Schema

// SchemaOf returns the schema of a Go type, which is shared. Clients of all model providers
// accept it, because each part of it has one type: JSON within it is an object, and a list, a
// map or a pointer is never null, so an optional one needs omitempty.
func SchemaOf[T any]() *jsonschema.Schema {
	t := reflect.TypeFor[T]()
	if s, ok := schemas.Load(t); ok {
		return s.(*jsonschema.Schema) //nolint:forcetypeassert // of this package
	}
	s, err := jsonschema.For[T](&jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {Type: "object"}},
	})
	if err != nil {
		panic(err) // of a type of this program
	}
	simplify(s)
	schemas.Store(t, s)
	return s
}

// simplify removes null from the types of a schema.
func simplify(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, p := range s.Properties {
		simplify(p)
	}
	simplify(s.Items)
	simplify(s.AdditionalProperties)
}
