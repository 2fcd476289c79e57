package bundle

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"
)

// Manifest lists the files by the time at which a browser fetches them.
type Manifest struct {
	// First are fetched before the page appears: the entry, then its imports,
	// then styles.
	First []string `json:"first"`
	// Lazy are fetched on demand.
	Lazy []string `json:"lazy"`
}

// metafile is the part of the bundler's metafile that is used here.
type metafile struct {
	Outputs map[string]output `json:"outputs"`
}

type output struct {
	EntryPoint string `json:"entryPoint"`
	CSSBundle  string `json:"cssBundle"`
	Imports    []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"imports"`
}

// readManifest classifies the bundler's output. Its names start with the output
// folder.
func readManifest(text string) (Manifest, error) {
	var meta metafile
	if err := json.Unmarshal([]byte(text), &meta); err != nil {
		return Manifest{}, fmt.Errorf("read what the bundler wrote: %w", err)
	}
	entry := ""
	for name, o := range meta.Outputs {
		if o.EntryPoint != "" && strings.HasPrefix(path.Base(name), "main-") && path.Ext(name) == ".js" {
			entry = name
		}
	}
	if entry == "" {
		return Manifest{}, errors.New("read what the bundler wrote: there is no entry")
	}
	m := Manifest{Lazy: []string{}}
	first := []string{entry} // with its static imports
	for i := 0; i < len(first); i++ {
		for _, imported := range meta.Outputs[first[i]].Imports {
			if imported.Kind == "import-statement" && !slices.Contains(first, imported.Path) {
				first = append(first, imported.Path)
			}
		}
	}
	if styles := meta.Outputs[entry].CSSBundle; styles != "" {
		first = append(first, styles)
	}
	for _, name := range first {
		m.First = append(m.First, short(name))
	}
	for name := range meta.Outputs {
		if ext := path.Ext(name); !slices.Contains(first, name) && (ext == ".js" || ext == ".css") {
			m.Lazy = append(m.Lazy, short(name))
		}
	}
	slices.Sort(m.Lazy)
	return m, nil
}

func short(name string) string { return strings.TrimPrefix(name, "dist/") }

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page writes index.html.
func (m *Manifest) page() ([]byte, error) {
	var p struct {
		Entry            string
		Preloads, Styles []string
	}
	p.Entry = "/" + m.First[0]
	for _, name := range m.First[1:] {
		if path.Ext(name) == ".css" {
			p.Styles = append(p.Styles, "/"+name)
			continue
		}
		p.Preloads = append(p.Preloads, "/"+name)
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return b.Bytes(), nil
}
