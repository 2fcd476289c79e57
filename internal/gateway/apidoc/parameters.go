package apidoc

import (
	"strings"

	"github.com/meup-protocol/meup/internal/kit/openapi"
	"github.com/meup-protocol/meup/protocol"
)

// parameter describes a parameter of the query, unless in names another place.
type parameter struct {
	schema   openapi.Object
	text     string
	in       string
	required bool
}

func typed(name string) openapi.Object { return openapi.Object{"type": name} }

func oneOf(values ...string) openapi.Object { return openapi.Object{"enum": values} }

// count is the schema of a number of results, of which there are standard by default.
func count(standard int) openapi.Object {
	return openapi.Object{"type": "integer", "minimum": 1, "default": standard}
}

var (
	seq     = openapi.Object{"type": "integer", "minimum": 0}
	list    = openapi.Object{"type": "array", "items": typed("string")}
	boolean = openapi.Object{"type": "boolean"}
	text    = typed("string")
	seconds = openapi.Object{"type": "integer", "minimum": 0}
)

const aSpace = "the space; absent: the only one of the token"

// parameters has the parameters of the operations by name, or by operation and name
// where they differ.
var parameters = map[string]parameter{
	"space":                 {schema: text, text: "the space", required: true},
	"since":                 {schema: seq, text: "only envelopes after this seq"},
	"before":                {schema: seq, text: "only what is before this seq"},
	"log":                   {schema: text, text: "the log that since or before belongs to; if the space has another one: cursor_expired"},
	"ack":                   {schema: boolean, text: "answer each admitted envelope by system.ack"},
	"echo":                  {schema: boolean, text: "false: omit the participant's own envelopes"},
	"observe":               {schema: boolean, text: "a connection that only observes"},
	"serves":                {schema: oneOf(protocol.ServesTools), text: "the participant answers tools/list and tools/call"},
	"dialect":               {schema: openapi.Object{"enum": protocol.DialectNames()}, text: "the dialect; absent: the one of the space"},
	"context":               {schema: list, text: "prefixes of contexts, repeated or separated by commas"},
	"kinds":                 {schema: list, text: "patterns of kinds, repeated or separated by commas"},
	"from":                  {schema: list, text: "senders, repeated or separated by commas"},
	"main":                  {schema: boolean, text: "the main conversation"},
	"linger":                {schema: boolean, text: "the participant is announced as left a minute after the connection has ended"},
	"history.since":         {schema: list, text: "only envelopes after this seq, or from this time on: RFC 3339, a day in UTC, or a duration before now; given twice: both"},
	"directory.space":       {schema: text, text: "only this space; absent: all"},
	"updates":               {schema: boolean, text: "false: without reasoning_update and job_reasoning"},
	"Last-Event-ID":         {schema: seq, text: "resumes after this seq; overrides since", in: "header"},
	"order":                 {schema: oneOf("asc", "desc"), text: "asc: the oldest first, the default"},
	"history.limit":         {schema: count(100), text: "the number of envelopes; above 1,000 it counts as 1,000"},
	"q":                     {schema: text, text: "the words", required: true},
	"match":                 {schema: oneOf("all", "any", "auto"), text: "which words a hit has: all, the default; any; or all and, without a hit, any"},
	"decisions.since":       {schema: text, text: "only what is in the log after this seq, or from this time on: RFC 3339, a day in UTC, or a duration before now"},
	"deciders.since":        {schema: text, text: "scores count the proposals from this time on: RFC 3339, a day in UTC, or a duration before now; 30d is the default"},
	"suggestions.since":     {schema: text, text: "only decisions from this time on: RFC 3339, a day in UTC, or a duration before now; 30d is the default"},
	"backtest.since":        {schema: text, text: "only envelopes from this time on: RFC 3339, a day in UTC, or a duration before now; 30d is the default"},
	"search.since":          {schema: text, text: "only envelopes from this time on: RFC 3339, or a day in UTC"},
	"until":                 {schema: text, text: "only envelopes before this time: RFC 3339, a day in UTC, or (in history) a duration before now"},
	"search.limit":          {schema: count(20), text: "the number of hits; above 100 it counts as 100"},
	"cursor":                {schema: text, text: "next of the page before"},
	"state":                 {schema: oneOf("pending", "fulfilled", "rejected", "withdrawn", "expired", "settled", "all"), text: "pending is the default"},
	"decisions.limit":       {schema: count(20), text: "the number of decisions; above 100 it counts as 100"},
	"tool":                  {schema: text, text: "only calls of this tool, or of this method"},
	"proposal":              {schema: text, text: "only the decision on the proposal with this id"},
	"proposals.since":       {schema: seq, text: "only proposals after this seq"},
	"proposals.limit":       {schema: count(20), text: "the number of proposals; above 100 it counts as 100"},
	"limit":                 {schema: count(50), text: "the number of results; above 200 it counts as 200"},
	"thread.before":         {schema: seq, text: "only turns before the one with this number"},
	"chatHistory.before":    {schema: seq, text: "of a thread, only turns before this one; of a session, what began before this seq"},
	"chatHistory.space":     {schema: text, text: "the space; required for a job or a session if the token is valid for several"},
	"after":                 {schema: text, text: "only what follows the event with this id"},
	"thread_id":             {schema: text, text: "the thread"},
	"job_id":                {schema: text, text: "the job"},
	"session_id":            {schema: text, text: "the session"},
	"whoAmI.space":          {schema: text, text: "the token must be valid in this space"},
	"mcp.space":             {schema: text, text: aSpace},
	"decisions.participant": {schema: text, text: "only calls that this participant wanted, decided on or runs"},
	"participant":           {schema: text, text: "one connected participant as an MCP server"},
	"claims":                {schema: oneOf("auto"), text: "claims the paths of calls whose capabilities require it"},
	"prompts":               {schema: oneOf("chat"), text: "publish prompts as chats"},
	"wait":                  {schema: seconds, text: "how long Stop waits for a chat, in seconds"},
	"approval":              {schema: seconds, text: "how long a call waits for its decision, in seconds"},
	"headless":              {schema: boolean, text: "the agent has no user who could decide"},
	"fail":                  {schema: oneOf("open"), text: "leaves a call whose event cannot be served to the rules of the agent"},
	"agui.to":               {schema: list, text: "the participants that are asked"},
	"traces.space":          {schema: text, text: aSpace},
	"Meup-Space":            {schema: text, text: aSpace, in: "header"},
	"scopes.to":             {schema: text, text: "the participant that runs the tool; absent: the one that the proposal names"},
	"scopes.{id}":           {schema: text, text: "the id of a proposal"},

	"threadEvents.Last-Event-ID": {schema: text, text: "resumes after the event with this id; overrides after", in: "header"},

	"{space}":       {schema: text, text: "the space"},
	"{id}":          {schema: text, text: "the id of an envelope"},
	"{path}":        {schema: text, text: "may contain slashes"},
	"{rest}":        {schema: text, text: "the rest of the path of A2A; may contain slashes"},
	"{thread}":      {schema: text, text: "the id of the thread"},
	"{job}":         {schema: text, text: "the id of the job"},
	"{session}":     {schema: text, text: "the id of the session"},
	"{program}":     {schema: oneOf("claude", "codex", "cursor"), text: "the coding agent"},
	"{file}":        {schema: text, text: "the file"},
	"model.{id}":    {schema: text, text: "the model; may contain slashes"},
	"response.{id}": {schema: text, text: "the id of the response"},
}

// find returns a parameter of an operation.
func find(o *operation, name string) parameter {
	if own, ok := parameters[o.id+"."+name]; ok {
		return own
	}
	return parameters[name]
}

// parametersOf returns the parameters of an operation with this pattern of a path.
func parametersOf(o *operation, path string) []any {
	var names []string
	for segment := range strings.SplitSeq(path, "/") {
		if name := strings.Replace(segment, "...", "", 1); strings.HasPrefix(name, "{") && name != "{$}" {
			names = append(names, name)
		}
	}
	var out []any
	for _, name := range append(names, strings.Fields(o.params)...) {
		p := find(o, name)
		in := p.in
		switch {
		case name[0] == '{':
			in, p.required = "path", true
		case in == "":
			in = "query"
		}
		out = append(out, openapi.Object{"name": strings.Trim(name, "{}"), "in": in, "required": p.required, "schema": p.schema, "description": p.text})
	}
	return out
}
