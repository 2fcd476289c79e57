package argument

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/protocol"
)

// jsonValue parses a JSON text.
func jsonValue(t testing.TB, text string) protocol.Value {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(text), protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func mustPath(t testing.TB, text string) *Path {
	t.Helper()
	p, err := ParsePath(jsonValue(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

var verdictName = map[Verdict]string{No: "no", Maybe: "maybe", Yes: "yes"}

func TestPath_Match(t *testing.T) {
	var (
		nowhere = Place{}
		project = Place{Root: "/home/u/project", Dir: "/home/u/project"}
		inside  = Place{Root: "/home/u/project", Dir: "/home/u/project/docs/a"}
		rooted  = Place{Root: "/home/u/project"}
		started = Place{Dir: "/home/u/project"}
		windows = Place{Root: `C:\Work`, Dir: `C:\Work\Docs`}
	)
	const (
		docs    = `{"below":"docs"}`
		noGit   = `{"below":".","not":"**/.git/**"}`
		secrets = `{"below":["docs","src"],"not":["docs/private","*.pem","src/**/keys"]}`
		every   = `{"below":"/"}`
		windowC = `{"below":"C:\\Work\\Docs","not":["private"]}`
	)
	long := strings.Repeat("a", 200) + "/"
	for _, tt := range []struct {
		pattern, text string
		at            Place
		want          Verdict
	}{
		// Relative paths in an unknown place.
		{docs, "docs", nowhere, Yes},
		{docs, "docs/", nowhere, Yes},
		{docs, "docs/a", nowhere, Yes},
		{docs, "./docs//a/./b", nowhere, Yes},
		{docs, "src/../docs/a", nowhere, Yes},
		{docs, "docs-old/a", nowhere, No},
		{docs, "docsa", nowhere, No},
		{docs, "doc", nowhere, No},
		{docs, ".", nowhere, No},
		{docs, "a/docs", nowhere, No},
		{docs, "docs/../src", nowhere, No},
		{docs, "docs/a/../../src", nowhere, No},
		{docs, "docs/../../docs", nowhere, Maybe},
		{docs, "../docs", nowhere, Maybe},
		{docs, "/docs", nowhere, Maybe},
		{`{"below":"."}`, "a/b", nowhere, Yes},
		{`{"below":"."}`, ".", nowhere, Yes},
		{`{"below":"."}`, "..", nowhere, Maybe},
		{`{"below":"."}`, "a/../..", nowhere, Maybe},
		{`{"below":"."}`, "/etc", nowhere, Maybe},
		{`{"below":"."}`, " ~/.ssh", nowhere, Maybe},
		{`{"below":"."}`, "\u00a0/etc", nowhere, Maybe},
		{`{"below":"./docs/"}`, "docs/a", nowhere, Yes},

		// Places.
		{docs, "docs/a", project, Yes},
		{docs, "/home/u/project/docs/a", project, Yes},
		{docs, "/home/u//project/./docs/a", project, Yes},
		{docs, "../project/docs/a", project, Yes},
		{docs, "../other/docs/a", project, No},
		{docs, "/etc/passwd", project, No},
		{docs, "docs/../../../../../../../../etc/passwd", project, No},
		{docs, "b", inside, Yes},
		{docs, "../b", inside, Yes},
		{docs, "../../b", inside, No},
		{docs, "docs/a", rooted, Maybe},
		{docs, "/home/u/project/docs/a", rooted, Yes},
		{docs, "docs/a", started, Maybe},
		{`{"below":"/home/u/project/docs"}`, "docs/a", started, Yes},
		{`{"below":"/home/u/project/docs"}`, "docs/a", nowhere, Maybe},
		{docs, "/home/u/project/docs", started, Maybe},
		{docs, "docs/a", Place{Root: "project", Dir: "/home"}, Maybe},
		{docs, "docs/a", Place{Root: "/home", Dir: "project"}, Maybe},
		{docs, "docs/a", Place{Dir: "project"}, Maybe},
		{docs, "docs/a", Place{Dir: "/home/u."}, Maybe},
		{docs, "docs/a", Place{Root: `\\host\a`}, Maybe},
		{docs, "/docs/a", Place{Root: `/home`, Dir: "project"}, No},
		{docs, "docs/a", Place{Root: "~/project", Dir: "~/project"}, Yes},
		{docs, "../../etc", Place{Root: "~/project", Dir: "~/project"}, Maybe},
		{every, "/etc/passwd", nowhere, Yes},
		{every, "/", nowhere, Yes},
		{every, "//etc", nowhere, Yes},
		{every, "/../etc", nowhere, Yes},
		{every, "a", nowhere, Maybe},
		{every, "a", started, Yes},
		{every, "~/a", nowhere, Maybe},
		{`{"below":["/srv","docs"]}`, "/srv/a", nowhere, Yes},

		// The home.
		{`{"below":"~"}`, "~", nowhere, Yes},
		{`{"below":"~"}`, "~/a", nowhere, Yes},
		{`{"below":"~/work"}`, "~/work/a", project, Yes},
		{`{"below":"~/work"}`, "~/worka", nowhere, No},
		{`{"below":"~/work"}`, "~/work/../.ssh", nowhere, No},
		{`{"below":"~"}`, "~/..", nowhere, Maybe},
		{`{"below":"~"}`, "~root/a", nowhere, Maybe},
		{`{"below":"~"}`, "/home/u/a", nowhere, Maybe},
		{`{"below":"~"}`, "a", nowhere, Maybe},
		{docs, "~/docs", nowhere, Maybe},
		{docs, "docs/~", nowhere, Yes},

		// Case and other forms of a name.
		{docs, "Docs/a", nowhere, Maybe},
		{docs, "DOCS", project, Maybe},
		{docs, "docs/A", nowhere, Yes},
		{`{"below":"caf\u00e9"}`, "café/a", nowhere, Yes},
		{`{"below":"caf\u00e9"}`, "cafe\u0301/a", nowhere, Maybe},
		{`{"below":"straße"}`, "STRASSE", nowhere, Maybe},
		{docs, "do\u200ccs/a", nowhere, Maybe},
		{docs, "docs/a\u200cb", nowhere, Yes},
		{docs, "dock", nowhere, No},
		{`{"below":"\u212a"}`, "k", nowhere, Maybe},

		// Texts with an uncertain meaning.
		{docs, "", nowhere, Maybe},
		{docs, "docs/\x00", nowhere, Maybe},
		{docs, "docs/a\n", nowhere, Maybe},
		{docs, "docs/\u0085", nowhere, Maybe},
		{docs, "docs/\xff", nowhere, Maybe},
		{docs, "docs/" + strings.Repeat("a", maxArgument), nowhere, Maybe},
		{docs, "docs/" + strings.Repeat("a/", maxSegments), nowhere, Maybe},
		{docs, "docs/" + strings.Repeat("a/", maxSegments-2), nowhere, Yes},
		{docs, "docs/" + strings.Repeat(long, 20), nowhere, Yes},
		{docs, `docs\a`, nowhere, Maybe},
		{docs, `docs/..\..\etc`, nowhere, Maybe},
		{every, `\\host\share`, nowhere, Maybe},
		{every, `\\?\C:\a`, nowhere, Maybe},
		{docs, "docs/%2e%2e/etc", nowhere, Maybe},
		{docs, "docs/.%2E/etc", nowhere, Maybe},
		{docs, "docs/..%2fetc", nowhere, Maybe},
		{docs, "docs/..%5cetc", nowhere, Maybe},
		{docs, "docs/%252e%252e/etc", nowhere, Maybe},
		{docs, "docs/%20a", nowhere, Yes},
		{docs, "docs/a.", nowhere, Maybe},
		{docs, "docs./a", nowhere, Maybe},
		{docs, "docs/a ", nowhere, Maybe},
		{docs, "docs/.../a", nowhere, Maybe},
		{docs, "docs/.. /a", nowhere, Maybe},
		{docs, "docs/a:stream", nowhere, Maybe},
		{docs, "docs/DOCUME~1/a", nowhere, Maybe},
		{docs, "$HOME/docs", nowhere, Maybe},
		{docs, "%USERPROFILE%/docs", nowhere, Maybe},
		{docs, "docs/$id.tsx", nowhere, Yes},
		{docs, "docs/[...slug].tsx", nowhere, Yes},
		{docs, "docs/{a,../..}/etc", nowhere, Maybe},
		{docs, "docs/{..,a}/etc", nowhere, Maybe},

		// URLs of files.
		{every, "file:///etc/passwd", nowhere, Yes},
		{every, "FILE://LocalHost/etc/passwd", nowhere, Yes},
		{`{"below":"/srv/a b"}`, "file:///srv/a%20b/c", nowhere, Yes},
		{`{"below":"/srv"}`, "file:///srv/../etc", nowhere, No},
		{`{"below":"/srv"}`, "file:///srv/%2e%2e/etc", nowhere, Maybe},
		{`{"below":"/srv"}`, "file:///srv/..%2fetc", nowhere, Maybe},
		{`{"below":"/srv"}`, "file:///srv/%00", nowhere, Maybe},
		{`{"below":"/srv"}`, "file:///srv/%zz", nowhere, Maybe},
		{`{"below":"/srv"}`, "file:///srv/a?b", nowhere, Maybe},
		{`{"below":"/srv"}`, "file:///srv/a#b", nowhere, Maybe},
		{`{"below":"/srv"}`, "file://host/srv/a", nowhere, Maybe},
		{`{"below":"/srv"}`, "file://srv", nowhere, Maybe},
		{`{"below":"/srv"}`, "file:/srv", nowhere, Maybe},
		{`{"below":"/srv"}`, "http://h/srv", nowhere, Maybe},
		{`{"below":"C:/Work"}`, "file:///C:/Work/a", nowhere, Maybe},

		// Drives.
		{windowC, `C:\Work\Docs\a.txt`, nowhere, Yes},
		{windowC, `c:/work/DOCS/a.txt`, nowhere, Yes},
		{windowC, `C:\Work\Docs\..\else`, nowhere, No},
		{windowC, `C:\Work\Docs2`, nowhere, No},
		{windowC, `D:\Work\Docs\a`, nowhere, No},
		{windowC, `C:\..\..\Work\Docs\a`, nowhere, Yes},
		{windowC, `C:Work\Docs`, nowhere, Maybe},
		{windowC, `/Work/Docs/a`, nowhere, Maybe},
		{windowC, `C:\Work\Docs\a::$DATA`, nowhere, Maybe},
		{windowC, `C:\WORK~1\Docs`, nowhere, Maybe},
		{windowC, `C:\Work\Docs\private\a`, nowhere, No},
		{windowC, `C:\Work\Docs\Private\a`, nowhere, Maybe},
		{windowC, "C:\\Wor\u212a\\Docs", nowhere, Maybe},
		{every, `C:\Work`, nowhere, Maybe},
		{docs, "a", windows, Yes},
		{`{"below":"Docs"}`, `C:\WORK\docs\a`, windows, Yes},

		// Exclusions.
		{noGit, "a", nowhere, Yes},
		{noGit, ".git", nowhere, No},
		{noGit, ".git/config", nowhere, No},
		{noGit, "a/b/.git/hooks/x", nowhere, No},
		{noGit, "a/.git", nowhere, No},
		{noGit, ".github/x", nowhere, Yes},
		{noGit, "a.git", nowhere, Yes},
		{noGit, ".GIT/config", nowhere, Maybe},
		{noGit, ".g\u200cit/config", nowhere, Maybe},
		{noGit, "GIT~1/config", nowhere, Maybe},
		{noGit, ".git./config", nowhere, Maybe},
		{noGit, ".git::$INDEX_ALLOCATION/config", nowhere, Maybe},
		{noGit, "/home/u/project/.git", project, No},
		{`{"below":".","not":".git"}`, "a/.git/b", nowhere, No},
		{`{"below":".","not":".git/**"}`, "a/.git", nowhere, No},
		{`{"below":".","not":".git/"}`, "a/.git/b", nowhere, No},
		{`{"below":".","not":".*"}`, "a/.env", nowhere, No},
		{`{"below":".","not":".*"}`, "a/b.env", nowhere, Yes},
		{secrets, "docs/a.md", nowhere, Yes},
		{secrets, "docs/private", nowhere, No},
		{secrets, "docs/private/a", nowhere, No},
		{secrets, "docs/privates", nowhere, Yes},
		{secrets, "docs/a.pem", nowhere, No},
		{secrets, "docs/a.pem/b", nowhere, No},
		{secrets, "docs/a.PEM", nowhere, Maybe},
		{secrets, "src/keys/a", nowhere, No},
		{secrets, "src/a/keys", nowhere, No},
		{secrets, "src/a/b/keys/c", nowhere, No},
		{secrets, "src/monkeys", nowhere, Yes},
		{secrets, "docs/src/keys", nowhere, No},
		{secrets, "docs/private", project, No},
		{`{"below":"/","not":"/etc"}`, "/etc/passwd", nowhere, No},
		{`{"below":"/","not":"/etc"}`, "/ETC/passwd", nowhere, Maybe},
		{`{"below":"/","not":"/etc"}`, "/a/etc", nowhere, Yes},
		{`{"below":"/","not":"/etc/**"}`, "/etc", nowhere, No},
		{`{"below":"/","not":"/home/*/.ssh"}`, "/home/u/.ssh/id", nowhere, No},
		{`{"below":"/","not":"/home/*/.ssh"}`, "/home/u/v/.ssh/id", nowhere, Yes},
		{`{"below":"/","not":"~/.ssh"}`, "/home/u/.ssh/id", nowhere, Maybe},
		{`{"below":"/","not":"~/.ssh"}`, "/home/u/ssh/id", nowhere, Yes},
		{`{"below":"~","not":"~/.ssh/**"}`, "~/.ssh/id", nowhere, No},
		{`{"below":"~","not":"~/.ssh/**"}`, "~/a/.ssh/id", nowhere, Yes},
		{`{"below":"~","not":"/home/u/.ssh"}`, "~/.ssh/id", nowhere, Maybe},
		{`{"below":".","not":"/etc"}`, "passwd", nowhere, Maybe},
		{`{"below":".","not":"/etc"}`, "passwd", project, Yes},

		// A glob does not see the folders above the root, except from an absolute folder.
		{`{"below":".","not":"u"}`, "a", project, Yes},
		{`{"below":".","not":"u"}`, "u/a", project, No},
		{`{"below":"/home","not":"u"}`, "a", project, No},
		{`{"below":["/home",".git"],"not":"u"}`, ".git/a", project, Yes},
		{`{"below":".","not":"u"}`, "/home/u/project/a", nowhere, Maybe},
	} {
		t.Run(fmt.Sprintf("%s %.40q %v", tt.pattern, tt.text, tt.at), func(t *testing.T) {
			if got := mustPath(t, tt.pattern).Match(tt.text, tt.at); got != tt.want {
				t.Errorf("%s, want %s", verdictName[got], verdictName[tt.want])
			}
		})
	}
}

func TestParsePath_Errors(t *testing.T) {
	list := func(entry string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + "]"
	}
	for _, tt := range []struct{ text, pointer string }{
		{`"docs"`, ""},
		{`[]`, ""},
		{`{}`, ""},
		{`{"not":"a"}`, ""},
		{`{"below":"a","a/b":1}`, "/a~1b"},
		{`{"below":[]}`, "/below"},
		{`{"below":1}`, "/below"},
		{`{"below":["a",null]}`, "/below/1"},
		{`{"below":""}`, "/below"},
		{`{"below":"a\u0000"}`, "/below"},
		{`{"below":"a\nb"}`, "/below"},
		{`{"below":".."}`, "/below"},
		{`{"below":"a/../../b"}`, "/below"},
		{`{"below":"~/.."}`, "/below"},
		{`{"below":"~u"}`, "/below"},
		{`{"below":"$HOME"}`, "/below"},
		{`{"below":"docs/*"}`, "/below"},
		{`{"below":"a\\b"}`, "/below"},
		{`{"below":"a:b"}`, "/below"},
		{`{"below":"C:"}`, "/below"},
		{`{"below":"a."}`, "/below"},
		{`{"below":"%2e"}`, "/below"},
		{`{"below":"file:///a"}`, "/below"},
		{`{"below":"` + strings.Repeat("a", maxEntry+1) + `"}`, "/below"},
		{`{"below":` + list(`"a"`, maxEntries+1) + `}`, "/below"},
		{`{"below":"a","not":[]}`, "/not"},
		{`{"below":"a","not":""}`, "/not"},
		{`{"below":"a","not":["a","!b"]}`, "/not/1"},
		{`{"below":"a","not":"*.{a,b}"}`, "/not"},
		{`{"below":"a","not":"a?"}`, "/not"},
		{`{"below":"a","not":"../a"}`, "/not"},
		{`{"below":"a","not":"~u/a"}`, "/not"},
		{`{"below":"a","not":"*"}`, "/not"},
		{`{"below":"a","not":"**/*"}`, "/not"},
		{`{"below":"a","not":"."}`, "/not"},
		{`{"below":"a","not":"` + strings.Repeat("a", maxGlob+1) + `"}`, "/not"},
		{`{"below":"a","not":` + list(`"`+strings.Repeat("a", maxGlob)+`"`, 5) + `}`, "/not/4"},
	} {
		t.Run(fmt.Sprintf("%.60s", tt.text), func(t *testing.T) {
			_, err := ParsePath(jsonValue(t, tt.text))
			var e *Error
			if !errors.As(err, &e) || e.Pointer != tt.pointer {
				t.Errorf("%v, want an error at %q", err, tt.pointer)
			}
		})
	}
}

func TestPath_String(t *testing.T) {
	for text, want := range map[string]string{
		`{"below":"docs"}`: "paths below docs",
		`{"below":["docs","~/a"],"not":["**/.git/**","*.pem"]}`: "paths below docs or ~/a, except **/.git/**, *.pem",
	} {
		if got := mustPath(t, text).String(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestPath_Covers(t *testing.T) {
	for _, tt := range []struct {
		p, q string
		want bool
	}{
		{`{"below":"docs"}`, `{"below":"docs/"}`, true},
		{`{"below":"docs"}`, `{"below":["docs/a","docs/b"]}`, true},
		{`{"below":"docs"}`, `{"below":["docs/a","src"]}`, false},
		{`{"below":"docs/a"}`, `{"below":"docs"}`, false},
		{`{"below":"."}`, `{"below":"docs"}`, true},
		{`{"below":"/"}`, `{"below":"/docs"}`, true},
		{`{"below":"/"}`, `{"below":"docs"}`, false},
		{`{"below":"/"}`, `{"below":"~"}`, false},
		{`{"below":"C:/a"}`, `{"below":"c:\\A\\b"}`, true},
		{`{"below":"docs"}`, `{"below":"Docs"}`, false},
		{`{"below":"docs"}`, `{"below":"docs","not":"a"}`, true},
		{`{"below":"docs","not":"a"}`, `{"below":"docs"}`, false},
		{`{"below":"docs","not":"a"}`, `{"below":"docs","not":["b","**/a/**"]}`, true},
		{`{"below":"docs","not":"/a"}`, `{"below":"docs","not":"a"}`, false},
	} {
		t.Run(tt.p+" "+tt.q, func(t *testing.T) {
			if got := mustPath(t, tt.p).Covers(mustPath(t, tt.q)); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

var (
	somePath = rapid.StringOfN(rapid.RuneFrom([]rune("aAb./~\\:*%2e \u200c")), 1, 12, -1)
	somePart = rapid.SampledFrom([]string{"a", "b", "A", ".", "..", "", "*", "**", "~", "C:", ".git", "a b"})
	someGlob = rapid.Map(rapid.SliceOfN(somePart, 1, 4), func(parts []string) string { return strings.Join(parts, "/") })
	aPath    = rapid.OneOf(somePath, someGlob)
	aPlace   = rapid.SampledFrom([]Place{
		{}, {Root: "/a", Dir: "/a"}, {Root: "/a", Dir: "/a/b"}, {Root: "/b"}, {Dir: "/a"}, {Root: "C:/a", Dir: "C:/A/b"}, {Root: "~", Dir: "~/a"},
	})
)

// somePattern draws a matcher, which may be nil.
func somePattern(t *rapid.T, label string) *Path {
	text := fmt.Sprintf(`{"below":%s`, protocol.AppendString(nil, aPath.Draw(t, label)))
	if rapid.Bool().Draw(t, label+" has not") {
		text += fmt.Sprintf(`,"not":%s`, protocol.AppendString(nil, aPath.Draw(t, label+" not")))
	}
	doc, err := protocol.ParseJSON([]byte(text+"}"), 8)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePath(doc.Root())
	if err != nil {
		return nil
	}
	return p
}

func TestPath_CoversWhatMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := somePattern(t, "p"), somePattern(t, "q")
		if p == nil || q == nil {
			return
		}
		if !p.Covers(p) {
			t.Fatalf("%v does not cover itself", p)
		}
		text, at := aPath.Draw(t, "text"), aPlace.Draw(t, "place")
		if p.Covers(q) && q.Match(text, at) == Yes && p.Match(text, at) != Yes {
			t.Fatalf("%v covers %v, which alone matches %q in %v", p, q, text, at)
		}
	})
}

// A path means the same with other spellings of it.
func TestPath_Spellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := somePattern(t, "p")
		if p == nil {
			return
		}
		text, at := aPath.Draw(t, "text"), aPlace.Draw(t, "place")
		first := p.Match(text, at)
		if strings.HasPrefix(text, "~") || strings.Contains(text, "://") {
			return
		}
		for _, other := range []string{strings.ReplaceAll(text, "/", "//"), strings.ReplaceAll(text, "/", "/./"), text + "/", text + "/a/.."} {
			if got := p.Match(other, at); got != first && text != "" && got != Maybe && first != Maybe {
				t.Fatalf("%v: %s for %q and %s for %q", p, verdictName[first], text, verdictName[got], other)
			}
		}
	})
}

// FuzzPath checks what is certain against the standard library.
func FuzzPath(f *testing.F) {
	for _, seed := range [][4]string{
		{"docs", ".git", "docs/../docs/a", ""}, {"/srv", "**/x/**", "/srv//a/./b", "/a"}, {".", "*.pem", "a/.git", "/srv/docs"},
		{"~", "~/.ssh", "~/a", ""}, {"C:/a", "b", `c:\A\c`, ""}, {"/", "a", "file:///a%20b", ""}, {"docs", "", "../docs", "/srv/docs"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, below, not, text, dir string) {
		object := fmt.Sprintf(`{"below":%s`, protocol.AppendString(nil, below))
		if not != "" {
			object += fmt.Sprintf(`,"not":%s`, protocol.AppendString(nil, not))
		}
		doc, err := protocol.ParseJSON([]byte(object+"}"), 8)
		if err != nil {
			return
		}
		p, err := ParsePath(doc.Root())
		if err != nil {
			return
		}
		verdict := p.Match(text, Place{Root: dir, Dir: dir})
		if !p.Covers(p) {
			t.Fatalf("%v does not cover itself", p)
		}
		if verdict != Yes || driveStart.MatchString(text) || driveStart.MatchString(dir) || strings.HasPrefix(strings.ToLower(text), "file:") {
			return
		}
		top, got := below, text
		if dir != "" {
			if !filepath.IsAbs(top) && top[0] != '~' {
				top = filepath.Join(dir, top)
			}
			if !filepath.IsAbs(got) && got[0] != '~' {
				got = filepath.Join(dir, got)
			}
		}
		rel, err := filepath.Rel(filepath.Clean(top), filepath.Clean(got))
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			t.Fatalf("%q is said to be below %q in %q, and is %q (%v)", text, below, dir, rel, err)
		}
		if !strings.ContainsAny(not, "*/.~") && not != "" {
			for segment := range strings.SplitSeq(rel, "/") {
				if strings.EqualFold(segment, not) {
					t.Fatalf("%q is not excluded by %q", text, not)
				}
			}
		}
	})
}

// The work is bounded: globs whose text is nearly found at every byte of a path.
func BenchmarkPath_Match(b *testing.B) {
	worst := `"*` + strings.Repeat("a", maxGlob-2) + `b"`
	worst = "[" + worst + "," + worst + "," + worst + "," + worst + "]"
	for _, bb := range []struct{ name, not, text string }{
		{"usual", `"**/.git/**"`, "docs/policy/arguments.md"},
		{"long", `"**/.git/**"`, strings.Repeat(strings.Repeat("a", 15)+"/", 250)},
		{"worst", worst, strings.Repeat("a", maxArgument)},
	} {
		p := mustPath(b, `{"below":["."],"not":`+bb.not+`}`)
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				p.Match(bb.text, Place{})
			}
			b.ReportMetric(20*float64(p.Cost(len(bb.text))), "ns-charged/op")
		})
	}
}

// TestPath_Real checks that a path and what it leads to must both match.
func TestPath_Real(t *testing.T) {
	p := mustPath(t, `{"below":"docs"}`)
	for name, x := range map[string]struct {
		real string
		want Verdict
	}{
		"inside":  {"docs/b", Yes},
		"outside": {"/etc/passwd", Maybe},
		"other":   {"src/b", Maybe},
	} {
		t.Run(name, func(t *testing.T) {
			got := p.Match("docs/a", Place{Real: map[string]string{"docs/a": x.real}})
			if got != x.want {
				t.Errorf("got %v, want %v", got, x.want)
			}
		})
	}
	if got := p.Match("docs/c", Place{Real: map[string]string{"docs/a": "/etc"}}); got != Yes {
		t.Errorf("the links of another path count: %v", got)
	}
}
