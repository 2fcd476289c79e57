package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogFaults checks that a fault that does not stop the gateway is not
// logged as an error.
func TestLogFaults(t *testing.T) {
	for text, want := range map[string]string{
		"spaces: {lab: {}}\n": "level=WARN msg=\"configuration warning\"",
		"spacex: {}\n":        "level=ERROR msg=\"configuration fault\"",
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		_, err := serveFlags{config: file}.load(logFaults(slog.New(slog.NewTextHandler(&log, nil))))
		got := log.String()
		if !strings.Contains(got, want) || strings.Count(got, "level=") != 1 || (err != nil) != strings.Contains(want, "ERROR") {
			t.Errorf("%s: %v\n%s", text, err, got)
		}
	}
}

// TestReload_Tokens checks that a reload reads a changed token file, and that
// the error for a variable that the process lacks mentions token_file.
func TestReload_Tokens(t *testing.T) {
	const first, second = "alice-has-this-token", "alice-has-another-token"
	dir := t.TempDir()
	file, tokens := filepath.Join(dir, "meup.yaml"), filepath.Join(dir, "alice.token")
	const config = "data: ':memory:'\nspaces:\n  lab:\n    participants:\n      alice: {token_file: alice.token, capabilities: [chat]}\n"
	writeFile(t, file, config)
	writeFile(t, tokens, first+"\n")
	s := startServeFile(t, file, nil)
	s.Wait(t, "msg=serving address=")
	expect := func(token string, status int) {
		t.Helper()
		if resp, body := s.getAs(token, "/api/spaces/lab/envelopes"); resp.StatusCode != status {
			t.Errorf("%s: %d %s", token, resp.StatusCode, body)
		}
	}
	expect(first, http.StatusOK)

	writeFile(t, tokens, second+"\n")
	hangUp(t)
	s.Wait(t, "configuration reloaded")
	expect(first, http.StatusUnauthorized)
	expect(second, http.StatusOK)

	writeFile(t, file, config+"      bob: {token_env: MEUP_TEST_UNSET_TOKEN, capabilities: [chat]}\n")
	hangUp(t)
	if line := s.Wait(t, `msg="configuration fault"`); !strings.Contains(line, "MEUP_TEST_UNSET_TOKEN") || !strings.Contains(line, "use token_file, which a reload reads again") {
		t.Errorf("reported: %s", line)
	}
	s.Wait(t, "configuration not reloaded")
	expect(second, http.StatusOK)
	if err := s.end(); err != nil {
		t.Error(err)
	}
}
