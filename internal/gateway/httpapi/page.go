package httpapi

import "net/http"

// Page serves the files of the web page.
type Page interface {
	http.Handler
	// Has reports whether the page has a file at a path.
	Has(path string) bool
}

// page serves a file of the page.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if !s.options.Page.Has(r.URL.Path) {
		notFound(w, r)
		return
	}
	s.options.Page.ServeHTTP(w, r)
}
