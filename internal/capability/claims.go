package capability

import (
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/protocol"
)

// Claims are the paths that participants hold.
type Claims interface {
	// Held reports whether a participant holds a canonical path, or somebody else holds it, something
	// below it or a folder that it is in.
	Held(path string, by protocol.ParticipantID, at time.Time) (own, others bool)
}

// claimMode is what a capability asks of the claims of the paths in a call. A later one asks more.
type claimMode uint8

const (
	claimsIgnored claimMode = iota
	claimsRespected
	claimsRequired
)

// maxClaimPaths bounds the paths of a call that are looked up.
const maxClaimPaths = 64

// claimed reports whether the paths of a call are certain, and claimed as the capability asks.
func (c *Capability) claimed(r *Request) bool {
	paths, certain := PathsOf(r.Payload.Get("params").Get("arguments"), r.Place)
	if r.Claims == nil || !certain || len(paths) == 0 {
		return false
	}
	for _, text := range paths {
		path, _ := argument.Canonical(text, argument.Place{}) // it is absolute
		own, others := r.Claims.Held(path, r.Sender, r.Now)
		if others || c.claims == claimsRequired && !own {
			return false
		}
	}
	return true
}

// unclaimed says why the paths of a call are not claimed as the capability asks.
func (c *Capability) unclaimed(r *Request) string {
	paths, certain := PathsOf(r.Payload.Get("params").Get("arguments"), r.Place)
	switch {
	case !certain:
		return "its claims are about paths, and those of the call are not certain"
	case len(paths) == 0:
		return "its claims are about paths, and the call has none in an argument such as file_path"
	case r.Claims == nil:
		return "who has claimed the paths of the call is not known here"
	case c.claims == claimsRequired:
		return "the caller has not claimed all paths of the call"
	}
	return "another participant has claimed a path of the call"
}

// PathsOf returns the absolute paths that the arguments of a call name, with what they lead to by symbolic links. They are not
// certain if one of them is not, if there are too many, or if the call runs a command.
func PathsOf(arguments protocol.Value, at argument.Place) (paths []string, certain bool) {
	certain = collectPaths(&paths, arguments, at)
	return paths, certain
}

func collectPaths(paths *[]string, v protocol.Value, at argument.Place) (certain bool) {
	for x := range v.Elements {
		if !collectPaths(paths, x, at) {
			return false
		}
	}
	for key, x := range v.Members {
		name := key.Text()
		switch {
		case slices.ContainsFunc(commandKeys, func(k string) bool { return strings.EqualFold(k, name) }):
			return false
		case !slices.ContainsFunc(protocol.PathArguments, func(k string) bool { return strings.EqualFold(k, name) }):
			if !collectPaths(paths, x, at) {
				return false
			}
		case !slices.Contains(protocol.PathArguments, name) || !collectPath(paths, x, at):
			return false
		}
	}
	return true
}

func collectPath(paths *[]string, v protocol.Value, at argument.Place) (certain bool) {
	if v.Type() == protocol.TypeArray {
		for x := range v.Elements {
			if !collectPath(paths, x, at) {
				return false
			}
		}
		return true
	}
	text := v.Text()
	path, certain := argument.Absolute(text, at)
	if v.Type() != protocol.TypeString || !certain || len(*paths) >= maxClaimPaths {
		return false
	}
	*paths = append(*paths, path)
	real, linked := at.Real[text]
	if !linked {
		return true
	}
	path, certain = argument.Absolute(real, at)
	*paths = append(*paths, path)
	return certain
}
