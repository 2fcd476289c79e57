package bundle

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

// Write writes the files to a folder, and removes all other files from it.
func (f Files) Write(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty %s: %w", dir, err)
	}
	for name, content := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return fmt.Errorf("write the bundle: %w", err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // sources that everybody may read
			return fmt.Errorf("write the bundle: %w", err)
		}
	}
	return nil
}

// Differences lists the differences between a folder and these files, one
// sentence each.
func (f Files) Differences(dir string) ([]string, error) {
	var found []string
	there := make(map[string]bool)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		there[name] = true
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		switch wanted, known := f[name]; {
		case !known:
			found = append(found, name+" is not built any more")
		case !bytes.Equal(content, wanted):
			found = append(found, name+" is built differently")
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("compare with %s: %w", dir, err)
	}
	for name := range f {
		if !there[name] {
			found = append(found, name+" is missing")
		}
	}
	slices.Sort(found)
	return found, nil
}

// FirstLoad returns how many bytes, compressed, a browser fetches before the
// page appears: index.html and the First files of the manifest.
func (b *Bundle) FirstLoad() int {
	n := Compressed(b.Files["index.html"])
	for _, name := range b.First {
		n += Compressed(b.Files[name])
	}
	return n
}

// Compressed returns the size of a text after the compression of a gateway.
func Compressed(text []byte) int {
	var n counter
	w, err := gzip.NewWriterLevel(&n, gzip.BestCompression)
	if err == nil {
		_, _ = w.Write(text) // the counter cannot fail
		_ = w.Close()
	}
	return int(n)
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// Report writes the sizes of the files, and the sum of the files that the page
// needs first.
func (b *Bundle) Report(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "bytes\tgzip\t\t")
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		when := ""
		switch {
		case name == "index.html" || slices.Contains(b.First, name):
			when = "first"
		case slices.Contains(b.Lazy, name):
			when = "lazy"
		}
		fmt.Fprintf(table, "%d\t%d\t%s\t  %s\n", len(b.Files[name]), Compressed(b.Files[name]), when, name)
	}
	_ = table.Flush() // the output may be closed
	fmt.Fprintf(w, "first load: %d bytes with gzip\n", b.FirstLoad())
}
