package config_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/meup-protocol/meup/internal/gateway/config"
)

var update = flag.Bool("update", false, "write the faults that are reported now into testdata")

var environment = map[string]string{
	"ALICE_TOKEN": "alice-0123456789abcdef", "BOB_TOKEN": "bob-0123456789abcdef", "SAME_TOKEN": "bob-0123456789abcdef",
	"SHORT_TOKEN": "abc", "EMPTY_TOKEN": "", "SPACED_TOKEN": "alice 0123456789abcdef",
	"DEPLOY_KEY": " deploy-0123456789abcdef\n", "SHORT_KEY": "abc",
	"CI_TOKEN": "ci-0123456789abcdef", "OPERATOR_TOKEN": "operator-0123456789abcdef",
}

var secrets = map[string]string{
	"alice.token": "alice-in-a-file-0123456789\n", "empty.token": "\n",
	"good.toml":   "[[rules]]\nid = \"ours\"\nregex = 'ours_[a-z]{8}'\n",
	"bad.toml":    "title = \"bad\"\n\n[[rules]]\nid = \"ours\"\nregex = '('\n\n[[rules]]\nid = \"files\"\nregex = 'x'\npath = 'y'\n",
	"warned.toml": "[extend]\nuseDefault = true\ndisabledRules = [\"jwt\", \"jtw\"]\n",
	"broken.toml": "[[rules]]\nid = ours\n",
}

func lookup(name string) (string, bool) {
	value, ok := environment[name]
	return value, ok
}

func readSecret(path string) ([]byte, error) {
	text, ok := secrets[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("no such file or directory")}
	}
	return []byte(text), nil
}

func parse(text string) (*config.Config, []config.Diagnostic) {
	return config.Parse("meup.yaml", []byte(text), lookup, readSecret)
}

func lines(faults []config.Diagnostic) string {
	var b strings.Builder
	for _, f := range faults {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

// mustParse parses a file that may have warnings but no errors.
func mustParse(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, faults := parse(text)
	if cfg == nil {
		t.Fatalf("faults:\n%s", lines(faults))
	}
	return cfg
}

func TestDiagnostics(t *testing.T) {
	const path = "testdata/faults.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	var files []txtar.File
	for _, f := range archive.Files {
		if name, isFaults := strings.CutSuffix(f.Name, ".faults"); isFaults {
			want[name] = string(f.Data)
		} else {
			files = append(files, f)
		}
	}
	archive.Files = nil
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			cfg, faults := parse(string(f.Data))
			got := lines(faults)
			archive.Files = append(archive.Files, f, txtar.File{Name: f.Name + ".faults", Data: []byte(got)})
			if (cfg == nil) != config.HasErrors(faults) {
				t.Errorf("config %v with these faults:\n%s", cfg != nil, got)
			}
			if strings.Contains(got, "supersecret") || strings.Contains(got, "super-secret") || strings.Contains(got, "0123456789") {
				t.Errorf("a diagnostic has a token:\n%s", got)
			}
			if !*update && got != want[f.Name] {
				t.Errorf("got\n%s\nwant\n%s", got, want[f.Name])
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
