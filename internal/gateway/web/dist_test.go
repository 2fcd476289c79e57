package web_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/web"
	"github.com/meup-protocol/meup/internal/gateway/web/bundle"
)

// firstLoad bounds the compressed bytes that a browser has to fetch before the
// page appears.
const firstLoad = 90_000

// The bundled page is complete and small. scripts/test-web.sh checks that it is
// current.
func TestBundled(t *testing.T) {
	s, err := web.Bundled()
	if err != nil || s == nil {
		t.Fatalf("no bundle, run go generate ./internal/gateway/web: %v", err)
	}
	text, err := os.ReadFile("dist/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m bundle.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	page := body(t, get(t, s, http.MethodGet, "/"))
	total := bundle.Compressed([]byte(page))
	for _, name := range m.First {
		if !strings.Contains(page, `"/`+name+`"`) {
			t.Errorf("the page does not name %s", name)
		}
		total += bundle.Compressed([]byte(body(t, get(t, s, http.MethodGet, "/"+name))))
	}
	if total > firstLoad {
		t.Errorf("the first load is %d bytes, more than %d", total, firstLoad)
	}
	if len(m.Lazy) == 0 {
		t.Error("nothing is left for later")
	}
	for _, name := range append(m.First, m.Lazy...) {
		if !s.Has("/" + name) {
			t.Errorf("%s is not served", name)
		}
	}
}
