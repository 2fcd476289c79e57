package vector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	v, err := Parse("name", []byte(`About it.
More.
-- welcome --
{}
-- script --
# a comment
start

20 times > {"id": "$x", "n": 1.50} => {"error": "paused"}
>> {"id": "${x}"} => hold
< raw "{\"a\n"
< again ${x}
refuse 503 {"error": "x"}
close 1001 going down
`), false)
	if err != nil {
		t.Fatal(err)
	}
	if v.About != "About it." || v.Files["welcome"] != "{}\n" || len(v.Steps) != 7 {
		t.Fatalf("got %+v", v)
	}
	for i, want := range []Step{
		{Line: 2, Times: 1, Verb: Start},
		{Line: 4, Times: 20, Verb: Expect, Body: `{"id": "$x", "n": 1.50}`, Fate: Error, Error: `{"error": "paused"}`},
		{Line: 5, Times: 1, Verb: Await, Body: `{"id": "${x}"}`, Fate: Hold},
		{Line: 6, Times: 1, Verb: Send, Encoding: Raw, Body: "{\"a\n"},
		{Line: 7, Times: 1, Verb: Send, Encoding: Again, Body: "${x}"},
		{Line: 8, Times: 1, Verb: Refuse, Status: 503, Body: `{"error": "x"}`},
		{Line: 9, Times: 1, Verb: Close, Word: "1001 going down"},
	} {
		v.Steps[i].Text = ""
		if v.Steps[i] != want {
			t.Errorf("step %d is %+v, want %+v", i, v.Steps[i], want)
		}
	}
}

func TestParse_Gateway(t *testing.T) {
	v, err := Parse("name", []byte("About.\n-- script --\na2 connect since=${s}\na post /api [1] 207 {}\na refused /ws 401\na < raw \"x\"\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Step{
		{Line: 1, Times: 1, Peer: "a2", Verb: Connect, Word: "since=${s}"},
		{Line: 2, Times: 1, Peer: "a", Verb: Post, Word: "/api", Sent: "[1]", Status: 207, Body: "{}"},
		{Line: 3, Times: 1, Peer: "a", Verb: Refused, Word: "/ws", Status: 401},
		{Line: 4, Times: 1, Peer: "a", Verb: Send, Encoding: Raw, Body: "x"},
	} {
		v.Steps[i].Text = ""
		if v.Steps[i] != want {
			t.Errorf("step %d is %+v, want %+v", i, v.Steps[i], want)
		}
	}
}

func TestParse_Faults(t *testing.T) {
	for script, want := range map[string]string{
		"jump": "no step", "start now": "too much", "> ": "JSON object", "> {": "read JSON", "> [1]": "JSON object", "> {} {}": `begins with "=>"`,
		"> {} => gone": "no outcome", "> {} =>": `begins with "=>"`, "> {} => {} x": "too much", "< raw x": "quoted string", "< again": "an id",
		"refuse 99": "no HTTP status", "refuse x": "no HTTP status", "0 times start": "1 to", "99999 times start": "1 to", "x times start": "1 to",
		`< {"a": "${x"}`: "does not end", `< {"a": "${}"}`: "does not end", `< {"a": "${x*-1}"}`: "no number", `< {"a": "${x*99999999}"}`: "longer than",
		"": "no script",
	} {
		t.Run(script, func(t *testing.T) {
			_, err := Parse("name", []byte("About.\n-- script --\nstart\n"+script+"\n"), false)
			if script == "" {
				_, err = Parse("name", []byte("About.\n-- script --\n"), false)
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	for text, want := range map[string]string{
		"-- script --\nstart\n": "comment", "About.\n": "no script",
		"About.\n-- script --\nstart\n-- script --\n": "twice", "About.\n-- x --\n-- x --\n": "twice",
	} {
		if _, err := Parse("name", []byte(text), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if _, err := Parse("name", []byte("About.\n-- script --\nA > {}\n"), true); err == nil {
		t.Error("a name in upper case was accepted")
	}
	if _, err := Load(os.DirFS("."), "nosuch", false); err == nil {
		t.Error("an empty folder was accepted")
	}
}

func TestFill(t *testing.T) {
	lookup := func(name string) (string, bool) {
		return map[string]string{"x": "X", "max": "3"}[name], name == "x" || name == "max"
	}
	for text, want := range map[string]string{
		"": "", "a": "a", "${x}-${x}": "X-X", "${ab*2}": "abab", "${a*max}": "aaa", "${a*0}": "", "$x": "$x",
		"${y}": "!", "${a*y}": "!", strings.Repeat("${a*9000000}", 2): "!",
	} {
		got, err := Fill(text, lookup)
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text[:min(len(text), 30)], got[:min(len(got), 30)], want)
		}
	}
}

// FuzzParse checks that a vector is parsed or refused, and that each step that was accepted is
// accepted alone.
func FuzzParse(f *testing.F) {
	for _, side := range []string{"client", "gateway"} {
		files, err := filepath.Glob("../vectors/" + side + "/*.txtar")
		if err != nil || len(files) == 0 {
			f.Fatalf("no vectors: %v", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text), side == "gateway")
		}
	}
	f.Fuzz(func(t *testing.T, text string, gateway bool) {
		v, err := Parse("name", []byte(text), gateway)
		if err != nil {
			return
		}
		for _, s := range v.Steps {
			if s.Times < 1 || s.Verb == "" || gateway == (s.Peer == "") {
				t.Fatalf("%+v", s)
			}
			alone, err := parseStep(s.Text, gateway)
			alone.Line, alone.Text = s.Line, s.Text
			if err != nil || alone != s {
				t.Fatalf("%q is %+v alone, %v, and %+v in the script", s.Text, alone, err, s)
			}
		}
	})
}
