package apidoc

// operation describes a route of the gateway.
type operation struct {
	id, summary string
	details     string
	tag         string
	params      string // names of parameters
	body        string // schema of the request
	text        string // media type of a request that is no JSON
	list        bool   // the body is one such document or an array of up to 100, and so is the response
	out         string // schema of the response
	types       string // further media types of the response
	status      string // of success; empty: 200
	open        bool   // needs no token
	docs        string // the specification of another protocol, which defines bodies and errors
}

// Groups of operations.
const (
	tagLog       = "log"
	tagTurns     = "turns"
	tagSpaces    = "spaces"
	tagSession   = "session"
	tagOperators = "operators"
	tagAdapters  = "adapters"
	tagPage      = "page"
	tagAPI       = "descriptions"
)

// Specifications of the protocols of adapters.
const (
	specMCP    = "https://modelcontextprotocol.io/specification"
	specRFC    = "https://www.rfc-editor.org/rfc/rfc9728"
	specAGUI   = "https://docs.ag-ui.com"
	specA2A    = "https://a2a-protocol.org/latest/specification/"
	specOpenAI = "https://platform.openai.com/docs/api-reference"
	specOTLP   = "https://opentelemetry.io/docs/specs/otlp/"
)

const (
	filterParams = " context kinds from main"
	turnParams   = "limit before"
)

// operations has the description of each route by its pattern.
var operations = map[string]operation{
	"GET /ws": {id: "connect", tag: tagLog, status: "101", summary: "Opens a WebSocket connection to a space.",
		details: "/api/asyncapi.json describes its frames. A browser offers the subprotocols meup.v0.1 and bearer.TOKEN in place of the header.",
		params:  "space since log ack echo observe serves linger dialect" + filterParams},
	"POST /api/spaces/{space}/envelopes": {id: "send", tag: tagLog, body: "envelope", list: true, out: "sent",
		summary: "Sends an envelope, or an array of 1 to 100 in order.",
		details: "An array is answered by an array, with 200 if all were admitted, the status that all share, or 207."},
	"GET /api/spaces/{space}/envelopes": {id: "history", tag: tagLog, out: "envelopes", types: "application/jsonl application/x-ndjson",
		summary: "Returns a part of the log.", details: "As JSON Lines, the headers Meup-Log, Meup-Next and Meup-Has-More have the other values.",
		params: "since until before log limit order" + filterParams},
	"GET /api/spaces/{space}/envelopes/{id}": {id: "envelope", tag: tagLog, out: "envelope", summary: "Returns one envelope."},
	"GET /api/spaces/{space}/search": {id: "search", tag: tagLog, out: "search", summary: "Searches the log for words.",
		params: "q match since until before limit cursor" + filterParams},
	"GET /api/spaces/{space}/events": {id: "events", tag: tagLog, types: "text/event-stream", summary: "Streams the space as server-sent events.",
		details: "The channel events of /api/asyncapi.json describes them.", params: "since log ack echo observe serves linger updates Last-Event-ID" + filterParams},
	"GET /api/spaces/{space}/proposals": {id: "proposals", tag: tagLog, out: "proposals", summary: "Lists the proposed calls of a space, the newest first.",
		params: "state since before limit"},
	"GET /api/spaces/{space}/proposals/{id}/scopes": {id: "scopes", tag: tagLog, out: "scopes", params: "to",
		summary: "Lists what a grant to the proposer of a call may allow, the least general first."},
	"GET /api/spaces/{space}/decisions": {id: "decisions", tag: tagLog, out: "decisions", summary: "Lists who or what decided on the calls of a space, the newest first.",
		params: "since before limit participant tool proposal"},
	"GET /api/spaces/{space}/deciders": {id: "deciders", tag: tagLog, out: "deciders", params: "since",
		summary: "Returns who decides on the proposals of a space and how each has done, for participants that observe it, may change rights, or are deciders."},
	"GET /api/spaces/{space}/suggestions": {id: "suggestions", tag: tagLog, out: "suggestions", params: "since",
		summary: "Derives rules from what was decided in a space, for participants that observe it or may change rights."},
	"POST /api/spaces/{space}/backtest": {id: "backtest", tag: tagLog, text: "application/yaml", out: "backtest", params: "since",
		summary: "Decides the envelopes of a space again, under the configuration in the body, for participants that observe it or may change rights."},
	"GET /api/spaces/{space}/contexts":           {id: "contexts", tag: tagLog, out: "contexts", summary: "Returns the tree of contexts."},
	"GET /api/spaces/{space}/contexts/{path...}": {id: "context", tag: tagLog, out: "context", summary: "Returns one context with everything below it."},

	"GET /api/spaces/{space}/threads": {id: "threads", tag: tagTurns, out: "threads", params: turnParams, summary: "Lists the threads of a space, the newest first."},
	"GET /api/spaces/{space}/threads/{thread}": {id: "thread", tag: tagTurns, out: "history", types: "text/markdown", params: "limit before",
		summary: "Returns turns of a thread, the oldest first; with .md after the id, the whole thread as Markdown."},
	"GET /api/spaces/{space}/threads/{thread}/events": {id: "threadEvents", tag: tagTurns, types: "text/event-stream", params: "after Last-Event-ID",
		summary: "Streams what happens to the questions of a thread, from the beginning, as server-sent events.",
		details: "The section about turns of the protocol describes the events."},
	"GET /api/spaces/{space}/jobs": {id: "jobs", tag: tagTurns, out: "jobs", params: turnParams, summary: "Lists the jobs of a space, the newest first."},
	"GET /api/spaces/{space}/jobs/{job}": {id: "job", tag: tagTurns, out: "job", types: "text/markdown",
		summary: "Returns one job; with .md after the id, as Markdown."},
	"GET /api/spaces/{space}/sessions/{session}":    {id: "session", tag: tagTurns, out: "session", params: turnParams, summary: "Returns turns and jobs of a session, the oldest first."},
	"GET /api/spaces/{space}/envelopes/{id}/turn":   {id: "turnOf", tag: tagTurns, out: "turn", summary: "Returns the turn, or the job, of an envelope."},
	"GET /api/chat/history":                         {id: "chatHistory", tag: tagTurns, out: "history job session", types: "text/markdown", params: "thread_id job_id session_id space limit before", summary: "Returns a thread, a job or a session of one of the token's spaces.", details: "Exactly one of thread_id, job_id and session_id is required."},
	"GET /api/spaces":                               {id: "spaces", tag: tagSpaces, out: "spaces", summary: "Lists the spaces that the token is valid for."},
	"GET /api/spaces/{space}/participants":          {id: "participants", tag: tagSpaces, out: "participants", summary: "Lists the connected participants."},
	"GET /api/spaces/{space}/claims":                {id: "claims", tag: tagSpaces, out: "claims", summary: "Lists the paths and names that participants have claimed."},
	"GET /api/spaces/{space}/policy":                {id: "policy", tag: tagSpaces, out: "policy", summary: "Returns what the configuration in force says about a space, for participants that observe it or may change rights."},
	"GET /api/spaces/{space}/budgets":               {id: "budgets", tag: tagSpaces, out: "budgets", summary: "Lists the budgets of the day that the participant may see, and what was used of them."},
	"GET /api/admin/spaces":                         {id: "directory", tag: tagSpaces, out: "directory", params: "space", summary: "Lists all spaces with their participants and tokens, for the administrative space.", details: "404 if the gateway has no administrative space."},
	"POST /api/session":                             {id: "signIn", tag: tagSession, open: true, body: "sign_in", out: "identity", summary: "Signs the web page in: sets its cookie."},
	"GET /api/session":                              {id: "whoAmI", tag: tagSession, out: "identity", params: "space", summary: "Returns the participant and the spaces of the token."},
	"DELETE /api/session":                           {id: "signOut", tag: tagSession, open: true, status: "204", summary: "Signs the web page out: ends its session and deletes its cookie."},
	"GET /healthz":                                  {id: "healthz", tag: tagOperators, open: true, out: "status", summary: "Reports that the process runs."},
	"GET /readyz":                                   {id: "readyz", tag: tagOperators, open: true, out: "status", summary: "Reports whether the log accepts entries.", details: "If not, the status is 503 and the body has the reason."},
	"GET /version":                                  {id: "version", tag: tagOperators, open: true, out: "version", summary: "Returns the version of the program and its dialects."},
	"GET /metrics":                                  {id: "metrics", tag: tagOperators, open: true, types: "text/plain", summary: "Returns metrics for Prometheus."},
	"GET /{$}":                                      {id: "page", tag: tagPage, open: true, types: "text/html", summary: "Returns the web page."},
	"GET /assets/{file}":                            {id: "asset", tag: tagPage, open: true, types: "*/*", summary: "Returns a file of the web page."},
	"GET " + pathOpenAPI:                            {id: "openapi", tag: tagAPI, open: true, out: "any", summary: "Returns this description."},
	"GET " + pathAsyncAPI:                           {id: "asyncapi", tag: tagAPI, open: true, out: "any", summary: "Returns the AsyncAPI description of WebSocket frames and events."},
	"GET " + pathSchemas + "{path...}":              {id: "schema", tag: tagAPI, open: true, types: "application/schema+json", summary: "Returns a JSON Schema that the descriptions refer to."},
	"POST /mcp":                                     {id: "mcp", tag: tagAdapters, docs: specMCP, summary: "A space, or one participant, as an MCP server over Streamable HTTP.", params: "space participant"},
	"GET /.well-known/oauth-protected-resource":     {id: "resource", tag: tagAdapters, open: true, docs: specRFC, summary: "Lists the issuers of tokens; 404 if there are none."},
	"GET /.well-known/oauth-protected-resource/mcp": {id: "mcpResource", tag: tagAdapters, open: true, docs: specRFC, summary: "Lists the issuers of tokens for /mcp; 404 if there are none."},
	"POST /api/spaces/{space}/agui":                 {id: "agui", tag: tagAdapters, docs: specAGUI, types: "text/event-stream", summary: "Runs a question of an AG-UI front end.", params: "to Last-Event-ID"},
	"GET /api/spaces/{space}/agui":                  {id: "aguiCapabilities", tag: tagAdapters, docs: specAGUI, summary: "Returns the capabilities for AG-UI."},
	"POST /a2a":                                     {id: "a2a", tag: tagAdapters, docs: specA2A, summary: "JSON-RPC of A2A, for tokens of a single space."},
	"POST /a2a/{space}":                             {id: "a2aSpace", tag: tagAdapters, docs: specA2A, summary: "JSON-RPC of A2A, to a space."},
	"GET /a2a/{space}/{rest...}":                    {id: "a2aGet", tag: tagAdapters, docs: specA2A, summary: "HTTP+JSON of A2A, and the cards of agents."},
	"POST /a2a/{space}/{rest...}":                   {id: "a2aPost", tag: tagAdapters, docs: specA2A, summary: "HTTP+JSON of A2A, and JSON-RPC to one agent."},
	"DELETE /a2a/{space}/{rest...}":                 {id: "a2aDelete", tag: tagAdapters, docs: specA2A, summary: "HTTP+JSON of A2A."},
	"GET /v1/models":                                {id: "models", tag: tagAdapters, docs: specOpenAI, summary: "Lists spaces and participants as models of the OpenAI API."},
	"GET /v1/models/{id...}":                        {id: "model", tag: tagAdapters, docs: specOpenAI, summary: "Returns one model."},
	"POST /v1/chat/completions":                     {id: "completions", tag: tagAdapters, docs: specOpenAI, types: "text/event-stream", summary: "Asks a question as a chat completion."},
	"POST /v1/responses":                            {id: "responses", tag: tagAdapters, docs: specOpenAI, types: "text/event-stream", summary: "Asks a question as a response."},
	"GET /v1/responses/{id}":                        {id: "response", tag: tagAdapters, docs: specOpenAI, types: "text/event-stream", summary: "Returns a response."},
	"POST /v1/metrics":                              {id: "otlpMetrics", tag: tagAdapters, docs: specOTLP, summary: "Receives metrics of coding agents about tokens and costs over OTLP/HTTP, in JSON or Protobuf.", params: "space Meup-Space"},
	"POST /v1/traces":                               {id: "traces", tag: tagAdapters, docs: specOTLP, summary: "Receives traces over OTLP/HTTP, in JSON or Protobuf.", params: "space Meup-Space"},
	"POST /api/spaces/{space}/hooks/{program}":      {id: "hooks", tag: tagAdapters, params: "prompts claims wait approval headless fail", body: "any", out: "any", summary: "Receives a hook of a coding agent: claude, codex or cursor."},
}
