// Package elicit reads the questions that tool servers ask with MCP's
// elicitation/create, and checks the answers. A form has the flat schema of MCP
// 2025-06-18 and 2025-11-25: an object of texts, numbers, booleans and choices.
package elicit

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meup-protocol/meup/protocol"
)

// Method is the method of a question.
const Method = "elicitation/create"

// The actions of an answer.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Keys of _meta in a question that a host passes on.
const (
	// MetaServer is an object with the name, title and version that the server claims.
	MetaServer = "meup/server"
	// MetaExpires is the RFC 3339 time at which the host stops waiting for an answer.
	MetaExpires = "meup/expires_at"
)

// Bounds of a question and its answer, in bytes or items.
const (
	maxBytes   = 64 << 10 // of the params
	maxMessage = 8 << 10
	maxURL     = 2 << 10
	maxFields  = 50
	maxOptions = 256
	maxText    = 16 << 10 // of an answer without maxLength
)

// Type is the type of a field.
type Type string

// The types of fields.
const (
	Text    Type = "string"
	Number  Type = "number"
	Integer Type = "integer"
	Boolean Type = "boolean"
	Choice  Type = "choice"  // one of the options
	Choices Type = "choices" // any of the options
)

// Question is the content of elicitation/create.
type Question struct {
	Message string
	URL     string // a page to open; "": the question is a form
	Fields  []Field
	Server  string    // that the host names
	Expires time.Time // when the host stops waiting; zero: unknown
}

// Field is one value of a form.
type Field struct {
	Name, Title, Description string

	Type     Type
	Required bool
	Default  protocol.Value // may be absent
	Options  []Option

	Format         string // email, uri, date or date-time
	Pattern        *regexp.Regexp
	Least, Most    int // characters or chosen options; Most 0: no bound
	Minimum        protocol.Value
	Maximum        protocol.Value
	minimum, maxim float64
}

// Option is a value of a choice.
type Option struct{ Value, Title string }

// Label returns the title of a field, or its name.
func (f *Field) Label() string {
	if f.Title != "" {
		return f.Title
	}
	return f.Name
}

// Parse reads the params of elicitation/create.
func Parse(params protocol.Value) (*Question, error) {
	if params.Type() != protocol.TypeObject || len(params.Raw()) > maxBytes {
		return nil, fmt.Errorf("expected an object of at most %d bytes", maxBytes)
	}
	q := &Question{Message: params.Get("message").Text()}
	if len(q.Message) > maxMessage {
		return nil, fmt.Errorf("message: expected at most %d bytes", maxMessage)
	}
	meta := params.Get("_meta")
	q.Server = meta.Get(MetaServer).Get("title").Text()
	if q.Server == "" {
		q.Server = meta.Get(MetaServer).Get("name").Text()
	}
	q.Expires, _ = time.Parse(time.RFC3339, meta.Get(MetaExpires).Text()) // zero: unknown
	switch mode := params.Get("mode").Text(); {
	case mode == "url", mode == "" && params.Get("url").Exists():
		q.URL = params.Get("url").Text()
		return q, checkURL(q.URL)
	case mode != "" && mode != "form":
		return nil, fmt.Errorf("mode: expected form or url, not %q", mode)
	}
	schema := params.Get("requestedSchema")
	properties := schema.Get("properties")
	switch {
	case schema.Exists() && schema.Type() != protocol.TypeObject, properties.Exists() && properties.Type() != protocol.TypeObject:
		return nil, errors.New("requestedSchema: expected an object schema")
	case schema.Get("type").Exists() && !schema.Get("type").EqualText("object"):
		return nil, errors.New("requestedSchema: expected the type object")
	case properties.Len() > maxFields:
		return nil, fmt.Errorf("requestedSchema: expected at most %d properties", maxFields)
	}
	for key, value := range properties.Members {
		f, err := parseField(key.Text(), value)
		if err != nil {
			return nil, fmt.Errorf("requestedSchema: property %q: %w", key.Text(), err)
		}
		for name := range schema.Get("required").Elements {
			f.Required = f.Required || name.EqualText(f.Name)
		}
		q.Fields = append(q.Fields, *f)
	}
	return q, nil
}

// checkURL accepts https, and http to this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || len(text) > maxURL {
		return errors.New("url: expected https://host/…")
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return errors.New("url: expected https://host/…")
	}
	return nil
}

func parseField(name string, schema protocol.Value) (*Field, error) {
	f := &Field{
		Name: name, Title: schema.Get("title").Text(), Description: schema.Get("description").Text(),
		Type: Type(schema.Get("type").Text()), Default: schema.Get("default"), Format: schema.Get("format").Text(),
	}
	least, most := "minLength", "maxLength"
	switch f.Type {
	case Number, Integer:
		f.Minimum, f.Maximum = schema.Get("minimum"), schema.Get("maximum")
		f.minimum, _ = f.Minimum.Float()
		f.maxim, _ = f.Maximum.Float()
	case Boolean:
	case Text:
		f.Options = optionsOf(schema.Get("enum"), schema.Get("enumNames"), schema.Get("oneOf"))
		if f.Options != nil {
			f.Type = Choice
		}
		if pattern := schema.Get("pattern").Text(); pattern != "" {
			var err error
			f.Pattern, err = regexp.Compile(pattern)
			if err != nil {
				return nil, fmt.Errorf("pattern: %w", err)
			}
		}
	case "array":
		f.Type, least, most = Choices, "minItems", "maxItems"
		items := schema.Get("items")
		f.Options = optionsOf(items.Get("enum"), items.Get("enumNames"), items.Get("anyOf"))
		if f.Options == nil {
			return nil, errors.New("an array needs items with enum or anyOf")
		}
	default:
		return nil, fmt.Errorf("the type %q is not string, number, integer, boolean or an array of choices", f.Type)
	}
	if len(f.Options) > maxOptions {
		return nil, fmt.Errorf("expected at most %d options", maxOptions)
	}
	for key, to := range map[string]*int{least: &f.Least, most: &f.Most} {
		if n, ok := schema.Get(key).Int(); ok && n >= 0 && n <= maxBytes {
			*to = int(n)
		}
	}
	return f, nil
}

// optionsOf returns the options of an enum with its names, or of a list of schemas with
// const and title; nil if there are none.
func optionsOf(enum, names, titled protocol.Value) (list []Option) {
	for value := range enum.Elements {
		list = append(list, Option{value.Text(), value.Text()})
	}
	i := 0
	for name := range names.Elements {
		if i < len(list) && name.Text() != "" {
			list[i].Title = name.Text()
		}
		i++
	}
	for option := range titled.Elements {
		o := Option{option.Get("const").Text(), option.Get("title").Text()}
		if o.Title == "" {
			o.Title = o.Value
		}
		list = append(list, o)
	}
	return list
}

// Check checks the content of an accepted form.
func (q *Question) Check(content protocol.Value) error {
	if content.Exists() && content.Type() != protocol.TypeObject || !content.Exists() && len(q.Fields) > 0 {
		return errors.New("content: expected an object")
	}
	for key := range content.Members {
		if !slices.ContainsFunc(q.Fields, func(f Field) bool { return key.EqualText(f.Name) }) {
			return fmt.Errorf("%s: the form has no such field", key.Text())
		}
	}
	for i := range q.Fields {
		f := &q.Fields[i]
		value := content.Get(f.Name)
		if !value.Exists() {
			if f.Required {
				return fmt.Errorf("%s: a value is required", f.Label())
			}
			continue
		}
		if err := f.check(value); err != nil {
			return fmt.Errorf("%s: %w", f.Label(), err)
		}
	}
	return nil
}

func (f *Field) check(v protocol.Value) error {
	switch f.Type {
	case Boolean:
		if v.Type() != protocol.TypeBool {
			return errors.New("expected true or false")
		}
	case Number, Integer:
		n, ok := v.Float()
		if !ok {
			return errors.New("expected a number")
		}
		if _, whole := v.Int(); f.Type == Integer && !whole {
			return errors.New("expected a whole number")
		}
		if f.Minimum.Exists() && n < f.minimum {
			return fmt.Errorf("expected at least %s", f.Minimum.Raw())
		}
		if f.Maximum.Exists() && n > f.maxim {
			return fmt.Errorf("expected at most %s", f.Maximum.Raw())
		}
	case Choice:
		if v.Type() != protocol.TypeString || !f.offers(v) {
			return errors.New("expected one of the options")
		}
	case Choices:
		seen := make(map[string]bool)
		for item := range v.Elements {
			if item.Type() != protocol.TypeString || !f.offers(item) || seen[item.Text()] {
				return errors.New("expected a list of the options")
			}
			seen[item.Text()] = true
		}
		if v.Type() != protocol.TypeArray || len(seen) < f.Least || f.Most > 0 && len(seen) > f.Most {
			return fmt.Errorf("expected %s options", f.bounds())
		}
	default:
		return f.checkText(v)
	}
	return nil
}

func (f *Field) offers(v protocol.Value) bool {
	return slices.ContainsFunc(f.Options, func(o Option) bool { return v.EqualText(o.Value) })
}

func (f *Field) bounds() string {
	if f.Most == 0 {
		return fmt.Sprintf("at least %d", f.Least)
	}
	return fmt.Sprintf("%d to %d", f.Least, f.Most)
}

func (f *Field) checkText(v protocol.Value) error {
	text := v.Text()
	switch n := utf8.RuneCountInString(text); {
	case v.Type() != protocol.TypeString:
		return errors.New("expected a text")
	case n < f.Least || f.Most > 0 && n > f.Most:
		return fmt.Errorf("expected %s characters", f.bounds())
	case f.Most == 0 && len(text) > maxText:
		return fmt.Errorf("expected at most %d bytes", maxText)
	case f.Pattern != nil && !f.Pattern.MatchString(text):
		return fmt.Errorf("expected a text that matches %s", f.Pattern)
	}
	var err error
	switch f.Format {
	case "email":
		var a *mail.Address
		a, err = mail.ParseAddress(text)
		if err == nil && a.Address != text {
			err = errors.New("a name")
		}
	case "uri":
		var u *url.URL
		u, err = url.Parse(text)
		if err == nil && u.Scheme == "" {
			err = errors.New("no scheme")
		}
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return fmt.Errorf("expected %s", formats[f.Format])
	}
	return nil
}

var formats = map[string]string{
	"email": "an address such as ana@example.org", "uri": "an address such as https://example.org",
	"date": "a date such as 2026-11-28", "date-time": "a time such as 2026-11-28T09:30:00Z",
}

// Hint describes the values that a field takes, for a person that writes one; "" for any
// text.
func (f *Field) Hint() string {
	switch f.Type {
	case Boolean:
		return "yes or no"
	case Choice:
		return "a number or a value of the list"
	case Choices:
		return "numbers or values of the list, separated by commas"
	case Number, Integer:
		hint := "a number"
		if f.Type == Integer {
			hint = "a whole number"
		}
		switch low, high := f.Minimum.Raw(), f.Maximum.Raw(); {
		case low != nil && high != nil:
			hint += fmt.Sprintf(" from %s to %s", low, high)
		case low != nil:
			hint += fmt.Sprintf(", at least %s", low)
		case high != nil:
			hint += fmt.Sprintf(", at most %s", high)
		}
		return hint
	}
	if f.Format != "" {
		return formats[f.Format]
	}
	if f.Least > 0 || f.Most > 0 {
		return f.bounds() + " characters"
	}
	return ""
}

// Read converts the text that a person wrote into the value of a field, as JSON.
func (f *Field) Read(text string) ([]byte, error) {
	var raw []byte
	text = strings.TrimSpace(text)
	switch f.Type {
	case Boolean:
		switch strings.ToLower(text) {
		case "y", "yes", "true":
			raw = []byte("true")
		case "n", "no", "false":
			raw = []byte("false")
		default:
			return nil, errors.New("expected yes or no")
		}
	case Number, Integer:
		raw = []byte(text)
	case Choices:
		raw = []byte{'['}
		for part := range strings.SplitSeq(text, ",") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			if len(raw) > 1 {
				raw = append(raw, ',')
			}
			raw = protocol.AppendString(raw, f.pick(part))
		}
		raw = append(raw, ']')
	case Choice:
		raw = protocol.AppendString(nil, f.pick(text))
	default:
		raw = protocol.AppendString(nil, text)
	}
	doc, err := protocol.ParseJSON(raw, 2)
	if err != nil {
		return nil, errors.New("expected a number")
	}
	return raw, f.check(doc.Root())
}

// pick returns the value of the option that a text names: by its value, its title or its
// position.
func (f *Field) pick(text string) string {
	for _, o := range f.Options {
		if o.Value == text {
			return o.Value
		}
	}
	for i, o := range f.Options {
		if strings.EqualFold(o.Title, text) || text == strconv.Itoa(i+1) {
			return o.Value
		}
	}
	return text
}

// Answers collects the values of a form, field by field.
type Answers struct {
	form    *Question
	next    int
	content []byte
}

// NewAnswers returns the empty answers to a question.
func NewAnswers(form *Question) *Answers { return &Answers{form: form, content: []byte{'{'}} }

// Next returns the field to fill in, nil if there is none left.
func (a *Answers) Next() *Field {
	if a.next >= len(a.form.Fields) {
		return nil
	}
	return &a.form.Fields[a.next]
}

// Put sets the next field to a text that a person wrote; an empty one is the default, or
// leaves an optional field out.
func (a *Answers) Put(text string) error {
	f := a.Next()
	raw := f.Default.Raw()
	switch {
	case strings.TrimSpace(text) != "":
		var err error
		raw, err = f.Read(text)
		if err != nil {
			return err
		}
	case raw == nil && f.Required:
		return errors.New("a value is required")
	}
	a.next++
	if raw == nil {
		return nil
	}
	if len(a.content) > 1 {
		a.content = append(a.content, ',')
	}
	a.content = append(append(protocol.AppendString(a.content, f.Name), ':'), raw...)
	return nil
}

// Content returns the values, or nil for a link.
func (a *Answers) Content() []byte {
	if a.form.URL != "" {
		return nil
	}
	return append(slices.Clone(a.content), '}')
}

// Reply returns the answer to a question that a host has passed on. The content belongs to
// an accepted form.
func Reply(question *protocol.Envelope, action string, content []byte) protocol.Envelope {
	id := question.ParsePayload().Get("id").Raw()
	if id == nil {
		id = protocol.AppendString(nil, string(question.ID))
	}
	payload := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	payload = protocol.AppendString(append(payload, `,"result":{"action":`...), action)
	if content != nil {
		payload = append(append(payload, `,"content":`...), content...)
	}
	return protocol.Envelope{
		Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{question.From}, Context: question.Context,
		Correlation: protocol.CorrelateTo(question.ID), Payload: append(payload, "}}"...),
	}
}

// Bounds of Calls.
const (
	maxCalls     = 1024 // without a response
	maxQuestions = 20   // about one call
)

// Calls are the requests of a participant that have no response yet, and that it has not
// canceled. Only the participant that handles one may ask about it.
type Calls struct {
	you  protocol.ParticipantID
	open []*openCall // oldest first
}

type openCall struct {
	protocol.Envelope
	questions int
}

// NewCalls returns the calls of a participant, without any.
func NewCalls(you protocol.ParticipantID) *Calls { return &Calls{you: you} }

// Apply takes an envelope of the log. It returns the question in it about an open call; nil: it
// has none.
func (c *Calls) Apply(e *protocol.Envelope) *Question {
	switch {
	case e.Kind == protocol.KindMCPResponse:
		c.open = slices.DeleteFunc(c.open, func(call *openCall) bool { return call.AddressedTo(e.From) && e.Correlation.Names(call.ID) })
	case isCancellation(e) && e.From == c.you:
		c.open = slices.DeleteFunc(c.open, func(call *openCall) bool { return e.Correlation.Names(call.ID) })
	case e.Kind == protocol.KindMCPRequest && e.From == c.you && e.ParsePayload().Get("id").Exists():
		if len(c.open) == maxCalls {
			c.open = slices.Delete(c.open, 0, 1)
		}
		c.open = append(c.open, &openCall{Envelope: protocol.Envelope{ID: e.ID, To: e.To}})
	case e.Kind == protocol.KindMCPRequest:
		i := slices.IndexFunc(c.open, func(call *openCall) bool { return call.AddressedTo(e.From) && e.Correlation.Names(call.ID) })
		if i < 0 || c.open[i].questions == maxQuestions {
			return nil
		}
		q := Asks(e, c.you)
		if q != nil {
			c.open[i].questions++
		}
		return q
	}
	return nil
}

// Asks reads the question in an mcp.request to one participant; nil: it is none. It does not
// check that the question is about a call.
func Asks(e *protocol.Envelope, you protocol.ParticipantID) *Question {
	payload := e.ParsePayload()
	if e.Kind != protocol.KindMCPRequest || e.From == you || len(e.To) != 1 || e.To[0] != you || !payload.Get("method").EqualText(Method) {
		return nil
	}
	q, err := Parse(payload.Get("params"))
	if err != nil {
		return nil
	}
	return q
}

// Over reports whether an envelope ends a question: as its answer, its withdrawal by the
// host, or the response to the call that it is about.
func Over(question, e *protocol.Envelope) bool {
	switch e.Kind {
	case protocol.KindMCPResponse:
		return question.AddressedTo(e.From) && e.Correlation.Names(question.ID) ||
			e.From == question.From && slices.ContainsFunc(question.Correlation.IDs, e.Correlation.Names)
	case protocol.KindMCPRequest:
		return e.From == question.From && e.Correlation.Names(question.ID) && isCancellation(e)
	}
	return false
}

func isCancellation(e *protocol.Envelope) bool {
	return e.Kind == protocol.KindMCPRequest && e.ParsePayload().Get("method").EqualText("notifications/cancelled")
}
