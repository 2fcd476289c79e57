package block

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/meup-protocol/meup/client/api"
)

// TestForms compares the output with golden files: a turn as the gateway
// returns it, and both forms of its reasoning.
func TestForms(t *testing.T) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".txtar") {
			continue
		}
		t.Run(f.Name(), func(t *testing.T) {
			archive, err := txtar.ParseFile("testdata/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			var turn api.Turn
			for _, part := range archive.Files {
				got := ""
				switch part.Name {
				case "turn":
					if err := json.Unmarshal(part.Data, &turn); err != nil {
						t.Fatal(err)
					}
					continue
				case "block":
					got = TurnBlock(&turn, Style{})
				case "query":
					got = Query(&turn, "", Style{})
				case "query with thread":
					got = Query(&turn, "7c9e6679-7425-40de-944b-e07fc1f90ae7", Style{})
				case "colors":
					got = strings.ReplaceAll(TurnBlock(&turn, Colors()), "\x1b", "ESC")
				default:
					t.Fatalf("what is %s?", part.Name)
				}
				if got != string(part.Data) {
					t.Errorf("%s:\n%s\nwant:\n%s", part.Name, got, part.Data)
				}
			}
		})
	}
}

func TestSentences(t *testing.T) {
	if got := NoTurn(7); got != "  ✗ No reasoning data for turn 7 in this thread." {
		t.Error(got)
	}
	if got := Query(&api.Turn{TurnNumber: 2}, "", Style{}); got != "  ─ Turn 2 had no tool calls that you can see.\n" {
		t.Error(got)
	}
	if got := Query(&api.Turn{TurnNumber: 2, Truncated: true}, "", Style{}); got != "  ─ Turn 2 had no tool calls that you can see.\n"+Truncated(2)+"\n" {
		t.Error(got)
	}
	if got := Query(&api.Turn{TurnNumber: 3, ToolCalls: []api.ToolCall{{Name: "x"}}}, "", Style{}); got != "  ─ No reasoning recorded for turn 3.\n" {
		t.Error(got)
	}
	if got := TurnBlock(&api.Turn{TurnNumber: 2}, Colors()); got != "" {
		t.Error(got)
	}
}

func TestValues(t *testing.T) {
	size := func(n int) *int { return &n }
	for want, d := range map[string]api.Decision{
		"success":                    {Outcome: "success"},
		"success (1 byte)":           {Outcome: "success", ResultBytes: size(1)},
		"error (4,321 bytes)":        {Outcome: "error", ResultBytes: size(4321)},
		"success (1,234,567 bytes)":  {Outcome: "success", ResultBytes: size(1234567)},
		"fulfilled by bob (0 bytes)": {Outcome: "fulfilled", DecidedBy: "bob", ResultBytes: size(0)},
		"3 documents found":          {Outcome: "success", OutcomeText: "3 documents found", ResultBytes: size(4321)},
		"42 lines, answered by bob":  {Outcome: "success", OutcomeText: "42 lines", AnsweredBy: "bob"},
		"error: denied":              {Outcome: "error", OutcomeText: "error: denied", ResultBytes: size(9)},
		"error: a b":                 {Outcome: "error", OutcomeText: "error: a\nb"},
		"fulfilled by bob: 1 line":   {Outcome: "fulfilled", OutcomeText: "1 line", DecidedBy: "bob"},
		"rejected by al ice":         {Outcome: "rejected", DecidedBy: "al\nice"},
	} {
		t.Run(want, func(t *testing.T) {
			if got := outcome(&d); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	for params, want := range map[string]string{
		``: "{}", `{}`: "{}", `null`: "{}", `{"a":[],"b":{}}`: `{ "a": [], "b": {} }`,
		`{"n": 1.00,"a":[1,{"b":null}],"s":"\u001b[1m"}`: `{ "n": 1.00, "a": [1, { "b": null }], "s": "\u001b[1m" }`,
		`not JSON`: `not JSON`,
		`{"a":"` + strings.Repeat("x", 300) + `"}`: `{ "a": "` + strings.Repeat("x", 191) + "…",
	} {
		t.Run(want, func(t *testing.T) {
			if got := Params(&api.Decision{Parameters: json.RawMessage(params)}); got != want {
				t.Errorf("%s: %s", params, got)
			}
		})
	}
	escaped := `{"a":"` + strings.Repeat(`\u65e5`, 189) + `"}` // 200 characters after decoding
	if got, want := Params(&api.Decision{Parameters: json.RawMessage(escaped)}), `{ "a": "`+strings.Repeat("日", 189)+`" }`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Params(&api.Decision{Parameters: json.RawMessage("null"), ParameterBytes: 70000}); got != "(70,000 bytes, too long to be kept)" {
		t.Error(got)
	}
}
