package reasoner

import (
	"encoding/json"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/meup-protocol/meup/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// buffer is a log for concurrent writers.
type buffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// checkSchema validates a response against its schema.
func checkSchema(t testing.TB, schema string, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := schemas.Document("reasoner/"+schema, raw); err != nil {
		t.Errorf("%s: %v", raw, err)
	}
}
