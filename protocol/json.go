package protocol

import "github.com/meup-protocol/meup/protocol/strictjson"

// MaxDepth bounds the nesting of a JSON text: the outermost object is the first
// level.
const MaxDepth = 64

// The parsed form of JSON texts, see package strictjson.
type (
	// Doc is one parsed JSON text.
	Doc = strictjson.Doc
	// Value is one value inside a Doc.
	Value = strictjson.Value
	// Type is the type of a JSON value.
	Type = strictjson.Type
	// SyntaxError describes why a text is not JSON, or not JSON that all parsers
	// read alike.
	SyntaxError = strictjson.SyntaxError
	// Decimal is the value of a JSON number.
	Decimal = strictjson.Decimal
)

// The JSON types; the zero Type is the type of an absent value.
const (
	TypeNone   = strictjson.TypeNone
	TypeNull   = strictjson.TypeNull
	TypeBool   = strictjson.TypeBool
	TypeNumber = strictjson.TypeNumber
	TypeString = strictjson.TypeString
	TypeObject = strictjson.TypeObject
	TypeArray  = strictjson.TypeArray
)

// ParseJSON parses exactly one JSON value, see [strictjson.Parse]. The error is a
// *SyntaxError.
func ParseJSON(src []byte, maxDepth int) (*Doc, error) { return strictjson.Parse(src, maxDepth) }

// ParseForeignJSON parses JSON of a program that is not a client of this protocol, see
// [strictjson.ParseForeign]. The error is a *SyntaxError.
func ParseForeignJSON(src []byte, maxDepth int) (*Doc, error) {
	return strictjson.ParseForeign(src, maxDepth)
}

// ParseDecimal parses a valid JSON number. All zeros are equal.
func ParseDecimal(raw []byte) Decimal { return strictjson.ParseDecimal(raw) }

// AppendString appends s as a JSON string, see [strictjson.AppendString].
func AppendString(dst []byte, s string) []byte { return strictjson.AppendString(dst, s) }

// EscapePointer encodes a key as a segment of a JSON pointer (RFC 6901).
func EscapePointer(key string) string { return strictjson.EscapePointer(key) }

// UnescapePointer returns the key that a segment of a JSON pointer encodes.
func UnescapePointer(segment string) string { return strictjson.UnescapePointer(segment) }
