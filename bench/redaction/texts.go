package main

import (
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/meup-protocol/meup/internal/testing/safetytest"
)

// text is an input for the time measurements.
type text struct {
	name string
	body string
}

const prose = "The deployment changes how sessions are validated, so I looked at the test report first. Two checks fail in the same module, " +
	"and both have to do with expiry; the rollback plan does not mention them. Before I recommend anything I want to compare the list of " +
	"changed components with what the load balancer sees in production, because a stale cache could explain the second failure. "

const words = "I think the access key was rotated last week, and the token limit is {digit:5} tokens. The password must have {digit:2} characters, " +
	"the api key is read from the vault, and the secret is that nobody asked for it. Ask the risk desk about the task, and {person} about the {noun}. "

var code = []string{
	"const token = await getAccessToken(session.id);\nif (!token) throw new Error(`no token for {uuid}`);\nconst apiKey = process.env.{NOUN}_API_KEY;\n",
	"password = getpass.getpass('Password: ')\nsecret = os.environ[\"CLIENT_SECRET\"]\ntoken: str = field(default_factory=lambda: secrets.token_hex({digit:2}))\n",
	"func (k *Key) Secret() string { return k.secret }\n\nvar errToken = errors.New(\"token expired\") // see {sha1}\n",
	"SELECT token, secret FROM credentials WHERE key = $1 AND password_hash IS NOT NULL LIMIT {digit:2};\n",
	"{\"public_key\":\"{b64:44}\",\"primary_key\":\"{uuid}\",\"cache_key\":\"{hex:32}\",\"max_tokens\":{digit:4}}\n",
	"headers: { Authorization: `Bearer ${token}`, 'X-Api-Key': apiKey, 'Content-Type': 'application/json' },\n",
}

const leak = " The key was ghp_{alnum:36}, it is revoked. "

// texts returns six texts: short and long, without a keyword of a rule, with
// many keywords, and with a secret. They are the same in every run.
func texts() []text {
	r := rand.New(rand.NewPCG(3, 4))
	return []text{
		{"300 B clean prose", fill(r, 300, prose)},
		{"300 B trigger words", fill(r, 300, words)},
		{"300 B with a secret", fill(r, 220, prose) + safetytest.Write(r, leak)},
		{"4 KiB clean prose", fill(r, 4096, prose)},
		{"4 KiB code, trigger words", fill(r, 4096, code...)},
		{"4 KiB with a secret", fill(r, 4016, prose) + safetytest.Write(r, leak)},
	}
}

// fill writes formats in turn until a text has its size.
func fill(r *rand.Rand, size int, formats ...string) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(safetytest.Write(r, formats[i%len(formats)]))
	}
	return b.String()[:size]
}

// thought returns the JSON of a payload.
func thought(text string) []byte {
	quoted, err := json.Marshal(map[string]string{"message": text})
	if err != nil {
		panic(err) // a map of strings
	}
	return quoted
}
