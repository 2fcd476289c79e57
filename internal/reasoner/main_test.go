package reasoner

import (
	"encoding/json"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/schemas"
)

func TestMain(m *testing.M) { testkit.Main(m) }

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
