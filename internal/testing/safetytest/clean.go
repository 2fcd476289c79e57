package safetytest

import (
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
)

// kind is a sort of clean text: its subject and formats.
type kind struct {
	name    string
	formats []string
	key     string // texts are the values of such a member
}

// Clean yields n texts without a secret, of every kind in turn. Most have one
// to three parts of the same kind.
func Clean(seed uint64, n int) iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		r := rand.New(rand.NewPCG(seed, 2))
		all := slices.Concat(programs, machines, people, members())
		for i := range n {
			k := all[i%len(all)]
			parts := []string{Write(r, k.formats[r.IntN(len(k.formats))])}
			for range r.IntN(3) {
				if k.key == "" {
					parts = append(parts, Write(r, k.formats[r.IntN(len(k.formats))]))
				}
			}
			text := strings.Join(parts, "\n")
			if k.key == "" && r.IntN(6) == 0 {
				text = unescaper.Replace(text) // as in a JSON text
			}
			if !yield(Sample{Kind: k.name, Key: Write(r, k.key), Text: text}) {
				return
			}
		}
	}
}

// members are values under keys that have the words of secrets in them.
func members() []kind {
	var list []kind
	for line := range strings.Lines(values) {
		key, format, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok {
			list = append(list, kind{name: "member " + key, key: key, formats: strings.Split(format, " ¦ ")})
		}
	}
	return list
}

// values are members that hold no secret: the key, then values.
const values = `
token_count {digit:2-7} ¦ {digit:3} of {digit:4}
max_tokens {digit:3-6}
tokenizer cl100k_base ¦ gpt2-large-{digit:4} ¦ {noun}-tokenizer-v{digit:1}.{digit:2}
token_type Bearer ¦ bearer ¦ urn:ietf:params:oauth:token-type:access_token
next_page_token {b64:44} ¦ {uuid} ¦ {word:60}
csrf_token_header X-CSRF-Token
token_endpoint https://{host}/oauth2/v{digit:1}/token ¦ https://{host}/realms/{noun}/protocol/openid-connect/token
api_key_id {uuid} ¦ {digit:9}
api_key_name {noun}-{verb}-prod ¦ {noun} key of {person}
secret_name {noun}/{noun}/credentials ¦ prod-{noun}-tls-{digit:4} ¦ projects/{digit:12}/secrets/{noun}/versions/{digit:1}
secretArn arn:aws:secretsmanager:eu-central-1:{digit:12}:secret:{noun}-{alnum:6}
secret_ref vault:{noun}/{noun}#{noun} ¦ {noun}-secret
password_policy at least {digit:2} characters, one digit ¦ min_length={digit:2}
password_hash_algorithm argon2id ¦ bcrypt-{digit:2} ¦ pbkdf2-sha{digit:3}
password_changed_at {time}
credential_type service-account ¦ oauth2-client-v{digit:1}
partition_key user#{digit:8} ¦ {noun}#{uuid}
public_key {b64:44} ¦ ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{alnum:43} {person}@{host}
cache_key {sha256} ¦ {pick:page|report|session}:{hex:32} ¦ v1/{noun}/{sha1}
idempotency_key {uuid} ¦ {ulid}
key_id {uuid} ¦ {hex:8} ¦ alias/{noun}-{noun}
id {uuid} ¦ {ulid} ¦ {hex:24} ¦ evt_{alnum:24} ¦ msg_{alnum:24} ¦ call_{alnum:24}
sha {sha1} ¦ {sha256}
content The {noun} was {verb}ed by {person}; see {path}:{digit:3}.
message I will {verb} the {noun} first and then {verb} the {noun}, because the {noun} of {person} is older.
`
