package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/meup-protocol/meup/internal/gateway/web"
)

const script = "/assets/main-ABCDEF23.js"

func files() fstest.MapFS {
	return fstest.MapFS{
		"index.html":                     {Data: []byte("<!doctype html><title>page</title>")},
		"manifest.json":                  {Data: []byte("{}")},
		"assets/main-ABCDEF23.js":        {Data: []byte(strings.Repeat("say('the same');\n", 200))},
		"assets/main-BCDEF234.css":       {Data: []byte("p { color: red }")},
		"assets/main-ABCDEF23.LEGAL.txt": {Data: []byte("Licence")},
	}
}

func site(t testing.TB, files fs.FS) *web.Site {
	t.Helper()
	s, err := web.New(files)
	if err != nil || s == nil {
		t.Fatalf("no site: %v", err)
	}
	return s
}

// get requests a path; headers are written as Name: value.
func get(t testing.TB, s *web.Site, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://gw.example.org:8080"+path, http.NoBody)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

func body(t testing.TB, resp *http.Response) string {
	t.Helper()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestFiles(t *testing.T) {
	s := site(t, files())
	const forever = "public, max-age=31536000, immutable"
	for path, want := range map[string]struct{ kind, cache string }{
		"/":                               {"text/html; charset=utf-8", "no-cache"},
		script:                            {"text/javascript; charset=utf-8", forever},
		"/assets/main-BCDEF234.css":       {"text/css; charset=utf-8", forever},
		"/assets/main-ABCDEF23.LEGAL.txt": {"text/plain; charset=utf-8", forever},
	} {
		if !s.Has(path) {
			t.Errorf("%s is not there", path)
		}
		name := strings.TrimPrefix(path, "/")
		if path == "/" {
			name = "index.html"
		}
		resp := get(t, s, http.MethodGet, path)
		if got := body(t, resp); resp.StatusCode != http.StatusOK || got != string(files()[name].Data) {
			t.Errorf("%s: %d, %.40q", path, resp.StatusCode, got)
		}
		if kind, cache := resp.Header.Get("Content-Type"), resp.Header.Get("Cache-Control"); kind != want.kind || cache != want.cache {
			t.Errorf("%s: %s, %s", path, kind, cache)
		}
		head := get(t, s, http.MethodHead, path)
		if got := body(t, head); got != "" || head.StatusCode != http.StatusOK || head.Header.Get("ETag") != resp.Header.Get("ETag") {
			t.Errorf("HEAD %s: %d, %q", path, head.StatusCode, got)
		}
	}
	for _, path := range []string{"/index.html", "/manifest.json", "/assets", "/assets/", "/assets/main.js", "/assets/../manifest.json", "/dist", "//"} {
		if resp := get(t, s, http.MethodGet, path); s.Has(path) || resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

func TestProtection(t *testing.T) {
	s := site(t, files())
	for _, path := range []string{"/", script} {
		h := get(t, s, http.MethodGet, path).Header
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s %q", path, name, got)
			}
		}
		if got := h.Get("Permissions-Policy"); !strings.Contains(got, "camera=()") {
			t.Errorf("%s: Permissions-Policy %q", path, got)
		}
		directives := strings.Split(h.Get("Content-Security-Policy"), "; ")
		for _, want := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "base-uri 'none'", "form-action 'self'",
			"frame-ancestors 'none'", "connect-src 'self' ws://gw.example.org:8080 wss://gw.example.org:8080", "require-trusted-types-for 'script'",
		} {
			if !slices.Contains(directives, want) {
				t.Errorf("%s: the policy lacks %s: %q", path, want, directives)
			}
		}
	}
}

// A Host header cannot inject text into the policy.
func TestPolicy_HostsOnly(t *testing.T) {
	s := site(t, files())
	for host, named := range map[string]bool{
		"127.0.0.1:8080": true, "[::1]:8080": true, "localhost": true, "gw.example.org": true,
		"": false, "a b": false, "a;script-src *": false, "a:1 *": false, "*": false, "a/b": false, "'unsafe-inline'": false, "a:port": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		got := w.Header().Get("Content-Security-Policy")
		if named != strings.Contains(got, "connect-src 'self' ws://"+host+" wss://"+host+";") || !named && !strings.Contains(got, "connect-src 'self';") {
			t.Errorf("%q: %s", host, got)
		}
	}
}

func TestCompressed(t *testing.T) {
	s := site(t, files())
	plain := get(t, s, http.MethodGet, script)
	for accept, zipped := range map[string]bool{
		"gzip": true, "GZip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "gzip; q=0.000": false, "identity": false, "": false, "gzip;q=x": false,
	} {
		resp := get(t, s, http.MethodGet, script, "Accept-Encoding: "+accept)
		if got := resp.Header.Get("Content-Encoding") == "gzip"; got != zipped {
			t.Errorf("%q: compressed %v", accept, got)
		}
		if resp.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: Vary %q", accept, resp.Header.Get("Vary"))
		}
		if (resp.Header.Get("ETag") == plain.Header.Get("ETag")) == zipped {
			t.Errorf("%q: ETag %s", accept, resp.Header.Get("ETag"))
		}
		content := body(t, resp)
		if zipped {
			r, err := gzip.NewReader(strings.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			unzipped, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			content = string(unzipped)
		}
		if content != string(files()["assets/main-ABCDEF23.js"].Data) {
			t.Errorf("%q: %.60q", accept, content)
		}
	}
	small := get(t, s, http.MethodGet, "/assets/main-BCDEF234.css", "Accept-Encoding: gzip")
	if small.Header.Get("Content-Encoding") != "" || body(t, small) != "p { color: red }" {
		t.Error("what gets longer by it is compressed")
	}
}

func TestRevalidation(t *testing.T) {
	s := site(t, files())
	for _, accept := range []string{"Accept-Encoding: gzip", "Accept-Encoding: identity"} {
		for _, path := range []string{"/", script} {
			tag := get(t, s, http.MethodGet, path, accept).Header.Get("ETag")
			if !strings.HasPrefix(tag, `"`) {
				t.Fatalf("%s: ETag %s", path, tag)
			}
			again := get(t, s, http.MethodGet, path, accept, "If-None-Match: "+tag)
			if got := body(t, again); again.StatusCode != http.StatusNotModified || got != "" || again.Header.Get("Cache-Control") == "" {
				t.Errorf("%s: %d, %q", path, again.StatusCode, got)
			}
			if other := get(t, s, http.MethodGet, path, accept, `If-None-Match: "other"`); other.StatusCode != http.StatusOK {
				t.Errorf("%s with another tag: %d", path, other.StatusCode)
			}
		}
	}
	changed := files()
	changed["index.html"] = &fstest.MapFile{Data: []byte("<!doctype html><title>next</title>")}
	if before, after := get(t, s, "GET", "/").Header.Get("ETag"), get(t, site(t, changed), "GET", "/").Header.Get("ETag"); before == after {
		t.Error("another page has the same tag")
	}
}

// Ranges refer to the uncompressed file, even if the client accepts gzip.
func TestRanges(t *testing.T) {
	s := site(t, files())
	whole := string(files()["assets/main-ABCDEF23.js"].Data)
	for ask, want := range map[string]string{"bytes=0-3": whole[:4], "bytes=17-20": whole[17:21], "bytes=-5": whole[len(whole)-5:]} {
		resp := get(t, s, http.MethodGet, script, "Range: "+ask, "Accept-Encoding: gzip")
		if got := body(t, resp); resp.StatusCode != http.StatusPartialContent || got != want || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d, %q", ask, resp.StatusCode, got)
		}
	}
	if resp := get(t, s, http.MethodGet, script, "Range: bytes=99999-"); resp.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("beyond the end: %d", resp.StatusCode)
	}
}

func TestNoSite(t *testing.T) {
	if s, err := web.New(fstest.MapFS{"manifest.json": {Data: []byte("{}")}}); s != nil || err != nil {
		t.Errorf("without a page: %v, %v", s, err)
	}
	for _, name := range []string{"assets/main.js", "assets/main-short.js", "assets/main-ABCDEF23.exe", "assets/main-ABCDEF23"} {
		bad := files()
		bad[name] = &fstest.MapFile{Data: []byte("x")}
		if _, err := web.New(bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzHeaders checks that the response is consistent for any request headers: a
// valid status, and a body that decodes to the file or a range of it.
func FuzzHeaders(f *testing.F) {
	f.Add("gzip;q=0.5, br", "bytes=0-3,5-", `"x", W/"y"`, "gw:80")
	f.Add(";;,gzip;q", "bytes=--", `"`, "[::1]:1")
	s := site(f, files())
	directives := strings.Count(get(f, s, http.MethodGet, "/").Header.Get("Content-Security-Policy"), ";")
	f.Fuzz(func(t *testing.T, accept, part, match, host string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, script, http.NoBody)
		r.Host = host
		r.Header = http.Header{"Accept-Encoding": {accept}, "Range": {part}, "If-None-Match": {match}}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK, http.StatusPartialContent, http.StatusNotModified, http.StatusRequestedRangeNotSatisfiable:
		default:
			t.Errorf("status %d", w.Code)
		}
		if w.Code == http.StatusOK && w.Header().Get("Content-Encoding") == "" && !bytes.Equal(w.Body.Bytes(), files()["assets/main-ABCDEF23.js"].Data) {
			t.Error("another content")
		}
		if policy := w.Header().Get("Content-Security-Policy"); strings.Count(policy, ";") != directives {
			t.Errorf("policy %q", policy)
		}
	})
}
