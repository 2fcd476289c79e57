package httpapi

import (
	"net/http"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// Administration describes the spaces of the gateway to administrators.
type Administration interface {
	// AdministrativeSpace returns the name of the administrative space; "": there is
	// none.
	AdministrativeSpace() string
	// Directory returns the space of this name, or all spaces for "".
	Directory(space string) *api.Directory
}

// directory lists spaces and participants for the participants of the
// administrative space.
func (s *Server) directory(w http.ResponseWriter, r *http.Request) {
	admin := s.options.Administration
	if admin == nil || admin.AdministrativeSpace() == "" {
		access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "This gateway has no administrative space; its operator can set administration: {space: NAME}."))
		return
	}
	sp, identity, err := s.options.Admission.AuthorizeRequest(r, admin.AdministrativeSpace())
	if err != nil {
		access.WriteError(w, err)
		return
	}
	s.serve(w, r, caller{space: sp, id: identity.Participant, identity: identity}, func(w http.ResponseWriter, r *http.Request, v caller) {
		v.writeJSON(w, admin.Directory(r.URL.Query().Get("space")))
	}, access.WriteError)
}
