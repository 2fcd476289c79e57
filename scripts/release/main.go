// Command release builds the files of a release: for each platform an archive
// with the programs, their manual pages and completions, and a software bill of
// materials; an OCI image of the Linux programs; and checksums. It needs Go and
// nothing else, and the same sources, version and toolchain give the same
// bytes.
//
//	go run ./scripts/release -version v1.2.3 -out dist
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// programs are the programs of a release.
var programs = []string{"meup", "meup-agent", "meup-gateway", "meup-reasoner"}

const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// release describes a release.
type release struct {
	version   string
	platforms []platform
	out       string
	certs     string    // PEM file for the image; "": none
	at        time.Time // of all files
	build     func(ctx context.Context, p platform, dir string) error
}

// platform is a system that programs are built for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// executable returns the file of a program.
func (p platform) executable(program string) string {
	if p.os == "windows" {
		return program + ".exe"
	}
	return program
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	version := flag.String("version", "", "version of the release, such as v1.2.3")
	platforms := flag.String("platforms", allPlatforms, "platforms to build for, separated by commas")
	out := flag.String("out", "dist", "folder for the files; the release replaces it")
	certs := flag.String("certs", "", "PEM file with the certificate authorities of the image (default: none)")
	flag.Parse()
	r := &release{version: *version, out: *out, certs: *certs, build: builder(*version, "./cmd/...")}
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	var err error
	r.platforms, err = parsePlatforms(*platforms)
	if err != nil {
		return err
	}
	r.at, err = sourceTime(ctx)
	if err != nil {
		return err
	}
	return r.write(ctx)
}

func parsePlatforms(list string) ([]platform, error) {
	var found []platform
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(strings.Split(allPlatforms, ","), name) {
			return nil, fmt.Errorf("-platforms %q: there are %s", name, allPlatforms)
		}
		system, arch, _ := strings.Cut(name, "/")
		if p := (platform{system, arch}); !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found, nil
}

// sourceTime returns the time of all files: SOURCE_DATE_EPOCH, or the time of
// the commit, or, without either, the earliest one of a zip archive.
func sourceTime(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), nil //nolint:nilerr // not a checkout
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// builder returns the function that builds the programs of a pattern for a
// platform into a folder.
func builder(version, pattern string) func(context.Context, platform, string) error {
	return func(ctx context.Context, p platform, dir string) error {
		cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-gcflags=all=-dwarf=false",
			"-ldflags", "-s -w -buildid= -X main.version="+version, "-o", dir+string(filepath.Separator), pattern)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build for %s: %w", p, err)
		}
		return nil
	}
}

var validVersion = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]*$`)

// write writes all files of the release.
func (r *release) write(ctx context.Context) error {
	if !validVersion.MatchString(r.version) {
		return fmt.Errorf("-version %q: want a version, such as v1.2.3", r.version)
	}
	work, err := os.MkdirTemp("", "meup-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // temporary anyway
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o750)); err != nil {
		return err
	}
	host := platform{runtime.GOOS, runtime.GOARCH}
	if err := r.build(ctx, host, filepath.Join(work, host.String())); err != nil {
		return err
	}
	manuals, err := r.manuals(ctx, host, filepath.Join(work, host.String()))
	if err != nil {
		return err
	}
	var images []image
	for _, p := range r.platforms {
		fmt.Fprintf(os.Stderr, "release: %s\n", p)
		dir := filepath.Join(work, p.String())
		if p != host { // built already
			if err := r.build(ctx, p, dir); err != nil {
				return err
			}
		}
		built, err := r.programs(p, dir)
		if err != nil {
			return err
		}
		if err := r.archive(p, built, manuals); err != nil {
			return err
		}
		if p.os == "linux" {
			layer, err := r.layer(p, built)
			if err != nil {
				return err
			}
			images = append(images, layer)
		}
	}
	if len(images) > 0 {
		if err := r.oci(images); err != nil {
			return err
		}
	}
	return r.checksums()
}

// file is a file of an archive.
type file struct {
	name string
	mode int64
	data []byte
}

func (r *release) programs(p platform, dir string) ([]file, error) {
	var list []file
	for _, name := range programs {
		data, err := os.ReadFile(filepath.Join(dir, p.executable(name)))
		if err != nil {
			return nil, err
		}
		list = append(list, file{p.executable(name), 0o755, data})
	}
	return list, nil
}

// manuals runs the programs for this machine for their manual pages and
// completions.
func (r *release) manuals(ctx context.Context, host platform, dir string) ([]file, error) {
	var list []file
	for _, name := range programs {
		for path, args := range map[string][]string{
			"man/" + name + ".1":            {"man"},
			"completions/" + name + ".bash": {"completion", "bash"},
			"completions/_" + name:          {"completion", "zsh"},
			"completions/" + name + ".fish": {"completion", "fish"},
			"completions/" + name + ".ps1":  {"completion", "powershell"},
		} {
			cmd := exec.CommandContext(ctx, filepath.Join(dir, host.executable(name)), args...)
			var failure bytes.Buffer
			cmd.Stderr = &failure
			out, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, failure.Bytes())
			}
			list = append(list, file{path, 0o644, out})
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, file{name, 0o644, data})
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// checksums writes SHA256SUMS, in the format of sha256sum.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&out, "%s  %s\n", hex.EncodeToString(sum[:]), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(out.String()), 0o644) //nolint:gosec // public
}
