package argument

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/protocol"
)

// Path is a compiled $path: the paths below some folders, except those that globs exclude.
//
//	{"below": "docs", "not": ["**/.git/**", "*.pem", "~/.ssh"]}
//
// A folder is below itself, and what contains it is not. "." is what is below the start of
// relative paths, "/" every absolute path, and "~" the home of the user who runs the tool.
//
// The globs are like those of .gitignore: * is any text in a segment and ** any segments, and
// a glob excludes what it matches and everything below that. A glob that begins with / or ~ is
// compared with the whole path, any other with each part of it: of the part after
// Place.Root for a relative folder, of the whole path for another.
//
// # Certainty
//
// A path is compared after . and .. are resolved in its text. These are uncertain:
//
//   - a relative path and an absolute one, and a relative path that begins with .., while the
//     place is unknown;
//   - ~ and an absolute or relative path, and any ~user;
//   - a drive and a path without one. Below a drive, \ is / and the case of ASCII is ignored;
//     elsewhere a \ is uncertain, so that \\host\share is;
//   - control characters, text that is not UTF-8, percent encodings of dots and slashes, and
//     a variable or brace list that a tool may expand;
//   - what Windows reads as another name: trailing dots and spaces, colons, short names;
//   - a file: URL of another host, or with a query or fragment.
//
// A folder or glob that matches only if case, Unicode normalization and invisible characters
// are ignored, as some file systems do, matches with [Maybe].
//
// The work of a match is at most proportional to the bytes of the path, 4 KiB, times those of
// the globs, 1 KiB; see [Path.Cost].
type Path struct {
	below     []location
	not       []exclusion
	source    string
	folders   int // bytes of below
	globBytes int // bytes of not
}

// ParsePath compiles the value of $path. The error is an *[Error].
func ParsePath(v protocol.Value) (*Path, error) { return parsePath(v) }

// parsePath is ParsePath for an object that may have more keys.
func parsePath(v protocol.Value, more ...string) (*Path, error) {
	err := checkKeys(v, append([]string{"below", "not"}, more...)...)
	if err != nil {
		return nil, err
	}
	p := &Path{}
	var names []string
	p.below, err = readList(v, "below", func(v protocol.Value) (location, error) {
		name, err := readEntry(v)
		if err != nil {
			return location{}, err
		}
		names = append(names, name)
		p.folders += len(name)
		return readFolder(name)
	})
	if err != nil {
		return nil, err
	}
	if p.below == nil {
		return nil, &Error{Err: errors.New(`below is missing; "." is every relative path`)}
	}
	p.source = "paths below " + strings.Join(names, " or ")
	var globs []string
	p.not, err = readList(v, "not", func(v protocol.Value) (exclusion, error) {
		name, err := readGlob(v, &p.globBytes)
		if err != nil {
			return exclusion{}, err
		}
		globs = append(globs, name)
		return readExclusion(name)
	})
	if err != nil {
		return nil, err
	}
	if globs != nil {
		p.source += ", except " + strings.Join(withoutSecrets(globs), ", ")
	}
	return p, nil
}

// withoutSecrets returns globs to people, with one name for all of [SecretNames].
func withoutSecrets(globs []string) []string {
	if slices.ContainsFunc(SecretNames, func(name string) bool { return !slices.Contains(globs, name) }) {
		return globs
	}
	rest := slices.DeleteFunc(globs, func(name string) bool { return slices.Contains(SecretNames, name) })
	return append(rest, "names of secret files")
}

// Relative reports whether a folder is relative, so that absolute paths match it only in a known place.
func (p *Path) Relative() bool {
	return slices.ContainsFunc(p.below, func(l location) bool { return l.kind == relative })
}

// String describes the paths.
func (p *Path) String() string { return p.source }

// Cost returns about how many steps of 20 ns a match of a text of n bytes takes at most.
func (p *Path) Cost(n int) int {
	return 64 + 8*p.folders + min(n, maxArgument)*(16+p.globBytes)
}

// Match reports whether the text is one of the paths, and so is what it leads to by symbolic links.
func (p *Path) Match(text string, at Place) Verdict { return p.in(at).match(text) }

// placed is a Path in a place.
type placed struct {
	*Path
	real          map[string]string
	dir           location
	okDir, okRoot bool
	tops          []location // of below
}

// in returns the path in a place; nil for nil.
func (p *Path) in(at Place) *placed {
	if p == nil {
		return nil
	}
	x := &placed{Path: p, real: at.Real, tops: make([]location, len(p.below))}
	x.dir, x.okDir = readStart(at.Dir)
	var root location
	root, x.okRoot = readStart(at.Root)
	for i, below := range p.below {
		x.tops[i], _ = below.from(root) // it has no .. that could fail
	}
	return x
}

func (p *placed) match(text string) Verdict {
	verdict := p.matchOne(text)
	real, ok := p.real[text]
	if ok && verdict != p.matchOne(real) {
		return Maybe
	}
	return verdict
}

func (p *placed) matchOne(text string) Verdict {
	argument, err := readArgument(text)
	if err != nil {
		return Maybe
	}
	l, ok := argument.from(p.dir)
	if !ok || !p.okDir && argument.kind == relative {
		return Maybe
	}
	verdict := No
	var starts []int // where the part of the path begins that globs are compared with
	for i, below := range p.below {
		top := p.tops[i]
		switch {
		case top.kind != l.kind || l.up > 0 || !p.okRoot && below.kind == relative:
			verdict = Maybe
		case l.in(top):
			start := len(top.segments) - len(below.segments)
			if !slices.Contains(starts, start) {
				starts = append(starts, start)
			}
		case len(l.segments) >= len(top.segments) && l.loose().in(top.loose()):
			verdict = Maybe
		}
	}
	for _, start := range starts {
		verdict = max(verdict, p.spares(l, start))
	}
	return verdict
}

// spares is Yes if no glob excludes a path, and Maybe if one does only for some file systems
// or places.
func (p *Path) spares(l location, start int) Verdict {
	if len(p.not) == 0 {
		return Yes
	}
	loose := l.loose()
	part, loosePart := globText(l.segments[start:]), globText(loose.segments[start:])
	whole, looseWhole := globText(l.segments), globText(loose.segments)
	verdict := Yes
	for i := range p.not {
		e := &p.not[i]
		excluded, possible := false, true
		switch {
		case e.kind == relative:
			excluded, possible = glob.Match(e.exact, part), glob.Match(e.loose, loosePart)
		case e.kind == l.kind:
			excluded, possible = glob.Match(e.exact, whole), glob.Match(e.loose, looseWhole)
		case e.kind == home && l.kind != relative:
			possible = glob.Match(e.anywhere, looseWhole)
		}
		if excluded {
			return No
		}
		if possible {
			verdict = Maybe
		}
	}
	return verdict
}

// Covers reports whether p certainly matches what q certainly matches: each folder of q is in
// one of p, and each glob of p is one of q.
func (p *Path) Covers(q *Path) bool {
	for _, l := range q.below {
		if !slices.ContainsFunc(p.below, l.in) {
			return false
		}
	}
	for i := range p.not {
		if !slices.ContainsFunc(q.not, func(e exclusion) bool { return e == p.not[i] }) {
			return false
		}
	}
	return true
}

// start is what a path is relative to.
type start uint8

const (
	relative start = iota
	absolute
	home
	drive // the first segment is its letter
)

// location is a path whose . and .. are resolved. The zero location is an unknown place.
type location struct {
	kind     start
	up       int // of a relative path: the .. at its start
	segments []string
}

// driveStart matches the start of a path of a Windows drive.
var driveStart = regexp.MustCompile(`^[A-Za-z]:[\\/]`)

// shortName matches a name that Windows may have made up for a longer one.
var shortName = regexp.MustCompile(`~[0-9]`)

// readArgument reads a path or a file: URL.
func readArgument(text string) (location, error) {
	if len(text) > maxArgument {
		return location{}, fmt.Errorf("it has more than %d bytes", maxArgument)
	}
	if len(text) < 7 || !strings.EqualFold(text[:7], "file://") {
		return readLocation(text)
	}
	host, rest, found := strings.Cut(text[7:], "/")
	decoded, ok := decodePath("/" + rest)
	if !found || !ok || host != "" && !strings.EqualFold(host, "localhost") || strings.ContainsAny(rest, "?#") {
		return location{}, errors.New("it is no URL of a local file")
	}
	return readLocation(decoded)
}

// readLocation reads a path. An error says why its meaning is uncertain.
func readLocation(text string) (location, error) {
	l := location{}
	rest := text
	switch {
	case text == "":
		return location{}, errors.New("it is empty")
	case !isPlain(text):
		return location{}, errors.New("it has a control character")
	case strings.TrimSpace(text) != text:
		return location{}, errors.New("it begins or ends with a blank, which some tools remove")
	case strings.Contains(text, "%") && hiddenSyntax.MatchString(text):
		return location{}, errors.New("it has a percent encoding; write the character itself")
	case len(text) > 1 && text[1] == ':' && driveStart.MatchString(text):
		l.kind, l.segments = drive, []string{text[:2]}
		rest = strings.ReplaceAll(text[2:], `\`, "/")
	case strings.Contains(text, `\`):
		return location{}, errors.New(`it has a \ but no drive letter; separate segments by /`)
	case text[0] == '/':
		l.kind = absolute
	case text[0] == '~':
		if text != "~" && text[1] != '/' {
			return location{}, errors.New("it is in the home of another user; write the path")
		}
		l.kind, rest = home, text[1:]
	case text[0] == '$' || text[0] == '%':
		return location{}, errors.New("it begins with a variable; write its value")
	}
	separators := strings.Count(rest, "/")
	if separators >= maxSegments {
		return location{}, fmt.Errorf("it has more than %d segments", maxSegments)
	}
	l.segments = slices.Grow(l.segments, 1+separators)
	for segment := range strings.SplitSeq(rest, "/") {
		switch {
		case segment == "" || segment == ".":
		case segment == "..":
			if !l.ascend() {
				return location{}, errors.New("it leaves the home")
			}
		case strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " "):
			return location{}, fmt.Errorf("the segment %q ends with a dot or space, which Windows ignores", segment)
		case strings.Contains(segment, ":"):
			return location{}, fmt.Errorf("the segment %q has a colon, which Windows reads as a drive or stream", segment)
		case strings.Contains(segment, "~") && shortName.MatchString(segment):
			return location{}, fmt.Errorf("the segment %q may be the short name of another", segment)
		case strings.Contains(segment, "..") && strings.ContainsAny(segment, "{,;}"):
			return location{}, fmt.Errorf("the segment %q has .. in a list", segment)
		default:
			l.segments = append(l.segments, segment)
		}
	}
	return l, nil
}

// readFolder reads a folder of a matcher.
func readFolder(name string) (location, error) {
	if glob.HasStar(name) {
		return location{}, errors.New("it is a folder; globs are for not")
	}
	l, err := readLocation(name)
	if err != nil {
		return location{}, err
	}
	if l.up > 0 {
		return location{}, errors.New("it begins with ..; write an absolute path")
	}
	return l, nil
}

// readStart reads what paths are relative to. It is the zero location if that is unknown, and
// false if it is uncertain.
func readStart(text string) (location, bool) {
	if text == "" {
		return location{}, true
	}
	l, err := readLocation(text)
	return l, err == nil && l.kind != relative
}

// ascend goes to the parent. It fails at the home, whose parent is unknown.
func (l *location) ascend() bool {
	top := 0
	if l.kind == drive {
		top = 1
	}
	switch {
	case len(l.segments) > top:
		l.segments = l.segments[:len(l.segments)-1]
	case l.kind == relative:
		l.up++
	case l.kind == home:
		return false
	}
	return true
}

// from returns a location with what it is relative to.
func (l location) from(place location) (location, bool) {
	if l.kind != relative {
		return l, true
	}
	out := location{kind: place.kind, segments: append(make([]string, 0, len(place.segments)+len(l.segments)), place.segments...)}
	for range l.up {
		if !out.ascend() {
			return location{}, false
		}
	}
	out.segments = append(out.segments, l.segments...)
	return out, true
}

// in reports whether a location is another or below it. Neither begins with .. .
func (l location) in(top location) bool {
	if l.kind != top.kind || len(l.segments) < len(top.segments) {
		return false
	}
	same := func(a, b string) bool { return a == b }
	if l.kind == drive {
		same = func(a, b string) bool { return lowerASCII(a) == lowerASCII(b) }
	}
	return slices.EqualFunc(l.segments[:len(top.segments)], top.segments, same)
}

// loose returns a location as file systems see it that ignore what some do.
func (l location) loose() location {
	out := l
	out.segments = make([]string, len(l.segments))
	for i, segment := range l.segments {
		out.segments[i] = fold(segment)
	}
	return out
}

// exclusion is a glob of not.
type exclusion struct {
	kind     start // relative: it is compared with each part of a path
	exact    glob.Glob
	loose    glob.Glob
	anywhere glob.Glob // of a home: loose, compared with each part of a path
}

func readExclusion(name string) (exclusion, error) {
	e := exclusion{}
	rest := name
	switch {
	case strings.ContainsAny(name, `?[]{}\`) || name[0] == '!':
		return exclusion{}, errors.New(`a glob has * and ** only, so none of ? [ ] { } \ and no ! at its start; list each name`)
	case name[0] == '/':
		e.kind = absolute
	case name[0] == '~':
		if name != "~" && name[1] != '/' {
			return exclusion{}, errors.New("it is in the home of another user; write the path")
		}
		e.kind, rest = home, name[1:]
	}
	segments := strings.Split(strings.Trim(path.Clean("./"+rest), "/"), "/")
	if slices.Contains(segments, "..") {
		return exclusion{}, errors.New("it has ..; write the path without")
	}
	segments = slices.DeleteFunc(segments, func(s string) bool { return s == "." })
	if e.kind == relative && strings.Trim(strings.Join(segments, ""), "*") == "" {
		return exclusion{}, errors.New("it excludes every path")
	}
	e.exact = compileExclusion(segments, e.kind == relative)
	for i := range segments {
		segments[i] = fold(segments[i])
	}
	e.loose = compileExclusion(segments, e.kind == relative)
	e.anywhere = compileExclusion(segments, true)
	return e, nil
}

// compileExclusion returns the glob that matches the globText of the excluded paths. There
// each separator is two slashes, and ** has the second of one and the first of another, so
// that it may be no segment: a/**/b is a//**//b, with one slash on each side, and excludes a/b.
func compileExclusion(segments []string, anywhere bool) glob.Glob {
	text, deep := "", anywhere
	if deep {
		text = "/**"
	}
	for _, segment := range append(slices.Clone(segments), "**") {
		switch {
		case len(segment) > 1 && strings.Trim(segment, "*") == "":
			if !deep {
				text += "/**"
				deep = true
			}
		case deep:
			text += "/" + segment
			deep = false
		default:
			text += "//" + segment
		}
	}
	return glob.Compile(text + "/")
}

// globText returns segments with two slashes before, between and after them.
func globText(segments []string) string {
	var b strings.Builder
	b.WriteString("//")
	for _, segment := range segments {
		b.WriteString(segment)
		b.WriteString("//")
	}
	return b.String()
}

// fold returns a text without what some file systems ignore in names: case, the form of
// composed characters, and invisible characters.
func fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return lowerASCII(s)
	}
	visible := strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		return r
	}, s)
	return norm.NFD.String(cases.Fold().String(norm.NFD.String(visible)))
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
