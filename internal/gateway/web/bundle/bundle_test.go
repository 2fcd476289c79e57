package bundle_test

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/meup-protocol/meup/internal/gateway/web"
	"github.com/meup-protocol/meup/internal/gateway/web/bundle"
)

const sources = "../testdata/page"

func build(t testing.TB, dir string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Build(bundle.Options{Dir: dir, Entry: "src/main.ts"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// copied copies the sources to a temporary folder.
func copied(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(dir, os.DirFS(sources)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBundle(t *testing.T) {
	b := build(t, sources)
	if len(b.First) != 3 || !strings.HasPrefix(b.First[0], "assets/main-") || path.Ext(b.First[2]) != ".css" || len(b.Lazy) != 1 {
		t.Fatalf("first %v, lazy %v", b.First, b.Lazy)
	}
	page := string(b.Files["index.html"])
	for _, want := range []string{
		`<script type="module" src="/` + b.First[0] + `"></script>`, `<link rel="modulepreload" href="/` + b.First[1] + `">`,
		`<link rel="stylesheet" href="/` + b.First[2] + `">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, b.Lazy[0]) || strings.Contains(page, "<style") || strings.Contains(page, "<script>") {
		t.Errorf("the page has too much:\n%s", page)
	}
	entry := string(b.Files[b.First[0]])
	if strings.Contains(entry, "interface") || strings.Count(entry, "\n") > 6 {
		t.Errorf("not made small:\n%s", entry)
	}
	if _, found := b.Files[b.First[0]+".map"]; found || strings.Contains(entry, "sourceMappingURL") {
		t.Error("the page has source maps, which are larger than all else in it")
	}
	if licence := string(b.Files[b.First[0]+".LEGAL.txt"]); !strings.Contains(licence, "A page for tests") {
		t.Errorf("the licence %q", licence)
	}
}

// The output does not depend on the location of the sources.
func TestDeterministic(t *testing.T) {
	one, other := build(t, sources), build(t, copied(t))
	if !slices.Equal(slices.Sorted(maps.Keys(one.Files)), slices.Sorted(maps.Keys(other.Files))) {
		t.Fatalf("%v, then %v", one.Manifest, other.Manifest)
	}
	for name, content := range one.Files {
		if !bytes.Equal(content, other.Files[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

// A change of a source changes a file name.
func TestNames_DependOnContent(t *testing.T) {
	before, dir := build(t, sources), copied(t)
	file := filepath.Join(dir, "src", "lazy.ts")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "\nconsole.log('more');\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	after := build(t, dir)
	if before.Lazy[0] == after.Lazy[0] || before.First[0] == after.First[0] {
		t.Errorf("before %v, after %v", before.Manifest, after.Manifest)
	}
}

func TestServed(t *testing.T) {
	files := fstest.MapFS{}
	for name, content := range build(t, sources).Files {
		files[name] = &fstest.MapFile{Data: content}
	}
	if s, err := web.New(files); err != nil || s == nil {
		t.Errorf("what is built is not served: %v", err)
	}
}

func TestFaultySources(t *testing.T) {
	dir := t.TempDir()
	if _, err := bundle.Build(bundle.Options{Dir: dir, Entry: "src/main.ts"}); err == nil {
		t.Error("nothing was bundled")
	}
	if err := os.WriteFile(filepath.Join(dir, "main.ts"), []byte("import './gone';\nlet x: = 1;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := bundle.Build(bundle.Options{Dir: dir, Entry: "main.ts"})
	if err == nil || !strings.Contains(err.Error(), "main.ts:2:8") {
		t.Errorf("error: %v", err)
	}
}

func TestWriteAndCompare(t *testing.T) {
	b, dir := build(t, sources), filepath.Join(t.TempDir(), "dist")
	differences := func() []string {
		list, err := b.Differences(dir)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := differences(); len(got) != len(b.Files) || !strings.HasSuffix(got[0], " is missing") {
		t.Errorf("before: %v", got)
	}
	stray := filepath.Join(dir, "assets", "stray.js")
	for range 2 { // the second time other files exist already
		if err := b.Write(dir); err != nil {
			t.Fatal(err)
		}
		if got := differences(); len(got) > 0 {
			t.Errorf("written: %v", got)
		}
		if err := os.WriteFile(stray, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, b.First[0]+".LEGAL.txt"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "index.html")); err != nil {
		t.Fatal(err)
	}
	want := []string{b.First[0] + ".LEGAL.txt is built differently", "assets/stray.js is not built any more", "index.html is missing"}
	if got := differences(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReport(t *testing.T) {
	b := build(t, sources)
	var report bytes.Buffer
	b.Report(&report)
	sum := bundle.Compressed(b.Files["index.html"])
	for _, name := range b.First {
		sum += bundle.Compressed(b.Files[name])
	}
	if b.FirstLoad() != sum || sum == 0 || !strings.Contains(report.String(), "first load: ") || !strings.Contains(report.String(), b.Lazy[0]) {
		t.Errorf("%d, want %d:\n%s", b.FirstLoad(), sum, &report)
	}
}
