package toolserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadPassages(t *testing.T) {
	s, dir := serve(t)
	for name, text := range map[string]string{
		"glossary.md": "# Glossary\n\n## Rooms\n\n| term | meaning | where |\n|---|---|---|\n| room, chamber | a place for a talk | `hall.go` |\n| guest (of a room) | who is invited |  |\n",
		"guide/rooms.md": "# Rooms\n\nSee [the glossary](../glossary.md) and [the site](https://example.org/x).\n\n## Opening hours\n\n" +
			"Every room opens at nine.\n\n```sh\n# a comment about keys is no heading\nopen room\n```\n\n| flag | value |\n|---|---|\n| room | `a\\|b` |\n",
		"guide/long.md":     "# Walls\n\n" + strings.Repeat("A wall stands for long. ", 40) + "\n\nThe last wall is of bricks.\n",
		"notes.yaml":        "# keys: the porter has them all\nporter: Ann\n",
		"ja.md":             "# 天気\n\n明日の天気は晴れです。\n",
		".hidden/keys.md":   "The porter hides keys here.\n",
		".keys.md":          "The porter hides keys here too.\n",
		"urls.md":           "# A2A\n\n**Status:** accepted\n\n## A2A\n\nAgents speak with each other over A2A, which others have specified.\n\n| path | meaning |\n|---|---|\n| `/a2a` | calls |\n",
		"node_modules/k.md": "The porter installs keys here.\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ query, want string }{
		{"What is a room?", "From `glossary.md`, *Rooms*:\n\n> **room, chamber**: a place for a talk · where: `hall.go`"},
		{"chambers", "From `glossary.md`, *Rooms*:\n\n> **room, chamber**: a place for a talk · where: `hall.go`"},
		{"guest", "From `glossary.md`, *Rooms*:\n\n> **guest (of a room)**: who is invited"},
		{"when do rooms open", "From `guide/rooms.md`, *Opening hours*:\n\n> Every room opens at nine.\n> \n> ```sh\n> # a comment about keys is no heading\n> open room\n> ```"},
		{"a|b", "From `guide/rooms.md`, *Opening hours*:\n\n> **room**: `a|b`"},
		{"site", "From `guide/rooms.md`, *Rooms*:\n\n> See the glossary and [the site](https://example.org/x)."},
		{"last bricks", "From `guide/long.md`, *Walls*:\n\n> The last wall is of bricks."},
		{"porter keys", "From `notes.yaml`:\n\n> # keys: the porter has them all\n> porter: Ann"},
		{"明日の天気は", "From `ja.md`, *天気*:\n\n> 明日の天気は晴れです。"},
		{"What is A2A?", "From `urls.md`, *A2A*:\n\n> Agents speak with each other over A2A, which others have specified."},
		{"how many moons", "No matches found"},
		{"secret", "No matches found"},         // through a link out of the folder
		{"unicorn porter", "No matches found"}, // half of the words
	} {
		if got, ok := call(t, s, "read_passages", `{"query":"`+test.query+`"}`); got != test.want || !ok {
			t.Errorf("%s:\n%s\nwant\n%s", test.query, got, test.want)
		}
	}
	for path, want := range map[string]string{
		"guide/rooms.md": "From `guide/rooms.md`", "./Rooms.md": "From `guide/rooms.md`", "glossary.md": "From `glossary.md`",
		"ooms.md": "No matches found", "none.md": "No matches found",
	} {
		got, ok := call(t, s, "read_passages", `{"query":"room","path":"`+path+`"}`)
		if quotes := strings.Count(got, "From `"); !strings.HasPrefix(got, want) || quotes != strings.Count(got, want) && strings.HasPrefix(want, "From") || !ok {
			t.Errorf("%s:\n%s\nwant only %s", path, got, want)
		}
	}
	if got, ok := call(t, s, "read_passages", `{"query":"rooms","files":true}`); got != "glossary.md\nguide/rooms.md" || !ok {
		t.Errorf("the files about rooms: %q; want glossary.md and guide/rooms.md, a line each", got)
	}
	if got, ok := call(t, s, "read_passages", `{"query":"moons","files":true}`); got != "No matches found" || !ok {
		t.Errorf("the files about moons: %q; want none", got)
	}
	for i := range 21 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("star-%02d.md", i)), []byte("A star shines.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := call(t, s, "read_passages", `{"query":"stars","files":true}`); strings.Count(got, "\n") != 20 || !strings.HasSuffix(got, "\n[1 more]") || !ok {
		t.Errorf("the files about stars: %q; want 20, and the number of further ones", got)
	}
	if got, ok := call(t, s, "read_passages", `{"query":"?!"}`); ok || !strings.Contains(got, "no words") {
		t.Errorf("a query without words: %q", got)
	}
}

// A folder that is too large to be searched in whole is not said to have no passage.
func TestReadPassages_LargeFolder(t *testing.T) {
	s, dir := serve(t)
	for i := range 33 {
		path := filepath.Join(dir, fmt.Sprintf("large-%02d.bin", i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := call(t, s, "read_passages", `{"query":"moons"}`); got != "No matches found in the first 32 MiB of the folder" || !ok {
		t.Errorf("got %q, want that not all was searched", got)
	}
}
