package anthropic

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

var update = flag.Bool("update", false, "write what is made now into testdata")

func TestMain(m *testing.M) { testkit.Main(m) }

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// golden compares v, as indented JSON, with a file.
func golden(t *testing.T, name string, v any) {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", name), buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := testdata(t, name); !bytes.Equal(buf.Bytes(), want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, buf.Bytes(), want)
	}
}
