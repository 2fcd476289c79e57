// Package web serves the gateway's page: a bundle of files that is built in
// advance and embedded in the program.
//
// The page is at "/" and its files are under "/assets/". The name of each file
// contains a digest of its content. Therefore a browser revalidates the page
// every time, and fetches a file once.
package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:generate go run -buildvcs=false ./generate

//go:embed dist
var dist embed.FS

// Bundled returns the page that is embedded in this program; nil if it was
// built without one.
var Bundled = sync.OnceValues(func() (*Site, error) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, fmt.Errorf("open the bundle: %w", err)
	}
	return New(files)
})

// Site is a page and its files. It is a handler for the paths for which Has
// returns true.
type Site struct {
	files map[string]*file // by path
}

// New returns a site of the files that package bundle builds: index.html, and
// the files in assets. It reads all of them. Without an index.html the result
// is nil.
func New(files fs.FS) (*Site, error) {
	index, err := fs.ReadFile(files, "index.html")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is no page
	}
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	s := &Site{files: map[string]*file{"/": newFile("text/html; charset=utf-8", revalidate, index)}}
	names, err := fs.Glob(files, "assets/*")
	if err != nil {
		return nil, fmt.Errorf("list the page's files: %w", err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		kind := contentType(name)
		switch {
		case kind == "":
			return nil, fmt.Errorf("serve %s: its type is unknown", name)
		case !digested.MatchString(name):
			return nil, fmt.Errorf("serve %s: its name has no digest, so it could not be cached", name)
		}
		s.files["/"+name] = newFile(kind, immutable, content)
	}
	return s, nil
}

// digested matches a name that contains a digest in the format of esbuild.
var digested = regexp.MustCompile(`-[A-Z2-7]{8}\.`)

// Has reports whether the site has a file at a path.
func (s *Site) Has(path string) bool { return s.files[path] != nil }

// policy restricts the page: it may run the scripts of its bundle, use its
// styles, and connect to its own gateway. Only the page's templates, which are
// constants, can create markup; texts of participants are inserted as text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types lit-html"

// host matches a valid Host header, so that a client cannot inject text into
// the policy.
var host = regexp.MustCompile(`^[A-Za-z0-9.-]{1,255}(:[0-9]{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?$`)

// ServeHTTP answers a GET or HEAD with a file, or the requested range of it. Ranges always refer to
// the uncompressed file.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := s.files[r.URL.Path]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	// The headers that isolate the page from other pages.
	h, csp := w.Header(), policy
	if host.MatchString(r.Host) { // in older browsers 'self' covers only the page's own scheme
		csp = strings.Replace(policy, "connect-src 'self'", "connect-src 'self' ws://"+r.Host+" wss://"+r.Host, 1)
	}
	h.Set("Content-Security-Policy", csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")

	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", f.cache)
	h.Add("Vary", "Accept-Encoding")
	content, tag := f.content, f.etag
	if r.Header.Get("Range") == "" && takesGzip(r.Header["Accept-Encoding"]) {
		if zipped := f.zipped(); zipped != nil {
			content, tag = zipped, f.etag+"-gzip" // a compressed form has its own entity tag
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", strconv.Quote(tag))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
