package httpapi

import (
	"net/http"

	"github.com/meup-protocol/meup/internal/access"
)

// Page is the web page and the files that belong to it.
type Page interface {
	http.Handler
	// Has reports whether there is anything at a path.
	Has(path string) bool
}

// page serves a file of the page. Clients of the MEW protocol upgrade on any
// path, those of the page among them.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	switch {
	case access.HasToken(r.Header["Upgrade"], "websocket"):
		s.other(w, r)
	case !s.options.Page.Has(r.URL.Path):
		notFound(w, r)
	default:
		s.options.Page.ServeHTTP(w, r)
	}
}
