package hookconfig

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWithRealPaths(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docs", "secret"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(folder, "secret"), filepath.Join(folder, "docs", "link")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for link, to := range map[string]string{"new": filepath.Join("..", "secret", "new"), "far": filepath.Join(folder, "docs", "new"), "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(folder, "docs", link)); err != nil {
			t.Fatal(err)
		}
	}
	text := func(v any) string {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	event := func(key, path string) string {
		return ` {"cwd":` + text(folder) + `,"tool_input":{"` + key + `":` + text(path) + `,"x":1}} ` + "\n"
	}
	for name, x := range map[string]struct{ event, path, want string }{
		"a link":                    {event("file_path", "docs/link/key"), "docs/link/key", "secret/key"},
		"a link, absolute":          {event("path", folder+"/docs/link"), folder + "/docs/link", "secret"},
		"above a link":              {event("file_path", "docs/link/../b"), "docs/link/../b", "b"},
		"folders that do not exist": {event("file_path", "docs/link/a/b/c"), "docs/link/a/b/c", "secret/a/b/c"},
		"a link to nothing":         {event("file_path", "docs/new"), "docs/new", "secret/new"},
		"links to nothing":          {event("file_path", "docs/far/x"), "docs/far/x", "secret/new/x"},
		"a link to itself":          {event("file_path", "docs/loop"), "", ""},
		"no link":                   {event("file_path", "docs/a"), "", ""},
		"another argument":          {event("content", "docs/link/key"), "", ""},
		"no JSON":                   {"{", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(withRealPaths([]byte(x.event)))
			if x.want == "" {
				if got != x.event {
					t.Errorf("got %s", got)
				}
				return
			}
			want := strings.TrimRight(x.event, " \n}") + `}},"meup_real_paths":` + text(map[string]string{x.path: filepath.Join(folder, x.want)}) + "}"
			want = strings.Replace(want, `}},"meup`, `},"meup`, 1)
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
