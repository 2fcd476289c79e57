// Package bundle builds the web page from TypeScript and styles: the files that
// a gateway serves. The output is deterministic: the same sources produce the
// same bytes on every machine.
package bundle

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Options configures a build.
type Options struct {
	Dir   string // the folder with the sources and node_modules
	Entry string // the entry module, relative to Dir
}

// Files contains the files of a bundle by name: index.html, manifest.json and
// the files in assets.
type Files map[string][]byte

// Bundle is the result of a build.
type Bundle struct {
	Files
	Manifest
}

// Build builds a page. The error contains all errors in the sources.
func Build(o Options) (*Bundle, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the sources: %w", err)
	}
	out := filepath.Join(dir, "dist") // no output is written there
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: dir, Outdir: out, Write: false, LogLevel: api.LogLevelSilent, Metafile: true,
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: "./" + filepath.ToSlash(o.Entry), OutputPath: "main"}},
		EntryNames:          "assets/[name]-[hash]", ChunkNames: "assets/[name]-[hash]", AssetNames: "assets/[name]-[hash]",
		PublicPath: "/",
		Bundle:     true, Splitting: true, Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2022,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, TreeShaking: api.TreeShakingTrue,
		LegalComments: api.LegalCommentsLinked, Charset: api.CharsetUTF8,
		Define: map[string]string{"process.env.NODE_ENV": `"production"`},
		Loader: map[string]api.Loader{".svg": api.LoaderFile, ".png": api.LoaderFile, ".woff2": api.LoaderFile},
	})
	if len(result.Errors) > 0 {
		var lines []string
		for _, m := range result.Errors {
			place := ""
			if m.Location != nil {
				place = fmt.Sprintf("%s:%d:%d: ", m.Location.File, m.Location.Line, m.Location.Column+1)
			}
			lines = append(lines, place+m.Text)
		}
		return nil, fmt.Errorf("bundle %s: %s", o.Entry, strings.Join(lines, "; "))
	}
	b := &Bundle{Files: make(Files)}
	for _, f := range result.OutputFiles {
		name, err := filepath.Rel(out, f.Path)
		if err != nil {
			return nil, fmt.Errorf("name %s: %w", f.Path, err)
		}
		b.Files[filepath.ToSlash(name)] = f.Contents
	}
	b.Manifest, err = readManifest(result.Metafile)
	if err != nil {
		return nil, err
	}
	b.Files["index.html"], err = b.Manifest.page()
	if err != nil {
		return nil, err
	}
	manifest, err := json.MarshalIndent(&b.Manifest, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	b.Files["manifest.json"] = append(manifest, '\n')
	return b, nil
}
