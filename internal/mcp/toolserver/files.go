package toolserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

type listArgs struct {
	Path   string `json:"path" jsonschema:"the directory, absolute or relative to the allowed one"`
	Titles bool   `json:"titles,omitempty" jsonschema:"add the first heading of each Markdown file, after a tab"`
}

func (f *folder) list(args listArgs) (string, error) {
	rel, err := f.relative(args.Path)
	if err != nil {
		return "", err
	}
	dir, err := f.root.Open(rel)
	if err != nil {
		return "", err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	var lines []string
	for i, e := range entries {
		if i == maxEntries {
			lines = append(lines, fmt.Sprintf("[more than %d entries]", maxEntries))
			break
		}
		line, title := "[FILE] "+e.Name(), ""
		switch {
		case e.IsDir():
			line = "[DIR] " + e.Name()
		case args.Titles:
			title = f.title(filepath.Join(rel, e.Name()))
		}
		if title != "" {
			line += "\t" + title
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b string) int { // directories and files together
		_, x, _ := strings.Cut(a, " ")
		_, y, _ := strings.Cut(b, " ")
		return strings.Compare(x, y)
	})
	return strings.Join(lines, "\n"), nil
}

// title returns the first heading at the beginning of a Markdown file; "": there is none.
func (f *folder) title(rel string) string {
	info, err := f.root.Stat(rel)
	if err != nil || !isMarkdown(rel) || !info.Mode().IsRegular() { // reading a pipe could block forever
		return ""
	}
	file, err := f.root.Open(rel)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	start, _ := io.ReadAll(io.LimitReader(file, maxTitle)) // what could be read counts
	for line := range strings.Lines(string(start)) {
		if m := heading.FindStringSubmatch(strings.TrimSpace(line)); len(m) > 2 && utf8.ValidString(m[2]) {
			return textutil.ShortenChars(m[2], 120)
		}
	}
	return ""
}

type readArgs struct {
	Path string `json:"path" jsonschema:"the file, absolute or relative to the allowed directory"`
	Head int    `json:"head,omitempty" jsonschema:"return the first N lines only"`
	Tail int    `json:"tail,omitempty" jsonschema:"return the last N lines only"`
}

func (f *folder) read(args readArgs) (string, error) {
	if args.Head > 0 && args.Tail > 0 {
		return "", errors.New("head and tail cannot be asked for together")
	}
	if args.Head < 0 || args.Tail < 0 {
		return "", errors.New("head and tail are numbers of lines, 0 or more")
	}
	rel, err := f.relative(args.Path)
	if err != nil {
		return "", err
	}
	info, err := f.root.Stat(rel)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // reading a pipe could block forever
		return "", fmt.Errorf("%s is not a regular file", args.Path)
	}
	file, err := f.root.Open(rel)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	text, err := lines(file, args.Head, args.Tail)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", args.Path, err)
	}
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("read %s: not a text file", args.Path)
	}
	return text, nil
}

// lines reads the whole file, the first head lines or the last tail lines.
func lines(r io.Reader, head, tail int) (string, error) {
	if head > 0 {
		br := bufio.NewReader(io.LimitReader(r, maxFileBytes))
		var b strings.Builder
		for range head {
			line, err := br.ReadString('\n')
			b.WriteString(line)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return "", err
			}
		}
		return strings.TrimSuffix(b.String(), "\n"), nil
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxFileBytes {
		return "", fmt.Errorf("larger than %d bytes; ask for its head", maxFileBytes)
	}
	if tail == 0 {
		return string(data), nil
	}
	all := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-tail):], "\n"), nil
}

type searchArgs struct {
	Path            string   `json:"path" jsonschema:"where to begin"`
	Pattern         string   `json:"pattern" jsonschema:"a glob over the path below it, such as *.md or **/*.md"`
	ExcludePatterns []string `json:"excludePatterns,omitempty" jsonschema:"globs of what to leave out"`
}

func (f *folder) search(args searchArgs) (string, error) {
	start, err := f.relative(args.Path)
	if err != nil {
		return "", err
	}
	if args.Pattern == "" {
		return "", errors.New("a pattern is needed")
	}
	var globs []glob
	for _, pattern := range append([]string{args.Pattern}, args.ExcludePatterns...) {
		g := glob(slices.Compact(strings.Split(strings.Trim(pattern, "/"), "/")))
		for _, segment := range g {
			if _, err := path.Match(segment, ""); err != nil {
				return "", fmt.Errorf("pattern %q: %w", pattern, err)
			}
		}
		globs = append(globs, g)
	}
	var found []string
	err = fs.WalkDir(f.root.FS(), filepath.ToSlash(start), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return skipUnreadable(p, filepath.ToSlash(start), err)
		}
		rel := below(p, filepath.ToSlash(start))
		if rel == "" {
			return nil
		}
		if slices.ContainsFunc(globs[1:], func(excluded glob) bool { return excluded.match(rel) }) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if globs[0].match(rel) {
			found = append(found, filepath.Join(f.path, filepath.FromSlash(p)))
		}
		if len(found) == maxEntries {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "No matches found", nil
	}
	return strings.Join(found, "\n"), nil
}

// skipUnreadable skips unreadable directories, except the start.
func skipUnreadable(p, start string, err error) error {
	if p == start {
		return err
	}
	return fs.SkipDir
}

// below returns the path of p relative to start; "" for start itself.
func below(p, start string) string {
	if start == "." {
		return strings.TrimPrefix(path.Clean(p), ".")
	}
	return strings.TrimPrefix(strings.TrimPrefix(p, start), "/")
}

// glob matches slash-separated paths: a segment as path.Match does, and ** for
// zero or more whole segments.
type glob []string

// match backtracks only to the last **, so that the cost is bounded by the
// product of the numbers of segments.
func (g glob) match(p string) bool {
	segments := strings.Split(p, "/")
	i, star, mark := 0, -1, 0
	for j := 0; j < len(segments); {
		same := false
		if i < len(g) {
			same, _ = path.Match(g[i], segments[j]) // the pattern was checked
		}
		switch {
		case i < len(g) && g[i] == "**":
			star, mark = i, j
			i++
		case same:
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(g) && g[i] == "**" {
		i++
	}
	return i == len(g)
}
