package config

// The types below mirror the file: one struct per mapping, one field per key.
// The decoder walks them by reflection, and a test compares them to the
// published schema, so that a key is defined in exactly one place.

// fileShape is the whole file.
type fileShape struct {
	place
	Listen        textValue              `yaml:"listen"`
	MetricsListen textValue              `yaml:"metrics_listen"`
	PprofListen   textValue              `yaml:"pprof_listen"`
	Data          textValue              `yaml:"data"`
	NATS          textValue              `yaml:"nats"`
	Replicas      wholeValue             `yaml:"replicas"`
	TLS           tlsShape               `yaml:"tls"`
	Origins       listValue[textValue]   `yaml:"origins"`
	Log           logShape               `yaml:"log"`
	Retention     retentionShape         `yaml:"retention"`
	Safety        safetyShape            `yaml:"safety"`
	Limits        limitsShape            `yaml:"limits"`
	Spaces        tableValue[spaceShape] `yaml:"spaces"`
	IdleTimeout   durationValue          `yaml:"idle_timeout"`
	PingInterval  durationValue          `yaml:"ping_interval"`
	Handshake     durationValue          `yaml:"handshake_timeout"`
	DrainTimeout  durationValue          `yaml:"drain_timeout"`
	Violations    violationsShape        `yaml:"violations"`
	Ring          ringShape              `yaml:"ring"`
	MaxConns      wholeValue             `yaml:"max_connections"`
	LoginFailures loginFailuresShape     `yaml:"login_failures"`
}

type tlsShape struct {
	place
	Cert textValue `yaml:"cert"`
	Key  textValue `yaml:"key"`
}

type logShape struct {
	place
	Level  textValue `yaml:"level"`
	Format textValue `yaml:"format"`
}

type retentionShape struct {
	place
	Age   durationValue `yaml:"age"`
	Bytes sizeValue     `yaml:"bytes"`
}

type safetyShape struct {
	place
	Kinds     listValue[textValue]  `yaml:"kinds"`
	Action    textValue             `yaml:"action"`
	Actions   tableValue[textValue] `yaml:"actions"`
	Rules     listValue[textValue]  `yaml:"rules"`
	SecretEnv listValue[textValue]  `yaml:"secret_env"`
	Policy    policyShape           `yaml:"policy"`
	MaxText   sizeValue             `yaml:"max_text"`
}

type policyShape struct {
	place
	Low      textValue `yaml:"low"`
	Medium   textValue `yaml:"medium"`
	High     textValue `yaml:"high"`
	Critical textValue `yaml:"critical"`
}

type violationsShape struct {
	place
	Max    wholeValue    `yaml:"max"`
	Window durationValue `yaml:"window"`
}

type ringShape struct {
	place
	Entries wholeValue `yaml:"entries"`
	Bytes   sizeValue  `yaml:"bytes"`
}

type loginFailuresShape struct {
	place
	Burst  wholeValue    `yaml:"burst"`
	Refill durationValue `yaml:"refill"`
}

type limitsShape struct {
	place
	Rate           numberValue               `yaml:"rate"`
	Burst          wholeValue                `yaml:"burst"`
	BytesPerSecond sizeValue                 `yaml:"bytes_per_second"`
	MessageBytes   sizeValue                 `yaml:"message_bytes"`
	Connections    wholeValue                `yaml:"connections"`
	OpenContexts   wholeValue                `yaml:"open_contexts"`
	ContextDepth   wholeValue                `yaml:"context_depth"`
	Kinds          listValue[kindLimitShape] `yaml:"kinds"`
}

type kindLimitShape struct {
	place
	Kind  textValue   `yaml:"kind"`
	Rate  numberValue `yaml:"rate"`
	Burst wholeValue  `yaml:"burst"`
}

type spaceShape struct {
	place
	Dialect      textValue                    `yaml:"dialect"`
	Visibility   textValue                    `yaml:"visibility"`
	Proposals    proposalsShape               `yaml:"proposals"`
	Limits       limitsShape                  `yaml:"limits"`
	Participants tableValue[participantShape] `yaml:"participants"`
	JWT          jwtShape                     `yaml:"jwt"`
}

type proposalsShape struct {
	place
	Decide textValue `yaml:"decide"`
}

type participantShape struct {
	place
	Token        textValue           `yaml:"token"`
	TokenEnv     textValue           `yaml:"token_env"`
	TokenFile    textValue           `yaml:"token_file"`
	TokenSHA256  textValue           `yaml:"token_sha256"`
	Capabilities listValue[rawValue] `yaml:"capabilities"`
	Limits       limitsShape         `yaml:"limits"`
}

type jwtShape struct {
	place
	Issuer           textValue           `yaml:"issuer"`
	Audience         textValue           `yaml:"audience"`
	ParticipantClaim textValue           `yaml:"participant_claim"`
	Capabilities     listValue[rawValue] `yaml:"capabilities"`
	Limits           limitsShape         `yaml:"limits"`
}
