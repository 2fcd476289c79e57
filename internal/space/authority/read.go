package authority

import (
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/protocol"
)

// DirectoryChange is a decoded administrative envelope. Fields that its kind does not have
// are zero.
type DirectoryChange struct {
	Kind protocol.Kind
	ID   protocol.ID
	By   protocol.ParticipantID
	At   time.Time

	Space       string
	Participant protocol.ParticipantID
	// IfAbsent rejects the change if the space or the participant exists.
	IfAbsent     bool
	Settings     SpaceSettings
	Capabilities []*capability.Capability
	Limits       DirectoryLimits

	Hash    [32]byte
	Expires time.Time // of the issued token; zero: never
	// Rotates: the other tokens of the participant expire after Overlap.
	Rotates bool
	Overlap time.Duration
	TokenID protocol.ID // to revoke; "": all
}

// fields are the fields of each kind, the required ones with a star. Others are an
// error: a misspelled ttl_seconds must not make a token that never expires.
var fields = map[protocol.Kind][]string{
	protocol.KindAdminSpacePut:          {"*space", "if_absent", "dialect", "visibility", "decide", "limits"},
	protocol.KindAdminSpaceRemove:       {"*space"},
	protocol.KindAdminParticipantPut:    {"*space", "*participant_id", "if_absent", "capabilities", "limits"},
	protocol.KindAdminParticipantRemove: {"*space", "*participant_id"},
	protocol.KindAdminTokenIssue:        {"*space", "*participant_id", "*token_sha256", "ttl_seconds", "overlap_seconds"},
	protocol.KindAdminTokenRevoke:       {"*space", "*participant_id", "token_id", "all"},
}

// ReadDirectoryChange decodes an administrative envelope. The error has the code invalid_payload,
// with a JSON pointer from the payload.
func ReadDirectoryChange(e *protocol.Envelope, payload protocol.Value) (DirectoryChange, error) {
	r := reader{payload: payload}
	c := DirectoryChange{Kind: e.Kind, ID: e.ID, By: e.From, At: e.TS}
	r.names(fields[e.Kind])
	c.Space = r.text("space", protocol.ValidSpaceName, "the name of a space, without stars")
	c.Participant = protocol.ParticipantID(r.text("participant_id", validParticipant, "the id of a participant that does not begin with system:"))
	c.IfAbsent = r.flag("if_absent")
	c.Settings.Everyone = r.word("visibility", "addressed", "everyone")
	c.Settings.DecideExplicitly = r.word("decide", "callers", "explicit")
	isDialect := func(s string) bool { _, ok := protocol.ParseDialect(s); return ok }
	if name := r.text("dialect", isDialect, "one of "+strings.Join(protocol.DialectNames(), ", ")); name != "" {
		c.Settings.Dialect, _ = protocol.ParseDialect(name)
	}
	if payload.Get("capabilities").Exists() {
		list, err := capability.ReadList(payload, "capabilities")
		c.Capabilities = list
		r.keep(err)
	}
	c.Limits = r.limits()
	if e.Kind == protocol.KindAdminSpacePut {
		c.Settings.Limits, c.Limits = c.Limits, DirectoryLimits{}
	}
	sum := r.text("token_sha256", validDigest, "the SHA-256 of a token: 64 hex digits, not those of the empty text")
	_, _ = hex.Decode(c.Hash[:], []byte(sum)) // checked
	end, err := capability.ReadEnd(payload, e.TS)
	c.Expires = end
	r.keep(err)
	overlap := payload.Get("overlap_seconds")
	n, ok := overlap.Float()
	switch {
	case !overlap.Exists():
	case !ok || n < 0 || n > capability.MaxTTL.Seconds():
		r.keep(refuse("/overlap_seconds", "it must be a number of seconds from 0 to %.0f", capability.MaxTTL.Seconds()))
	default:
		c.Rotates, c.Overlap = true, time.Duration(n*float64(time.Second))
	}
	r.token(&c)
	return c, r.err
}

func validParticipant(s string) bool {
	return protocol.ValidParticipantID(s) && !protocol.ParticipantID(s).IsReserved()
}

// emptyDigest is the SHA-256 of the empty text.
const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func validDigest(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 32 && !strings.EqualFold(s, emptyDigest)
}

// reader reads the fields of a payload. After an error it does nothing more.
type reader struct {
	payload protocol.Value
	err     error
}

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) fail(path, expected string) { r.keep(refuse(path, "it must be %s", expected)) }

// names checks that the payload has the required fields, and no others than these.
func (r *reader) names(list []string) {
	if r.payload.Type() != protocol.TypeObject || list == nil {
		r.fail("", "the payload of an administrative kind")
		return
	}
	for k := range r.payload.Members {
		if name := k.Text(); !slices.Contains(list, name) && !slices.Contains(list, "*"+name) {
			r.keep(refuse("/"+protocol.EscapePointer(name), "unknown field; the fields are %s", strings.ReplaceAll(strings.Join(list, ", "), "*", "")))
		}
	}
	for _, name := range list {
		if name, required := strings.CutPrefix(name, "*"); required && !r.payload.Get(name).Exists() {
			r.keep(refuse("/"+name, "the field is missing"))
		}
	}
}

// text reads a field that is a valid text; "" if there is none.
func (r *reader) text(name string, valid func(string) bool, expected string) string {
	v := r.payload.Get(name)
	if !v.Exists() {
		return ""
	}
	if v.Type() != protocol.TypeString || !valid(v.Text()) {
		r.fail("/"+name, expected)
		return ""
	}
	return v.Text()
}

func (r *reader) flag(name string) bool {
	v := r.payload.Get(name)
	if v.Exists() && v.Type() != protocol.TypeBool {
		r.fail("/"+name, "true or false")
	}
	return v.Bool()
}

// word reads a field that is one of two words, and reports whether it is the second
// one; the first is the default.
func (r *reader) word(name, first, second string) bool {
	return r.text(name, func(s string) bool { return s == first || s == second }, first+" or "+second) == second
}

// maxLimit is the largest limit, as in the configuration.
const maxLimit = math.MaxInt32

func (r *reader) limits() (l DirectoryLimits) {
	v := r.payload.Get("limits")
	if !v.Exists() {
		return l
	}
	if v.Type() != protocol.TypeObject {
		r.fail("/limits", "an object")
		return l
	}
	for k, x := range v.Members {
		switch name := k.Text(); name {
		case "rate":
			n, ok := x.Float()
			if !ok || n < 0 || n > maxLimit {
				r.fail("/limits/rate", "a number from 0 to 2147483647")
			}
			l.Rate = &n
		case "burst":
			l.Burst = count[int](r, x, name, 0, maxLimit)
		case "bytes_per_second":
			l.BytesPerSecond = count[int64](r, x, name, 0, math.MaxInt64)
		case "message_bytes":
			l.MessageBytes = count[int64](r, x, name, 0, math.MaxInt64)
		case "connections":
			l.Connections = count[int](r, x, name, 0, maxLimit)
		case "open_contexts":
			l.OpenContexts = count[int](r, x, name, 0, maxLimit)
		case "context_depth":
			l.ContextDepth = count[int](r, x, name, 1, 128)
		default:
			r.keep(refuse("/limits/"+protocol.EscapePointer(name), "unknown limit; the limits are rate, burst, bytes_per_second, message_bytes, connections, open_contexts, context_depth"))
		}
	}
	return l
}

func count[T int | int64](r *reader, v protocol.Value, name string, least, most int64) *T {
	n, ok := v.Int()
	if !ok || n < least || n > most {
		r.keep(refuse("/limits/"+name, "it must be a whole number from %d to %d", least, most))
	}
	out := T(n)
	return &out
}

// token reads which tokens are revoked: one, or all.
func (r *reader) token(c *DirectoryChange) {
	c.TokenID = protocol.ID(r.text("token_id", protocol.ValidID, "the id of a token"))
	all := r.flag("all")
	if c.Kind == protocol.KindAdminTokenRevoke && (c.TokenID == "") != all {
		r.keep(refuse("/token_id", "name either a token_id, or all: true"))
	}
}
