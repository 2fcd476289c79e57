// Package config reads the gateway's configuration: a YAML file in which every
// mistake is reported with its line and column, and the environment and flags
// that go before it.
//
// A file goes three steps. It is read into a tree (read.go, build.go), with
// aliases followed and merges applied; the tree is decoded into the structs of
// shape.go, which are the file as it is written; and those are resolved into a
// [Config] (resolve*.go), where every default is filled in, every pattern
// compiled and every token replaced by its digest. Each step goes on behind a
// mistake, so that one run finds them all. The keys are documented in
// schemas/config.schema.json.
package config

import (
	"crypto/tls"
	"log/slog"
	"os"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/limit"
	"github.com/meup-protocol/meup/protocol"
)

// Config is a valid configuration, with every default filled in. It is
// read-only once it is made. Of tokens it holds the digests, and the texts only
// as secrets, which print nothing.
type Config struct {
	Listen        string // host:port of the gateway itself
	MetricsListen string // of /metrics; "": it is served with the rest
	PprofListen   string // of the profiler; "": off
	Data          string // the embedded log's folder; ":memory:" keeps nothing
	NATS          string // URLs, comma-separated; "": the log is embedded. May hold a password
	Replicas      int    // of the streams: 1, 3 or 5; 0: as the servers allow
	TLS           TLS
	Origins       []string // "https://ui.example.org", "https://*.example.org", or "*" for all
	Log           Log
	Retention     Retention
	Safety        Safety
	Limits        limit.Limits // the defaults for every participant
	Spaces        []Space      // in the order of the file

	IdleTimeout      time.Duration // without a pong; 0: never
	PingInterval     time.Duration // 0: no pings
	HandshakeTimeout time.Duration
	DrainTimeout     time.Duration
	Violations       Violations
	Ring             Ring
	MaxConnections   int // of the whole gateway; 0: no limit
	LoginFailures    LoginFailures
}

// TLS is a certificate and its key, and the files that they are from. It is the
// zero TLS when the gateway serves plain HTTP.
type TLS struct {
	Cert, Key   string
	Certificate *tls.Certificate
}

// Enabled reports whether the gateway serves TLS.
func (t TLS) Enabled() bool { return t.Certificate != nil }

// Log says what is logged, and how.
type Log struct {
	Level  slog.Level
	Format string // FormatText or FormatJSON
}

// The formats of a log.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// Retention says what of the log is kept; zero is no limit.
type Retention struct {
	Age   time.Duration
	Bytes int64
}

// Violations says after how many refusals within the window a connection is
// closed; Max 0: never.
type Violations struct {
	Max    int
	Window time.Duration
}

// Ring bounds what a space keeps in memory for those who follow it live.
type Ring struct {
	Entries int
	Bytes   int64
}

// LoginFailures is the bucket of refused tokens of one address: Burst at once,
// and another one each Refill.
type LoginFailures struct {
	Burst  int
	Refill time.Duration
}

// Space is a configured space, or a glob that makes spaces as they are joined.
type Space struct {
	Name     string // a space's name, possibly with stars
	Dialect  protocol.Dialect
	Everyone bool // visibility: everybody sees envelopes with a to
	// DecideExplicitly: only the capability decide lets a participant settle a
	// proposal; otherwise the right to make the proposed call does as well.
	DecideExplicitly bool
	Limits           limit.Limits // of those who have none of their own
	Participants     []Participant
	JWT              *JWT // nil: no issuer is trusted
}

// Participant is a configured participant of a space.
type Participant struct {
	ID           protocol.ParticipantID
	TokenHash    [32]byte // SHA-256 of the token
	Capabilities []*capability.Capability
	Limits       limit.Limits
}

// JWT lets in whoever has a token of an OpenID Connect issuer.
type JWT struct {
	Issuer           string
	Audience         string
	ParticipantClaim string
	Capabilities     []*capability.Capability
	Limits           limit.Limits
}

// Default returns what holds where a file says nothing.
func Default() *Config {
	return &Config{
		Listen:           "127.0.0.1:8080",
		Data:             "./meup-data",
		Log:              Log{slog.LevelInfo, FormatText},
		Safety:           defaultSafety(),
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

// Load reads a file of this machine, with the environment of this process. The
// Config is nil if one of the faults is an error.
func Load(path string) (*Config, []Fault) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, []Fault{{Source: path, Message: "cannot be read: " + reason(err)}}
	}
	return Parse(path, data, os.LookupEnv, os.ReadFile)
}

// Parse reads the text of a file. The name stands in the faults, and the files
// that the configuration names are sought in its folder; env and readFile look
// up what token_env, token_file and tls name. The Config is nil if one of the
// faults is an error.
func Parse(name string, data []byte,
	env func(string) (string, bool), readFile func(string) ([]byte, error),
) (*Config, []Fault) {
	r := &resolver{report: report{source: name, broken: make(map[place]bool)}, env: env, readFile: readFile}
	cfg := r.resolve(data)
	faults := r.sorted()
	if HasErrors(faults) {
		return nil, faults
	}
	return cfg, faults
}
