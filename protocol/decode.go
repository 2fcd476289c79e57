package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Inbound is an envelope received from a participant. Its form is checked
// (sections 1 to 3), its sender's rights are not.
type Inbound struct {
	// Envelope is the sender's envelope. ID is empty if the sender left it to
	// the gateway; TS and Seq are zero, because the gateway assigns them.
	Envelope Envelope
	// ClaimedFrom is the sender as written; empty if absent. It must be
	// compared with the authenticated sender.
	ClaimedFrom ParticipantID
	// Payload is the parsed form of Envelope.Payload: the same bytes.
	Payload Value
	// Size is the length of the frame in bytes.
	Size int

	doc Doc // contains Payload
}

// Frame returns the frame that contained the envelope.
func (in *Inbound) Frame() []byte { return in.doc.Root().Raw() }

// Decode decodes one frame. If it returns an error, an *Error, the Inbound holds at
// most the id, for the error response. The Inbound shares the bytes of frame, so the
// caller must not modify or reuse them. contextDepth bounds the segments of a
// context.
func Decode(frame []byte, d Dialect, contextDepth int) (*Inbound, error) {
	if IsStreamFrame(frame, d) {
		text, err := envelopeOf(frame)
		if err != nil {
			return &Inbound{Size: len(frame)}, err
		}
		frame = text
	}
	r := reader{in: &Inbound{Size: len(frame)}, dialect: d, contextDepth: contextDepth}
	if err := r.frame(frame); err != nil {
		return &Inbound{Envelope: Envelope{ID: r.in.Envelope.ID}, Size: len(frame)}, err
	}
	return r.in, nil
}

// reader fills an Inbound from the fields of a frame.
type reader struct {
	in           *Inbound
	dialect      Dialect
	contextDepth int
}

func (r *reader) frame(frame []byte) *Error {
	doc := &r.in.doc
	if err := doc.Parse(frame, MaxDepth); err != nil {
		r.in.Envelope.ID = readID(frame)
		var syntax *SyntaxError
		errors.As(err, &syntax) // Parse returns no other error
		return &Error{Code: CodeInvalidJSON, Path: syntax.Path, Detail: syntax.Error(),
			Message: "The frame is not one well-formed JSON object: " + syntax.Detail + "."}
	}
	if t := doc.Root().Type(); t != TypeObject {
		return invalid("", "object", "An envelope is a JSON object, not "+article(t)+".")
	}
	var failed *Error
	for k, v := range doc.Root().Members {
		// The id is read even after an error, for the error response.
		name := fieldName(k)
		if failed != nil && name != "id" {
			continue
		}
		if err := r.field(name, k, v); err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	e := &r.in.Envelope
	if e.Kind == "" {
		return invalid("/kind", "required", "An envelope needs a kind.")
	}
	if e.Kind.NeedsCorrelation() && len(e.Correlation.IDs) == 0 {
		return invalid("/"+r.dialect.correlationField(), "required",
			r.dialect.SpellKind(e.Kind)+" must name what it answers in "+r.dialect.correlationField()+".")
	}
	return r.payload()
}

// readID returns the id in a malformed frame, for the error response; "" if it
// cannot be read or is duplicated.
func readID(frame []byte) ID {
	fields := json.NewDecoder(bytes.NewReader(frame))
	if start, err := fields.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	var id ID
	for fields.More() {
		key, err := fields.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if err := fields.Decode(&value); err != nil {
			break
		}
		if key != "id" {
			continue
		}
		var text string
		if err := json.Unmarshal(value, &text); err != nil || id != "" || !ValidID(text) {
			return ""
		}
		id = ID(text)
	}
	return id
}

func (r *reader) field(name string, key, v Value) *Error {
	e := &r.in.Envelope
	if r.dialect != DialectMEUP01 && meansAbsent(name, v) {
		return nil
	}
	switch name {
	case "protocol":
		return r.protocol(v)
	case "id":
		id := v.Text()
		if !ValidID(id) {
			return invalid("/id", "1 to 128 of A-Z a-z 0-9 . _ : -", "The id must be a string of 1 to 128 of A-Z a-z 0-9 . _ : - .")
		}
		e.ID = ID(id)
	case "ts":
		return r.expect(name, v, TypeString)
	case "seq":
		return r.expect(name, v, TypeNumber)
	case "from":
		return r.from(v)
	case "to":
		return r.to(v)
	case "kind":
		kind, ok := readKind(v)
		if !ok {
			return invalid("/kind", "a kind", "The kind must be a string of 1 to 128 of A-Z a-z 0-9 . _ : - / .")
		}
		e.Kind = kind
	case r.dialect.correlationField():
		return r.correlation(name, v)
	case "context":
		return r.context(v)
	case "payload":
		r.in.Payload = v
		return r.expect(name, v, TypeObject)
	default:
		return r.unknown(name, key, v)
	}
	return nil
}

// meansAbsent reports whether the value means an absent field in meup/v0.2
// and mew/v0.4: null or an empty list.
func meansAbsent(name string, v Value) bool {
	switch name {
	case "to", "correlation_id":
		return v.Type() == TypeNull || v.Type() == TypeArray && v.Len() == 0
	case "context":
		return v.Type() == TypeNull
	}
	return false
}

func (r *reader) expect(name string, v Value, want Type) *Error {
	if v.Type() == want {
		return nil
	}
	return invalid("/"+name, want.String(), "The field "+name+" must be "+article(want)+", not "+article(v.Type())+".")
}

func (r *reader) protocol(v Value) *Error {
	if err := r.expect("protocol", v, TypeString); err != nil {
		return err
	}
	if v.EqualText(r.dialect.String()) {
		return nil
	}
	if d, ok := ParseDialect(v.Text()); ok && d == r.dialect {
		return nil
	}
	return Errorf(CodeUnsupportedProtocol, "This connection speaks %s; leave the field protocol out, or connect with the dialect that you speak.", r.dialect)
}

// from reads the claimed sender. An empty id is rejected, so that it is not
// treated as absent.
func (r *reader) from(v Value) *Error {
	if err := r.expect("from", v, TypeString); err != nil {
		return err
	}
	r.in.ClaimedFrom = ParticipantID(v.Text())
	if r.in.ClaimedFrom == "" {
		return Errorf(CodeIdentityMismatch, "The field from is empty; leave it out, or write your own id.")
	}
	return nil
}

// to reads the recipients and removes duplicates. It uses a set instead of
// comparing all pairs, because a frame can hold many.
func (r *reader) to(v Value) *Error {
	if err := r.expect("to", v, TypeArray); err != nil {
		return err
	}
	var seen map[ParticipantID]bool
	if n := v.Len(); n > 1 {
		seen = make(map[ParticipantID]bool, n)
	}
	e := &r.in.Envelope
	for x := range v.Elements {
		id := ParticipantID(x.Text())
		if id == "" {
			return invalid("/to", "array of participant ids", "The field to must hold participant ids.")
		}
		if seen[id] {
			continue
		}
		if seen != nil {
			seen[id] = true
		}
		e.To = append(e.To, id)
	}
	return nil
}

func (r *reader) correlation(name string, v Value) *Error {
	c := Correlation{Array: v.Type() == TypeArray}
	switch v.Type() {
	case TypeString:
		c.IDs = []ID{ID(v.Text())}
	case TypeArray:
		for x := range v.Elements {
			if err := r.expect(name, x, TypeString); err != nil {
				return err
			}
			c.IDs = append(c.IDs, ID(x.Text()))
		}
	default:
		return r.expect(name, v, TypeString)
	}
	if len(c.IDs) == 0 || len(c.IDs) > MaxCorrelations {
		return invalid("/"+name, "1 to 64 ids", "The field "+name+" must name 1 to 64 envelopes, or be left out.")
	}
	for _, id := range c.IDs {
		if !ValidID(string(id)) {
			return invalid("/"+name, "ids", "The field "+name+" must hold ids of envelopes: 1 to 128 of A-Z a-z 0-9 . _ : - .")
		}
	}
	r.in.Envelope.Correlation = c
	return nil
}

func (r *reader) context(v Value) *Error {
	if err := r.expect("context", v, TypeString); err != nil {
		return err
	}
	path, ok := ParseContextPath(v.Text(), r.contextDepth)
	if !ok {
		return &Error{Code: CodeInvalidContext, Path: "/context",
			Message: Errorf("", "A context is 1 to %d segments of 1 to 128 of A-Z a-z 0-9 . _ : - joined by single slashes, at most %d bytes long.",
				r.contextDepth, MaxContextBytes).Message}
	}
	r.in.Envelope.Context = path
	return nil
}

// fieldNames are the field names with a meaning in some dialect.
var fieldNames = []string{"protocol", "id", "ts", "from", "to", "kind", "correlationId", "correlation_id", "context", "payload", "seq"}

// fieldName returns the text of a key; names in fieldNames are not copied.
func fieldName(key Value) string {
	plain, _ := key.Plain()
	for _, name := range fieldNames {
		if string(plain) == name {
			return name
		}
	}
	return key.Text()
}

// unknown keeps a field that the protocol does not define. It rejects a field
// that a lenient parser would treat as a defined one.
func (r *reader) unknown(name string, key, v Value) *Error {
	for _, known := range fieldNames {
		if name == known {
			return invalid("/"+name, "not a field of this dialect",
				"In "+r.dialect.String()+" the field "+name+" is called "+r.dialect.correlationField()+".")
		}
		if strings.EqualFold(name, known) {
			return &Error{Code: CodeInvalidJSON, Path: "/" + name, Detail: "differs from " + known + " by case alone",
				Message: "Field names are case-sensitive: write " + known + ", not " + name + "."}
		}
	}
	e := &r.in.Envelope
	if len(e.Extra) > 0 {
		e.Extra = append(e.Extra, ',')
	}
	e.Extra = append(e.Extra, key.Raw()...)
	e.Extra = append(e.Extra, ':')
	e.Extra = append(e.Extra, v.Raw()...)
	return nil
}

func invalid(path, detail, message string) *Error {
	return &Error{Code: CodeInvalidEnvelope, Path: path, Detail: "expected " + detail, Message: message}
}

func article(t Type) string {
	switch t {
	case TypeObject, TypeArray:
		return "an " + t.String()
	case TypeNull, TypeNone:
		return t.String()
	}
	return "a " + t.String()
}

// ParseTime parses a ts.
func ParseTime(s string) (time.Time, error) { return time.Parse(time.RFC3339Nano, s) }
