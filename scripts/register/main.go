// Register counts words of a private register in the comments of Go source.
//
// Usage:
//
//	go run ./scripts/register [-check] [-v] [DIR…]
//
// It prints, for each row of the table below, occurrences per 1,000 words of
// comments in the Go files below the directories (default: the current one),
// beside the limit: the highest value that was measured in coder/websocket,
// age, the MCP go-sdk, centrifuge, derp, Pebble and nats-server. With -check
// it exits with status 1 when a row is above its limit. With -v it prints the
// places, and with -by-dir a line per directory.
package main

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rows are the counted patterns with their limits per 1,000 words.
var rows = []struct {
	name    string
	pattern *regexp.Regexp
	limit   float64
}{
	{"what", word("what"), 0.77},
	{"say, tell, hear", word("says?|said|tells?|told|hears?|heard"), 0.67},
	{"somebody, nobody, everybody", word("somebody|nobody|everybody"), 0.11},
	{"stand, stood", word("stands?|stood"), 0},
	{"behind", word("behind"), 0.14},
	{"those that, that of", word("those that|those who|that of|those of"), 0.15},
	{"whoever, whatever", word("whoever|whatever|whomever"), 0.16},
	{"besides", word("besides"), 0},
}

func word(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(alternatives, " ", `\s+`) + `)\b`)
}

var anyWord = regexp.MustCompile(`[A-Za-z][A-Za-z'-]*`)

// count holds the number of words and the number of matches of each row.
type count struct {
	words   int
	matches [8]int
}

func (c *count) add(o count) {
	c.words += o.words
	for i := range c.matches {
		c.matches[i] += o.matches[i]
	}
}

func (c *count) rate(row int) float64 {
	return 1000 * float64(c.matches[row]) / float64(max(c.words, 1))
}

func main() {
	check := flag.Bool("check", false, "exit with status 1 when a row is above its limit")
	verbose := flag.Bool("v", false, "print each match with its place")
	byDir := flag.Bool("by-dir", false, "print a line per directory")
	flag.Parse()
	dirs := flag.Args()
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	perDir := map[string]*count{}
	for _, dir := range dirs {
		if err := walk(dir, perDir, *verbose); err != nil {
			fmt.Fprintln(os.Stderr, "register:", err)
			os.Exit(2)
		}
	}
	var total count
	names := make([]string, 0, len(perDir))
	for name, c := range perDir {
		names = append(names, name)
		total.add(*c)
	}
	if *byDir {
		slices.Sort(names)
		for _, name := range names {
			c := perDir[name]
			fmt.Printf("%7d words %v %s\n", c.words, c.matches, name)
		}
	}
	above := false
	for i, row := range rows {
		note := ""
		if total.rate(i) > row.limit {
			note, above = "  above", true
		}
		fmt.Printf("%-30s %6.2f of %.2f (%d)%s\n", row.name, total.rate(i), row.limit, total.matches[i], note)
	}
	fmt.Printf("%d words\n", total.words)
	if *check && above {
		os.Exit(1)
	}
}

// walk counts the comments of the Go files below root into perDir.
func walk(root string, perDir map[string]*count, verbose bool) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		c, err := countFile(path, verbose)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		if perDir[dir] == nil {
			perDir[dir] = &count{}
		}
		perDir[dir].add(c)
		return nil
	})
}

func countFile(path string, verbose bool) (count, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return count{}, err
	}
	var c count
	for _, group := range file.Comments {
		text := group.Text()
		c.words += len(anyWord.FindAllString(text, -1))
		for i, row := range rows {
			found := row.pattern.FindAllString(text, -1)
			c.matches[i] += len(found)
			if verbose && len(found) > 0 {
				fmt.Printf("%s: %s\n", fset.Position(group.Pos()), strings.Join(found, ", "))
			}
		}
	}
	return c, nil
}
