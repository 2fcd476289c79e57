package safety

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/safetytest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func random(r *rand.Rand, class string, n int) string { return safetytest.Random(r, class, n) }

const prose = "The deployment changes how sessions are validated, so I looked at the test report first. Two checks fail in the same module, " +
	"and both have to do with expiry; the rollback plan does not mention them. Before I recommend anything I want to compare the list of " +
	"changed components with what the load balancer sees in production, because a stale cache could explain the second failure. "

// snippet returns so many bytes of texts of these formats.
func snippet(b testing.TB, size int, formats ...string) []byte {
	b.Helper()
	r := rand.New(rand.NewPCG(11, 12))
	var s strings.Builder
	for s.Len() < size {
		s.WriteString(safetytest.Write(r, formats[r.IntN(len(formats))]) + "\n")
	}
	return []byte(s.String()[:size])
}

// technical are texts with many prefixes of rules.
var technical = []string{
	"func (k *Key) Secret() string { return k.secret }\n\nvar errToken = errors.New(\"token expired\") // see RFC {digit:4}",
	"The token limit is {digit:5} tokens; the password must have {digit:1} characters and the api key is read from the vault.",
	"I think the access key was rotated in {digit:4}. The secret: nobody knows who asked for it. Password reset is pending for {digit:2} users.",
	"commit {hex:40}\nAuthor: Bob <bob@example.org>\nDate: 2026-11-01\n\n    gateway: refuse tokens without a space ({hex:7}..{hex:9})",
	"curl -H 'Authorization: Bearer $TOKEN' -H 'X-Api-Key: {{API_KEY}}' https://api.example.org/v1/items/{digit:6}?page={digit:2}",
}
