package protocol

// Dialect is a spelling of the same envelopes. Section 9.
type Dialect uint8

// The dialects; the zero Dialect is the default.
const (
	DialectMEUP01 Dialect = iota // meup/v0.1
	DialectMEUP02                // meup/v0.2
	DialectMEW04                 // mew/v0.4

	dialects // how many there are
)

// DialectCount is the number of dialects; a Dialect is below it.
const DialectCount = int(dialects)

// ParseDialect reads a dialect's name. "mew/v0.3" is spoken as mew/v0.4.
func ParseDialect(s string) (Dialect, bool) {
	switch s {
	case "meup/v0.1":
		return DialectMEUP01, true
	case "meup/v0.2":
		return DialectMEUP02, true
	case "mew/v0.4", "mew/v0.3":
		return DialectMEW04, true
	}
	return 0, false
}

// DialectNames lists the dialects as a client names them.
func DialectNames() []string {
	return []string{DialectMEUP01.String(), DialectMEUP02.String(), DialectMEW04.String()}
}

// String returns the name that stands in an envelope's protocol field.
func (d Dialect) String() string {
	return [...]string{"meup/v0.1", "meup/v0.2", "mew/v0.4"}[d]
}

// Subprotocol returns the WebSocket subprotocol that a browser offers for the
// dialect.
func (d Dialect) Subprotocol() string {
	return [...]string{"meup.v0.1", "meup.v0.2", "mew.v0.4"}[d]
}

// SpellKind writes a kind in the dialect's way.
func (d Dialect) SpellKind(k Kind) string {
	if d == DialectMEUP01 {
		return string(k)
	}
	return k.Slash()
}

// correlationField is what the dialect calls the correlation.
func (d Dialect) correlationField() string {
	if d == DialectMEUP01 {
		return "correlationId"
	}
	return "correlation_id"
}

// chatField is where the dialect keeps a chat's text; the canonical payload
// has it in chatText.
func (d Dialect) chatField() string {
	if d == DialectMEUP01 {
		return chatText
	}
	return chatTextAlias
}

const (
	chatText      = "message"
	chatTextAlias = "text"
)
