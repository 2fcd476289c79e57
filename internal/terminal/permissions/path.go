package permissions

import (
	"errors"
	"path"
	"regexp"
	"strings"

	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/protocol"
)

// place is a path of a rule.
type place struct {
	path     string // with slashes, and without a slash at the end
	absolute bool
	folder   bool // only what is below the path
	glob     bool // the path has stars and other characters of patterns
}

var (
	drive      = regexp.MustCompile(`^[A-Za-z]:[\\/]`)
	driveSlash = regexp.MustCompile(`^/([A-Za-z])(/|$)`)
	choice     = regexp.MustCompile(`\[[^\]]*\]|\{[^/]*\}`) // of characters, or of names
)

// claudePath reads a path of Claude Code: //x is absolute, /x begins at the folder of the
// settings, ~/x at the home directory, and others at the working directory.
func (t *translation) claudePath(f *File, text string) (place, error) {
	switch {
	case strings.HasPrefix(text, "//"):
		text = text[1:]
		if found := driveSlash.FindStringSubmatch(text); t.o.Windows && found != nil {
			text = strings.ToUpper(found[1]) + ":/" + text[len(found[0]):]
		}
		return parsePlace(text, true)
	case strings.HasPrefix(text, "/"):
		return parsePlace(slashes(f.Root)+text, true)
	}
	return t.path(text)
}

// path reads a path that is absolute, of the home directory, or relative to the working
// directory.
func (t *translation) path(text string) (place, error) {
	switch {
	case strings.HasPrefix(text, "!"):
		return place{}, errors.New("a pattern that is negated")
	case drive.MatchString(text):
		return parsePlace(slashes(text), true)
	case text == "~" || strings.HasPrefix(text, "~/"):
		return parsePlace(slashes(t.o.Home)+text[1:], true)
	case strings.HasPrefix(text, "/"):
		return parsePlace(text, true)
	}
	for strings.HasPrefix(text, "./") {
		text = strings.TrimLeft(text[2:], "/")
	}
	return parsePlace(text, false)
}

func slashes(path string) string { return strings.TrimRight(strings.ReplaceAll(path, `\`, "/"), "/") }

// parsePlace parses a path with the patterns of .gitignore.
func parsePlace(text string, absolute bool) (place, error) {
	p := place{absolute: absolute}
	for again := true; again; {
		again = false
		for _, end := range []string{"/**/*", "/**", "/"} {
			if rest, ok := strings.CutSuffix(text, end); ok {
				text, p.folder, again = rest, true, true
				break
			}
		}
	}
	if !absolute && (text == "**" || text == "*" || text == ".") {
		text, p.folder = "", true
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) {
			i++
			if text[i] == '*' {
				return p, errors.New("a name with a star")
			}
			out.WriteByte(text[i])
			continue
		}
		p.glob = p.glob || strings.IndexByte("*?[{", c) >= 0
		out.WriteByte(c)
	}
	p.path = out.String()
	return p, nil
}

// below returns the matcher of all that is below a path without patterns.
func (p *place) below() object {
	path := p.path
	switch {
	case path == "" && p.absolute:
		path = "/"
	case path == "":
		path = "."
	case strings.HasSuffix(path, ":"):
		path += "/"
	}
	return object{{"$path", object{{"below", path}}}}
}

// check returns why no $path is for the path.
func (p *place) check() error {
	switch {
	case p.glob:
		return errors.New("a pattern of names; $path has whole folders")
	case p.path != "" && path.Clean(p.path) != p.path:
		return errors.New("it has .., . or an empty name")
	case strings.Contains(p.path, `\`):
		return errors.New(`a name with a \`)
	case !p.absolute && (strings.HasPrefix(p.path, "~") || drive.MatchString(p.path)):
		return errors.New("a name in the working directory that $path reads otherwise")
	}
	return checkMatcher(p.below())
}

// checkMatcher returns why a gateway would reject a $path or $url.
func checkMatcher(matcher object) error {
	doc, err := protocol.ParseJSON(matcher.json(), protocol.MaxDepth)
	switch {
	case err != nil:
		return err
	case matcher[0].key == "$path":
		_, err = argument.ParsePath(doc.Root().Get("$path"))
	default:
		_, err = argument.ParseURL(doc.Root().Get("$url"))
	}
	var reason *argument.Error
	if errors.As(err, &reason) {
		return reason.Err
	}
	return err
}

// note says what the matcher of an allowing rule leaves out.
func (p *place) note() string {
	if !p.absolute && !p.folder && !strings.Contains(p.path, "/") {
		return "only in the working directory itself"
	}
	return ""
}

// restricted returns the pattern of a rule that asks or denies. A relative path of one name
// stands for that name in all folders.
func (p *place) restricted(windows bool) (pattern any, ok bool) {
	parent := strings.LastIndex("/"+p.path+"/", "/../")
	if p.check() == nil && (p.absolute || p.path == "" || strings.Contains(p.path, "/")) {
		return p.below(), true
	}
	glob := p.path
	if parent >= 0 { // what is above a .. is not known
		glob = strings.TrimPrefix(glob[min(len(glob), parent+2):], "/")
	}
	glob = choice.ReplaceAllString(glob, "*")
	glob = strings.NewReplacer("?", "*", "[", "*").Replace(glob)
	for strings.Contains(glob, "/**/") { // also no folder
		glob = strings.ReplaceAll(glob, "/**/", "/**")
	}
	glob = strings.TrimPrefix(glob, "**/")
	starts := []string{"", "**/"}
	if p.absolute && parent < 0 {
		starts = starts[:1]
	}
	var out []string
	for _, start := range starts {
		for _, end := range []string{"", "/**"} {
			text := start + glob + end
			out = append(out, text)
			if windows && strings.Contains(text, "/") {
				out = append(out, strings.ReplaceAll(text, "/", `\`))
			}
		}
	}
	return out, glob != "" && len(glob) <= maxGlob-6 && !strings.HasPrefix(glob, "!")
}
