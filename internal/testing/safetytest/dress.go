package safetytest

import (
	"iter"
	"math/rand/v2"
	"strings"
)

// Sample is a text that a detector is judged by.
type Sample struct {
	// Rule is the one that is to find the secret; "" in a clean text.
	Rule string
	// Kind is the sort of the text: the surroundings of a secret, or the subject
	// of a clean text.
	Kind string
	// Key names the member of an object that the text is the value of; mostly
	// "".
	Key  string
	Text string
	// Start and End are the bytes of Text that are the secret.
	Start, End int
}

// Secret returns the part of the text that is secret.
func (s *Sample) Secret() string { return s.Text[s.Start:s.End] }

// dress is the text before and after a secret.
type dress struct {
	name, before, after string
	escape              bool // the secret is part of a JSON string in a text
	address             bool // nothing that an address cannot hold
}

var dresses = []dress{
	{name: "bare"},
	{name: "sentence", before: "The log of yesterday shows ", after: " in line 12, so I stopped there."},
	{name: "brackets", before: "(found: ", after: "), and more"},
	{name: "markdown", before: "- `", after: "` was **rotated**\n- next"},
	{name: "assignment", before: "const value = \"", after: "\";\nuse(value)"},
	{name: "json", before: `{"id":17,"value":"`, after: `","next":null}`, escape: true},
	{name: "escaped json", before: `{\"id\":17,\"value\":\"`, after: `\",\"next\":null}`, escape: true},
	{name: "escaped lines", before: `first line\n`, after: `\nlast line`, escape: true},
	{name: "url", before: "https://api.example.org/v1/items?value=", after: "&page=2", address: true},
	{name: "path", before: "GET /hooks/", after: "/events HTTP/1.1", address: true},
	{name: "shell", before: "export VALUE='", after: "' && make deploy"},
	{name: "yaml", before: "spec:\n  value: ", after: "\n  replicas: 2\n"},
	{name: "diff", before: "-value = old\n+", after: "\n context"},
	{name: "other scripts", before: "キーは", after: "です。"},
	{name: "markup", before: "<td>", after: "</td>"},
}

var unescaper = strings.NewReplacer("\n", `\n`, `"`, `\"`)

// Leaks yields every secret in every dress, draws times with other characters.
func Leaks(seed uint64, draws int) iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		r := rand.New(rand.NewPCG(seed, 1))
		for s := range Secrets() {
			for range draws {
				if s.Name == "" && !dressed(r, s, yield) || s.Name != "" && !spelled(r, s, yield) {
					return
				}
			}
		}
	}
}

func dressed(r *rand.Rand, s Secret, yield func(Sample) bool) bool {
	for _, d := range dresses {
		written := Write(r, s.Format)
		if d.address && strings.ContainsAny(written, " \"'\n<>\\") {
			continue // it would not be an address any more
		}
		if d.escape && !strings.Contains(written, `\`) {
			written = unescaper.Replace(written)
		}
		sample := marked(written, d.before, d.after)
		sample.Rule, sample.Kind = s.Rule, d.name
		if !yield(sample) {
			return false
		}
	}
	// The value of a member with a neutral key.
	sample := marked(Write(r, s.Format), "", "")
	sample.Rule, sample.Kind, sample.Key = s.Rule, "value", "content"
	return yield(sample)
}

func spelled(r *rand.Rand, s Secret, yield func(Sample) bool) bool {
	for _, spelling := range sortedSpellings {
		sample := marked(Write(r, spell(s, spelling)), "", "")
		sample.Rule, sample.Kind = s.Rule, spelling
		if !yield(sample) {
			return false
		}
	}
	sample := marked(Write(r, s.Format), "", "")
	sample.Rule, sample.Kind, sample.Key = s.Rule, "value", strings.ReplaceAll(s.Name, " ", "_")
	return yield(sample)
}

// marked puts a text between two others; the secret is the part between « and », or
// all of it.
func marked(written, before, after string) Sample {
	lead, rest, found := strings.Cut(written, "«")
	if !found {
		return Sample{Text: before + written + after, Start: len(before), End: len(before) + len(written)}
	}
	secret, trail, _ := strings.Cut(rest, "»")
	start := len(before) + len(lead)
	return Sample{Text: before + lead + secret + trail + after, Start: start, End: start + len(secret)}
}
