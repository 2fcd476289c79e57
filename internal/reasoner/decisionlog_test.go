package reasoner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/kit/privatedir"
)

var quiet = slog.New(slog.DiscardHandler)

// testRecord returns a record of session s and intent i.
func testRecord(s, i string) *wire.LogRecord {
	return &wire.LogRecord{Type: "agent_intent", SessionID: s, IntentID: i, CorrelationID: "c-" + i, Status: "ok", Outcome: "finish"}
}

// ids returns the intents of the matching records.
func ids(s *DecisionLog, q DecisionQuery) string {
	records, _ := s.Find(q)
	var list []string
	for _, r := range records {
		list = append(list, r.IntentID)
	}
	return strings.Join(list, " ")
}

func options() DecisionLogOptions {
	return DecisionLogOptions{Entries: 100, Bytes: 1 << 20, Age: time.Hour}
}

func TestFind(t *testing.T) {
	o, now := options(), time.Unix(1_000, 0)
	o.Now = func() time.Time { return now }
	s := NewDecisionLog(o)
	for i := range 6 {
		s.Add(testRecord(fmt.Sprintf("s%d", i%2), fmt.Sprint(i)))
		now = now.Add(time.Second)
	}
	for name, test := range map[string]struct {
		q    DecisionQuery
		want string
	}{
		"all":         {DecisionQuery{}, "5 4 3 2 1 0"},
		"session":     {DecisionQuery{SessionID: "s1"}, "5 3 1"},
		"intent":      {DecisionQuery{IntentID: "4"}, "4"},
		"correlation": {DecisionQuery{CorrelationID: "c-2"}, "2"},
		"time":        {DecisionQuery{Since: time.Unix(1_002, 0), Until: time.Unix(1_004, 0)}, "3 2"},
		"none":        {DecisionQuery{SessionID: "s1", IntentID: "2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ids(s, test.q); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestFind_Pages: the cursor continues after the last record, also if records
// were added meanwhile.
func TestFind_Pages(t *testing.T) {
	s := NewDecisionLog(options())
	for i := range 5 {
		s.Add(testRecord("s", fmt.Sprint(i)))
	}
	var got []string
	for q := (DecisionQuery{Limit: 2}); ; {
		records, next := s.Find(q)
		for _, r := range records {
			got = append(got, r.IntentID)
		}
		s.Add(testRecord("s", "new"))
		q.Before = next
		if next == 0 {
			break
		}
	}
	if strings.Join(got, " ") != "4 3 2 1 0" {
		t.Errorf("%v", got)
	}
}

func TestStore_Bounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, o := range map[string]DecisionLogOptions{
			"entries": {Entries: 3, Bytes: 1 << 20, Age: time.Hour},
			"bytes":   {Entries: 100, Bytes: 3*size(testRecord("s", "0")) + 10, Age: time.Hour},
			"age":     {Entries: 100, Bytes: 1 << 20, Age: 3 * time.Second},
		} {
			s := NewDecisionLog(o)
			for i := range 8 {
				time.Sleep(time.Second)
				s.Add(testRecord("s", fmt.Sprint(i)))
			}
			if got := ids(s, DecisionQuery{}); got != "7 6 5" && !(name == "age" && got == "7 6 5 4") {
				t.Errorf("%s: %q", name, got)
			}
			time.Sleep(time.Second + o.Age)
			if state := s.State(); name == "age" && (state.Entries != 0 || state.Bytes != 0) {
				t.Errorf("%+v", state)
			}
		}
	})
}

func TestMask(t *testing.T) {
	o := options()
	o.Mask = func(text string) string { return strings.ReplaceAll(text, "secret", "***") }
	s := NewDecisionLog(o)
	var out bytes.Buffer
	s.MirrorTo(&out, quiet)
	r := testRecord("secret", "1")
	r.CorrelationID, r.Reasoning, r.Message, r.Model, r.ToolName, r.Fallback, r.NextNode = "secret", "secret", "secret", "secret", "secret", "secret", "secret"
	s.Add(r)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	records, _ := s.Find(DecisionQuery{})
	if text := fmt.Sprint(records, s.Totals(DecisionQuery{}), out.String()); strings.Contains(text, "secret") || strings.Count(out.String(), "***") != 8 {
		t.Errorf("%s", text)
	}
}

func TestTotals(t *testing.T) {
	s := NewDecisionLog(options())
	for i := range 50 {
		r := testRecord("s", fmt.Sprint(i))
		r.DurationMS, r.Provider, r.Model, r.InputTokens = int64(i), "p", fmt.Sprint("m", i%40), 2
		s.Add(r)
	}
	s.Add(&wire.LogRecord{SessionID: "other", IntentID: "x", Type: "workflow_intent", Status: "error", Outcome: "refused", Error: "undecided"})
	all := s.Totals(DecisionQuery{})
	if all.Count != 51 || all.Sessions != 2 || all.InputTokens != 100 || all.ByOutcome["finish"] != 50 || all.ByError["undecided"] != 1 ||
		all.DurationMS["p50"] != 24 || all.DurationMS["max"] != 49 || all.Oldest == nil || len(all.ByModel) != maxNames+1 || all.ByModel[otherName] == 0 {
		t.Errorf("%+v", all)
	}
	if one := s.Totals(DecisionQuery{SessionID: "other"}); one.Count != 1 || one.ByType["workflow_intent"] != 1 {
		t.Errorf("%+v", one)
	}
}

// TestFile: records are restored after a restart, also after an interrupted
// write; the file is renamed when it has the maximum size.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	run := func(ids ...string) *DecisionLog {
		t.Helper()
		o := options()
		o.Bytes = 2000
		s := NewDecisionLog(o)
		if err := s.MirrorToFile(path, quiet); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			s.Add(testRecord("s", id))
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	run("1", "2")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("not a record\n" + `{"seq":3,"intent_id":"cut`)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	run("3")
	if got := ids(run(), DecisionQuery{}); got != "3 2 1" {
		t.Errorf("restored %q", got)
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint("n", i))
	}
	run(many...)
	for _, name := range []string{path, path + ".1"} {
		info, err := os.Stat(name)
		if err != nil || info.Size() > 2000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if got := ids(run(), DecisionQuery{Limit: 3}); got != "n29 n28 n27" {
		t.Errorf("restored %q", got)
	}
}

// TestFile_Renamed: a file that another program renames, removes, replaces or
// truncates is continued under its own name.
func TestFile_Renamed(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"renamed":   func(path string) error { return os.Rename(path, path+".20261122") },
		"removed":   os.Remove,
		"truncated": func(path string) error { return os.Truncate(path, 0) },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".20261122"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "decisions.jsonl")
			lock, err := privatedir.Lock(path + lockSuffix)
			if err != nil {
				t.Fatal(err)
			}
			f := &file{path: path, most: 1 << 20, lock: lock}
			if err := errors.Join(f.write([]byte("1\n")), change(path), f.write([]byte("2\n")), f.write([]byte("3\n"))); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(path)
			if err != nil || string(raw) != "2\n3\n" || f.size != 4 {
				t.Errorf("%q, %d, %v", raw, f.size, err)
			}
			raw, err = os.ReadFile(path + ".20261122")
			if err == nil && string(raw) != "1\n" {
				t.Errorf("%q", raw)
			}
			if err := f.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFile_FolderIsBack: writes fail while the folder is missing, and continue
// when it is back.
func TestFile_FolderIsBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "decisions.jsonl")
	lock, err := privatedir.Lock(path + lockSuffix)
	if err != nil {
		t.Fatal(err)
	}
	f := &file{path: path, most: 1 << 20, lock: lock}
	if err := errors.Join(f.write([]byte("1\n")), os.RemoveAll(dir)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if f.write([]byte("2\n")) == nil {
			t.Error("a write to a missing folder succeeded")
		}
	}
	if err := errors.Join(os.Mkdir(dir, 0o700), f.write([]byte("3\n")), f.close()); err != nil {
		t.Error(err)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "3\n" {
		t.Errorf("%q, %v", raw, err)
	}
}

// TestFile_InUse: a second process is refused until the first one ends.
func TestFile_InUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	first, second := NewDecisionLog(options()), NewDecisionLog(options())
	if err := first.MirrorToFile(path, quiet); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".1"); err != nil { // a renamed file stays locked
		t.Fatal(err)
	}
	if err := second.MirrorToFile(path, quiet); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("%v", err)
	}
	if err := errors.Join(first.Close(t.Context()), second.MirrorToFile(path, quiet), second.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestFile_CannotBeOpened(t *testing.T) {
	if err := NewDecisionLog(options()).MirrorToFile(t.TempDir(), quiet); err == nil {
		t.Error("a folder was opened")
	}
}

// hanging is a writer that blocks until it is released.
type hanging struct{ release chan struct{} }

func (h hanging) Write(p []byte) (int, error) { <-h.release; return len(p), nil }

// TestMirror_Hangs: a writer that blocks delays neither decisions nor Close
// beyond its time; the records are kept.
func TestMirror_Hangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := NewDecisionLog(DecisionLogOptions{Entries: 10_000, Bytes: 1 << 30, Age: time.Hour}), hanging{make(chan struct{})}
		s.MirrorTo(h, quiet)
		for i := range mirrorQueue + 10 {
			s.Add(testRecord("s", fmt.Sprint(i)))
		}
		if state := s.State(); state.Entries != mirrorQueue+10 || state.Dropped < 9 {
			t.Errorf("%+v", state)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		close(h.release)
		synctest.Wait()
	})
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"seq":1,"time":"2026-11-22T09:00:00Z","type":"agent_intent","session_id":"s","intent_id":"i","status":"ok"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if r, ok := decodeRecord(line); ok && (r.Seq < 1 || r.IntentID == "" || r.Time.IsZero()) {
			t.Errorf("%+v", r)
		}
	})
}
