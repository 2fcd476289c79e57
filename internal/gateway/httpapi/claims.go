package httpapi

import (
	"net/http"

	"github.com/meup-protocol/meup/client/api"
)

// claims lists the claims in force.
func (*Server) claims(w http.ResponseWriter, _ *http.Request, v caller) {
	out := api.Claims{Claims: []api.Claim{}}
	for _, c := range v.space.Claims() {
		out.Claims = append(out.Claims, api.Claim{Path: c.Path, Name: c.Name, By: c.By, ID: c.ID, At: c.At, ExpiresAt: c.Expires, Reason: c.Reason})
	}
	writeJSON(w, http.StatusOK, out)
}
