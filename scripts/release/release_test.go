package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

var host = platform{runtime.GOOS, runtime.GOARCH}

// substitute is a program that is small enough to be packed by a test often.
const substitute = `package main

import "os"

func main() { os.Stdout.WriteString(os.Args[1]) }
`

// prepare returns a release of substitutes for the programs.
func prepare(t *testing.T) *release {
	t.Helper()
	if host.os != "linux" {
		t.Skip("the test packs Linux programs, which it runs")
	}
	t.Chdir("../..")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(substitute), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := testkit.Build(program, source); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return &release{
		version: "v1.2.3", platforms: []platform{host}, out: filepath.Join(t.TempDir(), "dist"), at: time.Unix(1_700_000_001, 0).UTC(),
		build: func(_ context.Context, p platform, dir string) error {
			err := os.MkdirAll(dir, 0o700)
			for _, name := range programs {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, p.executable(name)), data, 0o700))
			}
			return err
		},
	}
}

func (r *release) files(t *testing.T) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	entries, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all[e.Name()], err = os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// untar returns the headers and the contents of an archive, by the name.
func untar(t *testing.T, data []byte) (map[string]*tar.Header, map[string][]byte) {
	t.Helper()
	headers, contents := make(map[string]*tar.Header), make(map[string][]byte)
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		if headers[h.Name] != nil {
			t.Errorf("%s twice", h.Name)
		}
		headers[h.Name] = h
		contents[h.Name], err = io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func gunzip(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestRelease(t *testing.T) {
	r := prepare(t)
	r.platforms = append(r.platforms, platform{"windows", "amd64"})
	if err := r.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, name := r.files(t), "meup-v1.2.3-"+host.String()
	t.Run("archive", func(t *testing.T) {
		headers, contents := untar(t, gunzip(t, files[name+".tar.gz"]))
		for _, want := range []string{"meup", "meup-agent", "meup-gateway", "meup-reasoner", "man/meup.1", "completions/_meup-agent", "completions/meup-gateway.ps1", "LICENSE", "meup.spdx.json"} {
			h := headers[name+"/"+want]
			if h == nil || !h.ModTime.Equal(r.at) || len(contents[h.Name]) == 0 {
				t.Errorf("%s: %+v", want, h)
			}
		}
		if h := headers[name+"/meup"]; h == nil || h.Mode != 0o755 {
			t.Errorf("meup: %+v", h)
		}
		if page := string(contents[name+"/man/meup.1"]); page != "man" {
			t.Errorf("the manual page is %q", page)
		}
	})
	t.Run("zip", func(t *testing.T) {
		data := files["meup-v1.2.3-windows_amd64.zip"]
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Open("meup-v1.2.3-windows_amd64/meup.exe"); err != nil {
			t.Error(err)
		}
	})
	t.Run("materials", func(t *testing.T) { checkMaterials(t, files[name+".spdx.json"]) })
	t.Run("image", func(t *testing.T) { checkImage(t, files["meup-v1.2.3-oci.tar"]) })
	t.Run("checksums", func(t *testing.T) { checkSums(t, files) })
	t.Run("again", func(t *testing.T) {
		if err := r.write(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, data := range r.files(t) {
			if !bytes.Equal(data, files[name]) {
				t.Errorf("%s differs", name)
			}
		}
	})
}

// TestBuilder_Reproducible checks that two builds give the same program, and
// that its bill of materials lists its modules.
func TestBuilder_Reproducible(t *testing.T) {
	t.Chdir("../..")
	var first []byte
	for range 2 {
		dir := t.TempDir()
		if err := builder("v1.2.3", "./cmd/meup")(t.Context(), host, dir); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, host.executable("meup")))
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, data) {
			t.Error("the programs differ")
		}
		if dir, err := os.Getwd(); err == nil && bytes.Contains(data, []byte(dir+"/")) {
			t.Errorf("the program contains the path %s", dir)
		}
		first = data
	}
	materials, err := billOfMaterials(&release{version: "v1.2.3"}, host, []file{{"meup", 0o755, first}})
	if err != nil || !bytes.Contains(materials, []byte("pkg:golang/github.com/spf13/cobra@v")) {
		t.Errorf("the bill of materials is %.2000s, %v", materials, err)
	}
}

func checkMaterials(t *testing.T, data []byte) {
	t.Helper()
	var d spdxDocument
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{d.ID: true}
	for _, p := range d.Packages {
		if ids[p.ID] || p.Version == "" || strings.Trim(p.ID, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.-") != "" {
			t.Errorf("package %+v", p)
		}
		ids[p.ID] = true
	}
	for _, r := range d.Relationships {
		if !ids[r.From] || !ids[r.To] {
			t.Errorf("relationship %+v", r)
		}
	}
	for _, want := range append([]string{"stdlib"}, programs...) {
		if !slices.ContainsFunc(d.Packages, func(p spdxPackage) bool { return p.Name == want }) {
			t.Errorf("%s is missing", want)
		}
	}
}

// checkImage follows all descriptors of an OCI image layout.
func checkImage(t *testing.T, data []byte) {
	t.Helper()
	_, contents := untar(t, data)
	if string(contents["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout: %s", contents["oci-layout"])
	}
	seen := 2
	blob := func(d descriptor, into any) []byte {
		b := contents["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if digest(b) != d.Digest || len(b) != d.Size {
			t.Fatalf("the blob of %+v has %d bytes and %s", d, len(b), digest(b))
		}
		seen++
		if into != nil {
			if err := json.Unmarshal(b, into); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	var top, index ociIndex
	if err := json.Unmarshal(contents["index.json"], &top); err != nil {
		t.Fatal(err)
	}
	blob(top.Manifests[0], &index)
	if len(index.Manifests) != 1 || index.Manifests[0].Platform.Architecture != host.arch {
		t.Fatalf("manifests: %+v", index.Manifests)
	}
	var manifest ociManifest
	var config ociConfig
	blob(index.Manifests[0], &manifest)
	blob(manifest.Config, &config)
	layer := gunzip(t, blob(manifest.Layers[0], nil))
	if config.RootFS.Diffs[0] != digest(layer) || config.Architecture != host.arch || config.Config.User != "65532:65532" {
		t.Errorf("configuration: %+v", config)
	}
	headers, _ := untar(t, layer)
	if h := headers["usr/local/bin/meup-gateway"]; h == nil || h.Mode != 0o755 {
		t.Errorf("meup-gateway: %+v", h)
	}
	if h := headers["data/"]; h == nil || h.Uid != imageUser || h.Typeflag != tar.TypeDir {
		t.Errorf("data: %+v", h)
	}
	if seen != len(contents) {
		t.Errorf("%d files, of which %d are used", len(contents), seen)
	}
}

func checkSums(t *testing.T, files map[string][]byte) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(files["SHA256SUMS"])), "\n")
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		if "sha256:"+sum != digest(files[name]) {
			t.Errorf("the checksum of %s is wrong", name)
		}
	}
	if len(lines) != len(files)-1 {
		t.Errorf("%d checksums of %d files", len(lines), len(files))
	}
}

func TestRelease_InvalidInput(t *testing.T) {
	for _, list := range []string{"", "linux/amd64,", "plan9/amd64", "linux"} {
		t.Run("platforms "+list, func(t *testing.T) {
			if found, err := parsePlatforms(list); err == nil {
				t.Errorf("%v", found)
			}
		})
	}
	for _, version := range []string{"", "../v1", "v 1"} {
		t.Run("version "+version, func(t *testing.T) {
			r := &release{version: version, out: t.TempDir()}
			if err := r.write(t.Context()); err == nil {
				t.Error("no error")
			}
		})
	}
	t.Run("time", func(t *testing.T) {
		t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
		if at, err := sourceTime(t.Context()); err == nil {
			t.Errorf("%v", at)
		}
		t.Setenv("SOURCE_DATE_EPOCH", "1700000001")
		if at, err := sourceTime(t.Context()); err != nil || at.Unix() != 1700000001 {
			t.Errorf("%v, %v", at, err)
		}
	})
}
