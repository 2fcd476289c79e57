// Package config reads the gateway's configuration: a YAML file, overridden by
// the environment and flags. It reports every error in the file with its line
// and column.
//
// A file is parsed into a tree of nodes with their places (parse.go, tree.go).
// The published schema, schemas/config.schema.json, decides which keys and
// types are valid (validate.go). The values are decoded into the tagged fields
// of [Config] over the defaults (decode.go), and checked for what a schema
// cannot express (resolve.go, spaces.go, deciders.go, safety.go). Each step continues after
// an error and skips invalid values, so that one run finds all errors.
package config

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"log/slog"
	"os"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

// Config is a valid configuration with all defaults filled in. It is read-only
// after its creation. It contains the digests of tokens, and their texts only
// as secrets, which print nothing.
type Config struct {
	Listen        string // host:port of the gateway itself
	MetricsListen string // of /metrics; "": it is served with the rest
	PprofListen   string // of the profiler; "": disabled
	Data          string // the embedded log's folder; ":memory:" selects a log in memory
	NATS          string // URLs, comma-separated; "": embedded log. May contain a password
	Replicas      int    // of the streams: 1, 3 or 5; 0: 3, or fewer if there are fewer servers
	Log           Log
	TLS           TLS          `yaml:"tls"`
	Origins       []string     `yaml:"origins"`  // "https://ui.example.org", "https://*.example.org", or "*" for all
	Adapters      []string     `yaml:"adapters"` // AdapterMCP and others
	Retention     Retention    `yaml:"retention"`
	Safety        Safety       `yaml:"safety"`
	Limits        limit.Limits `yaml:"limits"` // the defaults for every participant
	// Administration.Space is the administrative space, whose log has further
	// spaces, participants and tokens; "": there is none.
	Administration struct {
		Space string `yaml:"space"`
	} `yaml:"administration"`
	Spaces []Space // in the order of the file

	IdleTimeout      time.Duration `yaml:"idle_timeout"`  // without a pong; 0: never
	PingInterval     time.Duration `yaml:"ping_interval"` // 0: no pings
	HandshakeTimeout time.Duration `yaml:"handshake_timeout"`
	DrainTimeout     time.Duration `yaml:"drain_timeout"`
	Violations       Violations    `yaml:"violations"`
	Ring             Ring          `yaml:"ring"`
	MaxConnections   int           `yaml:"max_connections"` // of the gateway; 0: no limit
	LoginFailures    LoginFailures `yaml:"login_failures"`
}

// The adapters: the protocols of others that a gateway serves. Each is a package below
// internal/gateway, with this name unless another one is given. They are also in Default,
// schemas/config.schema.json and examples/config/full.yaml; operations and parameters of apidoc,
// with cases in parameters_test.go; cases in adapters_test.go, foreignjson_test.go and
// elements_test.go of package gateway, and tests like agui_test.go with a client of the protocol
// (testdata/agui.mjs, from e2e/mcp/package.json); cmd/meup-gateway/testdata/script/check.txtar;
// docs/adr/0046; a page like docs/agui.md, docs/protocol/8-adapters.md, docs/protocol.md and
// docs/README.md.
const (
	AdapterMCP    = "mcp"    // the Model Context Protocol: mcpserver
	AdapterHooks  = "hooks"  // hooks of coding agents
	AdapterAGUI   = "agui"   // AG-UI, for front ends
	AdapterA2A    = "a2a"    // A2A, for agents
	AdapterOpenAI = "openai" // the OpenAI API: openaiapi
	AdapterOTLP   = "otlp"   // OTLP, for traces and metrics: otlpreceiver
)

// TLS is a certificate, its key and their files. The zero value selects plain
// HTTP.
type TLS struct {
	Cert        string `yaml:"cert"`
	Key         string `yaml:"key"`
	Certificate *tls.Certificate
}

// Enabled reports whether the gateway serves TLS.
func (t TLS) Enabled() bool { return t.Certificate != nil }

// Log configures the log's level and format.
type Log struct {
	Level  slog.Level
	Format string // formatText or FormatJSON
}

// The formats of a log.
const (
	formatText = "text"
	FormatJSON = "json"
)

// Retention bounds the log; zero: no limit.
type Retention struct {
	Age   time.Duration `yaml:"age"`
	Bytes int64         `yaml:"bytes"`
}

// Violations bounds the rejected envelopes of a connection: Max in Window close
// it. Max 0: no limit.
type Violations struct {
	Max    int           `yaml:"max"`
	Window time.Duration `yaml:"window"`
}

// Ring bounds the memory of a space for the latest entries.
type Ring struct {
	Entries int   `yaml:"entries"`
	Bytes   int64 `yaml:"bytes"`
}

// LoginFailures is the bucket for rejected tokens per address: Burst at once,
// and one more each Refill.
type LoginFailures struct {
	Burst  int           `yaml:"burst"`
	Refill time.Duration `yaml:"refill"`
}

// Space is a configured space, or a glob for spaces that are created when they
// are joined.
type Space struct {
	Name     string // a space's name, possibly with stars
	Dialect  protocol.Dialect
	Everyone bool // visibility: all participants see envelopes with a to
	// DecideExplicitly: only the capability decide lets a participant decide on
	// a proposal; otherwise the right to make the proposed call suffices.
	DecideExplicitly bool
	Deciders         authority.Deciders
	Limits           limit.Limits `yaml:"limits"` // of participants without limits of their own
	Budget           Budget       `yaml:"budget"` // of all participants together
	Loops            Loops        `yaml:"loops"`
	Participants     []Participant
	JWT              *JWT // nil: no trusted issuer
}

// Participant is a configured participant of a space.
type Participant struct {
	ID           protocol.ParticipantID
	TokenHash    [32]byte                 // SHA-256 of the token; zero if it is not from the file
	Tokens       []Token                  // from the administrative space
	Description  string                   `yaml:"description"`
	Root         string                   `yaml:"root"`
	Capabilities []*capability.Capability `yaml:"capabilities"`
	Limits       limit.Limits             `yaml:"limits"`
	Budget       Budget                   `yaml:"budget"`
}

// Budget is what may be used in a day by UTC before calls have to be proposed; zeros: no limit.
type Budget struct {
	Tokens   int     `yaml:"tokens"`
	Cost     float64 `yaml:"cost"`
	Currency string  `yaml:"currency"` // of Cost
	Calls    int     `yaml:"calls"`
	Per      string  `yaml:"per"` // day
}

// Loops is from when on calls have to be proposed because they seem to be a loop; zeros: never.
type Loops struct {
	Identical int `yaml:"identical"` // calls without progress
	Hops      int `yaml:"hops"`      // between participants, without a person
}

// Token is a token of a participant from the administrative space.
type Token struct {
	Hash    [32]byte  // SHA-256
	Expires time.Time // zero: never
}

// JWT admits guests with a token of an OpenID Connect issuer.
type JWT struct {
	Issuer           string                   `yaml:"issuer"`
	Audience         string                   `yaml:"audience"`
	ParticipantClaim string                   `yaml:"participant_claim"`
	Capabilities     []*capability.Capability `yaml:"capabilities"`
	Limits           limit.Limits             `yaml:"limits"`
	Budget           Budget                   `yaml:"budget"` // of each
}

// Default returns the values for an empty file.
func Default() *Config {
	reasoning, err := protocol.ParseKindPattern("reasoning/*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	policy := make(map[string]string)
	for severity, action := range safety.DefaultPolicy() {
		policy[severity] = string(action)
	}
	return &Config{
		Listen:           "127.0.0.1:8080",
		Data:             "./meup-data",
		Adapters:         []string{AdapterMCP, AdapterHooks, AdapterAGUI, AdapterA2A, AdapterOpenAI, AdapterOTLP},
		Log:              Log{slog.LevelInfo, formatText},
		Safety:           Safety{Kinds: []protocol.KindPattern{reasoning}, Action: ActionMask, MaxText: safety.DefaultMaxText, Policy: policy},
		Limits:           limit.Defaults(),
		IdleTimeout:      2 * time.Minute,
		PingInterval:     30 * time.Second,
		HandshakeTimeout: 10 * time.Second,
		DrainTimeout:     8 * time.Second,
		Violations:       Violations{1000, 10 * time.Second},
		Ring:             Ring{4096, 8 << 20},
		LoginFailures:    LoginFailures{50, time.Second},
	}
}

// Load reads a local file, with the environment of this process. The Config is
// nil if one of the diagnostics is an error.
func Load(path string) (*Config, []Diagnostic) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, []Diagnostic{{Source: path, Message: "cannot be read: " + reason(err)}}
	}
	return Parse(path, data, os.LookupEnv, os.ReadFile)
}

// Parse reads the text of a file. Diagnostics contain name, and relative paths in
// the configuration are resolved in its folder. env and readFile look up the
// values of token_env, token_file and tls. The Config is nil if one of the
// diagnostics is an error.
func Parse(name string, data []byte,
	env func(string) (string, bool), readFile func(string) ([]byte, error),
) (*Config, []Diagnostic) {
	return parse(name, data, &resolver{env: env, readFile: readFile})
}

// Inspect reads the text of a file and nothing that the text names: each variable and each
// file with a token has some token, there is no certificate, and safety rules in files are
// left out.
func Inspect(name string, data []byte) (*Config, []Diagnostic) {
	return parse(name, data, &resolver{env: AnyEnv, alone: true})
}

// AnyEnv stands for variables of tokens that are not set.
func AnyEnv(name string) (string, bool) { return someToken(name), true }

// someToken returns a token that is the same for the same name.
func someToken(name string) string {
	unused := sha256.Sum256([]byte(name))
	return hex.EncodeToString(unused[:])
}

func parse(name string, data []byte, r *resolver) (*Config, []Diagnostic) {
	r.source, r.cfg = name, Default()
	if root := r.parse(data); root != nil {
		r.validate(root)
		r.resolve(root)
	}
	faults := r.sorted()
	if HasErrors(faults) {
		return nil, faults
	}
	return r.cfg, faults
}
