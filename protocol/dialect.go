package protocol

// Dialect is a spelling of the same envelopes. Section 9.
type Dialect uint8

// The dialects; the zero Dialect is the default.
const (
	DialectMEUP01 Dialect = iota // meup/v0.1
	DialectMEUP02                // meup/v0.2
	DialectMEW04                 // mew/v0.4

	dialects // the number of dialects
)

// DialectCount is the number of dialects; every Dialect is less.
const DialectCount = int(dialects)

// ParseDialect parses a dialect's name. "mew/v0.3" is served as mew/v0.4.
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

// DialectNames lists the dialects as clients name them.
func DialectNames() []string {
	return []string{DialectMEUP01.String(), DialectMEUP02.String(), DialectMEW04.String()}
}

// String returns the value of an envelope's protocol field.
func (d Dialect) String() string {
	return [...]string{"meup/v0.1", "meup/v0.2", "mew/v0.4"}[d]
}

// Subprotocol returns the WebSocket subprotocol that a browser offers for the
// dialect.
func (d Dialect) Subprotocol() string {
	return [...]string{"meup.v0.1", "meup.v0.2", "mew.v0.4"}[d]
}

// SpellKind spells a kind in the dialect.
func (d Dialect) SpellKind(k Kind) string {
	if d == DialectMEUP01 {
		return string(k)
	}
	return k.Slash()
}

// correlationField is the dialect's name of the correlation.
func (d Dialect) correlationField() string {
	if d == DialectMEUP01 {
		return "correlationId"
	}
	return "correlation_id"
}

// chatField is the dialect's field for a chat's text; the canonical payload
// uses chatText.
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
