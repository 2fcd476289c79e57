package review

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of what a model is given, beside Options.MaxCall.
const (
	maxQuestion  = 2000 // characters
	maxShown     = 600  // bytes of the arguments of a precedent
	maxWhy       = 300  // characters of the reason of a precedent
	maxLabels    = 16   // of each kind
	maxParts     = 64   // of a command that are looked at
	precedentsOf = 5    // approved, and rejected
)

// dossier is what a reviewer sees of a proposal, and the JSON that a model is given. It has
// nothing that the proposer says about its call: no thoughts, no messages, no metadata, and no
// description of a command.
type dossier struct {
	// Question is what the context of the call answers, as another participant asked it.
	Question   string      `json:"question,omitempty"`
	Call       call        `json:"call"`
	Labels     labels      `json:"labels"`
	Precedents []precedent `json:"precedents,omitempty"` // decisions of people on calls like it, newest first
}

// call is a proposed call.
type call struct {
	Host   protocol.ParticipantID `json:"host,omitempty"` // the participant that runs the tool
	Tool   string                 `json:"tool"`           // or the method
	Params json.RawMessage        `json:"arguments,omitempty"`
	// Folder is the one that relative paths are relative to; "": unknown.
	Folder string `json:"folder,omitempty"`
}

// labels is what can be said of a call without knowing what it is for.
type labels struct {
	// HostSays are the annotations of the tool in the host's list of tools.
	HostSays json.RawMessage `json:"host_says,omitempty"`
	// Programs that a command runs, with their subcommands.
	Programs  []string `json:"programs,omitempty"`
	ReadsOnly bool     `json:"reads_only"` // all commands in it are known to read only
	// MayDestroy: it may change what cannot be taken back, by the program or the name of the tool.
	MayDestroy bool     `json:"may_destroy"`
	Uncertain  []string `json:"uncertain,omitempty"`    // what is known only when it runs
	Outside    []string `json:"outside_root,omitempty"` // paths that are not certain to be below the folder
}

// precedent is a decision of a person.
type precedent struct {
	Verdict string          `json:"verdict"` // approved, rejected
	Params  json.RawMessage `json:"arguments,omitempty"`
	Cut     string          `json:"arguments_cut,omitempty"` // in place of Params that are long
	Reason  string          `json:"reason,omitempty"`
}

// requestOf returns the proposed call as rules match it. root is the folder of the host's tools; "":
// the one that the host reports.
func requestOf(p *protocol.Envelope, root string) capability.Request {
	payload := p.ParsePayload()
	r := capability.Request{Kind: protocol.KindMCPRequest, Payload: payload, Context: p.Context}
	host := protocol.ParticipantIn(payload, "participant_id")
	if host != "" {
		r.To = []protocol.ParticipantID{host}
	}
	r.Place = capability.PlaceOf(root, payload, host == p.From)
	return r
}

// newDossier returns what a call says itself. Question, precedents and annotations are elsewhere.
func newDossier(r *capability.Request) *dossier {
	name, params := exchange.ShownCall(r.Payload)
	d := &dossier{Call: call{Tool: name, Params: params, Folder: r.Place.Dir}}
	if len(r.To) > 0 {
		d.Call.Host = r.To[0]
	}
	d.Labels.MayDestroy = capability.MayDestroy(name)
	arguments := r.Payload.Get("params").Get("arguments")
	if arguments.Exists() && arguments.Type() != protocol.TypeObject {
		d.Labels.uncertain("the arguments are no object")
	}
	command := false
	for key, value := range arguments.Members {
		switch capability.ArgumentMatcher(key.Text()) {
		case "$shell":
			command = true
			d.Labels.command(value, r.Place)
		case "$path":
			d.Labels.path(value, r.Place)
		}
	}
	if command {
		d.Call.Params = withoutDescription(r.Payload, params)
	}
	return d
}

// withoutDescription removes what the proposer says about a command from the parameters that
// exchange.ShownCall returned.
func withoutDescription(payload protocol.Value, params json.RawMessage) json.RawMessage {
	out := make(map[string]json.RawMessage)
	for key, value := range payload.Get("params").Get("arguments").Members {
		if !key.EqualText("description") {
			out[key.Text()] = value.Raw()
		}
	}
	arguments := llm.Marshal(out)
	if string(params) == string(payload.Get("params").Get("arguments").Raw()) {
		return arguments
	}
	whole := make(map[string]json.RawMessage)
	for key, value := range payload.Get("params").Members {
		if !key.EqualText("_meta") {
			whole[key.Text()] = value.Raw()
		}
	}
	whole["arguments"] = arguments
	return llm.Marshal(whole)
}

// Rules by which calls are labeled.
var (
	readers = must(argument.ParseShell, `{"read":"preset"}`)                    // commands that only read
	near    = must(argument.ParseShell, `{"read":{"preset":true,"below":"."}}`) // and only below the folder
	inside  = must(argument.ParsePath, `{"below":"."}`)                         // paths below the folder
)

func must[T any](parse func(protocol.Value) (T, error), text string) T {
	doc, err := protocol.ParseJSON([]byte(text), protocol.MaxDepth)
	if err != nil {
		panic(err)
	}
	rule, err := parse(doc.Root())
	if err != nil {
		panic(err)
	}
	return rule
}

// command adds the labels of a command.
func (l *labels) command(v protocol.Value, at argument.Place) {
	if v.Type() != protocol.TypeString {
		l.uncertain("the command is no text")
		return
	}
	c := argument.Parse(v.Text())
	l.MayDestroy = l.MayDestroy || argument.MayDestroy(c)
	l.ReadsOnly = readers.Allows(c, at)
	for i, line := range readers.Explain(c, at) {
		switch {
		case i == maxParts:
			l.uncertain("it has very many parts")
			return
		case line.Part == "":
			l.uncertain(line.Why)
		case strings.Contains(line.Why, "known only when it runs"):
			l.uncertain(textutil.Shorten(line.Part, 100) + ": " + line.Why)
		}
		if name, ok := argument.Family(argument.Parse(line.Part)); ok && line.Part != "" {
			l.Programs = add(l.Programs, name)
		}
		for _, w := range strings.Fields(line.Part) { // it may be a path
			w = strings.Trim(w, `"'<>&|;()`)
			if _, value, found := strings.Cut(w, "="); found {
				w = value
			}
			isPath := strings.HasPrefix(w, "/") || strings.HasPrefix(w, "~") || slices.Contains(strings.Split(w, "/"), "..")
			if isPath && w != "/dev/null" && !strings.Contains(w, "://") && inside.Match(w, at) != argument.Yes {
				l.Outside = add(l.Outside, textutil.Shorten(w, 100))
			}
		}
	}
	if l.ReadsOnly && len(l.Outside) == 0 && !near.Allows(c, at) {
		l.Outside = add(l.Outside, "it may read outside of the folder")
	}
}

// path adds the label of an argument that names a file or a folder.
func (l *labels) path(v protocol.Value, at argument.Place) {
	switch {
	case v.Type() != protocol.TypeString:
		l.uncertain("a path is no text")
	case inside.Match(v.Text(), at) != argument.Yes:
		l.Outside = add(l.Outside, textutil.Shorten(v.Text(), 100))
	}
}

func (l *labels) uncertain(why string) { l.Uncertain = add(l.Uncertain, why) }

// add appends a text that the list does not have, while there is room.
func add(list []string, text string) []string {
	if len(list) >= maxLabels || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// leaveToPeople returns why a model may not approve the call, in words; "": it may. What the labels
// say does not depend on the text of the call being believed.
func (l *labels) leaveToPeople() string {
	var hints struct {
		Destructive *bool `json:"destructiveHint"`
	}
	_ = json.Unmarshal(l.HostSays, &hints) // the hints of a host that writes others are absent
	switch {
	case len(l.Uncertain) > 0:
		return "it is uncertain: " + l.Uncertain[0]
	case l.MayDestroy:
		return "it may change what cannot be taken back"
	case len(l.Outside) > 0:
		return fmt.Sprintf("it leads outside of the folder: %s", l.Outside[0])
	case hints.Destructive != nil && *hints.Destructive:
		return "the tool destroys, as its host says"
	}
	return ""
}
