package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/archive"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// TestExport_HiddenEntries checks that internal entries of gateways are in
// no format.
func TestExport_HiddenEntries(t *testing.T) {
	dir := t.TempDir()
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	chat := func(id protocol.ID, text string) protocol.Envelope {
		return protocol.Envelope{
			ID: id, TS: time.Unix(1, 0).UTC(), From: "alice", Kind: protocol.KindChat,
			Payload: json.RawMessage(`{"message":"` + text + `"}`),
		}
	}
	for _, r := range j.Append(t.Context(), "lab", []journal.Draft{
		{Envelope: chat("q1", "for all")}, {Envelope: chat("q2", "for nobody"), Hidden: true},
	}) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{archive.Lines, archive.Markdown, archive.Traces} {
		out := mustExport(t, exportFlags{space: "lab", data: dir, format: format})
		if !strings.Contains(out, "for all") || strings.Contains(out, "for nobody") {
			t.Errorf("%s: %s", format, out)
		}
	}
}

func mustExport(t *testing.T, f exportFlags) string {
	t.Helper()
	var out, progress bytes.Buffer
	if err := runExport(t.Context(), f, &out, &progress); err != nil {
		t.Fatalf("%v: %s", err, &progress)
	}
	return out.String()
}

// TestExport_RemotePages checks that a log of several pages is complete and in
// order, each envelope once.
func TestExport_RemotePages(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	const n = 2*1000 + 300
	for first := 0; first < n; first += 100 {
		var list []string
		for i := first; i < first+100; i++ {
			list = append(list, fmt.Sprintf(`{"id":"q%d","kind":"chat","payload":{"message":"number %d"}}`, i, i))
		}
		post(t, g.HTTP()+"/api/spaces/lab/envelopes", "["+strings.Join(list, ",")+"]")
	}
	t.Setenv("EXPORT_TOKEN", "alice-token")
	f := exportFlags{space: "lab", gateway: g.HTTP(), tokenEnv: "EXPORT_TOKEN", format: archive.Lines}
	list, err := api.DecodeLines([]byte(mustExport(t, f)))
	if err != nil || len(list) != n {
		t.Fatalf("%d envelopes, %v", len(list), err)
	}
	for i, e := range list {
		if want := protocol.ID(fmt.Sprintf("q%d", i)); e.ID != want {
			t.Fatalf("envelope %s, want %s", e.ID, want)
		}
	}
	f.format = archive.Markdown
	document := mustExport(t, f)
	at := 0
	for i := range n {
		next := strings.Index(document[at:], fmt.Sprintf("\n> number %d\n", i))
		if next < 0 {
			t.Fatalf("thread %d is not where it should be", i)
		}
		at += next
	}
}

func post(t *testing.T, address, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}

// hostile is a text with characters that control a terminal: escape sequences,
// CSI as one character, and characters that reverse the direction of writing.
const hostile = "a\x1b[2Jb\u009b31mc\u202egpj.exe\u2066d\x7fe\u0085f"

// wantSafe checks that an output has nothing that controls a terminal.
func wantSafe(t *testing.T, name, out string) {
	t.Helper()
	for _, r := range out {
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			t.Errorf("%s has %+q: %+q", name, r, out)
			return
		}
	}
}

func TestExport_HostileText(t *testing.T) {
	dir := t.TempDir()
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	payload := fmt.Sprintf(`{"message":"what is %s"}`, strings.ReplaceAll(hostile, "\x1b", `\u001b`))
	e := protocol.Envelope{ID: "q1", TS: time.Unix(1, 0).UTC(), From: "alice", Kind: protocol.KindChat, Payload: json.RawMessage(payload)}
	if r := j.Append(t.Context(), "lab", []journal.Draft{{Envelope: e}}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{archive.Lines, archive.Markdown, archive.Traces} {
		t.Run(format, func(t *testing.T) {
			out := mustExport(t, exportFlags{space: "lab", data: dir, format: format})
			wantSafe(t, format, out)
			if format != archive.Lines {
				return
			}
			var got struct{ Payload struct{ Message string } }
			if err := json.Unmarshal([]byte(out), &got); err != nil || got.Payload.Message != "what is "+hostile {
				t.Errorf("%+q, %v", got.Payload.Message, err)
			}
		})
	}
}
