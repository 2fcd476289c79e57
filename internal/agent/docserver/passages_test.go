package docserver_test

import (
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
		{"how many moons", "No matches found"},
		{"secret", "No matches found"},         // through a link out of the folder
		{"unicorn porter", "No matches found"}, // half of the words
	} {
		if got, ok := call(t, s, "read_passages", `{"query":"`+test.query+`"}`); got != test.want || !ok {
			t.Errorf("%s:\n%s\nwant\n%s", test.query, got, test.want)
		}
	}
	if got, ok := call(t, s, "read_passages", `{"query":"?!"}`); ok || !strings.Contains(got, "no words") {
		t.Errorf("a query without words: %q", got)
	}
}
