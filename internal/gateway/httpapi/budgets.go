package httpapi

import "net/http"

// budgets lists the budgets of a space that the caller may see.
func (s *Server) budgets(w http.ResponseWriter, _ *http.Request, v caller) {
	v.writeJSON(w, v.space.Budgets(v.id))
}
