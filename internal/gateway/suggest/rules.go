package suggest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// The levels of rules that are derived from a call, from the most to the least general.
const (
	levelAny     = "any"     // the tool
	levelSimilar = "similar" // commands, folders and hosts like this
	levelFile    = "file"    // this file, or this path at a host
	levelExact   = "exact"   // this command, word by word
	levelSame    = "same"    // this call
)

// rule is a capability for a kind of calls, with its JSON value, so that it can be changed.
type rule struct {
	tree map[string]any
	cap  *capability.Capability
}

// compile returns the rule with a value; nil: it is not valid, or too long.
func compile(tree map[string]any) *rule {
	c, err := capability.ParseJSON([]byte(compact(tree)))
	if err != nil {
		return nil
	}
	return &rule{tree, c}
}

func decode(c *capability.Capability) map[string]any {
	d := json.NewDecoder(strings.NewReader(c.String()))
	d.UseNumber()
	var tree map[string]any
	if d.Decode(&tree) != nil {
		return nil // a string: the kind alone
	}
	return tree
}

// allows reports whether the rule allows a call. A rejected call that does not name its host
// may have been meant for the host of the rule.
func (x *rule) allows(c *call, host protocol.ParticipantID) bool {
	r := c.request
	if r.To == nil {
		r.To = []protocol.ParticipantID{host}
	}
	return capability.NewSet(x.cap).Decide(&r).Allowed
}

// levels returns the rules that allow calls like c.
func (c *call) levels() map[string]*rule {
	if c.scopes != nil {
		return c.scopes
	}
	// Calls with the same text have the same rules.
	key := string(c.proposal.From) + "\n" + string(c.host()) + "\n" + c.dir + "\n" + string(c.payload.Get("method").Raw()) + string(c.payload.Get("params").Raw())
	c.scopes = c.known[key]
	if c.scopes != nil {
		return c.scopes
	}
	c.scopes = map[string]*rule{}
	c.known[key] = c.scopes
	if c.host() == "" {
		return c.scopes
	}
	for _, s := range capability.Scopes(&c.request, c.dir) {
		c.scopes[s.ID] = &rule{decode(s.Capability), s.Capability}
	}
	wider := cmp.Or(c.scopes[levelSimilar], c.scopes[levelSame])
	if wider == nil {
		return c.scopes
	}
	if _, ok := c.command(); !ok {
		c.narrow(levelFile, wider, func(key, text string, value map[string]any) any {
			switch capability.ArgumentMatcher(key) {
			case "$path":
				if strings.HasPrefix(c.dir, "/") && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "~") {
					text = path.Join(c.dir, text)
				}
				return map[string]any{"below": text}
			case "$url":
				u, err := url.Parse(text)
				if err == nil && value != nil && u.Path != "" && !glob.HasStar(u.Path) {
					value = maps.Clone(value)
					value["path"] = []any{u.EscapedPath()}
				}
			}
			return value
		})
		return c.scopes
	}
	c.narrow(levelExact, wider, func(key, text string, value map[string]any) any {
		commands := argument.Exact(argument.Parse(text))
		if capability.ArgumentMatcher(key) != "$shell" || len(commands) == 0 {
			return value
		}
		list := make([]any, len(commands))
		for i := range commands {
			list[i] = commands[i]
		}
		return map[string]any{"commands": list}
	})
	return c.scopes
}

// narrow derives a rule from a wider one, by other values for its typed patterns. They are named
// by the argument, of which the text is given. A rule that does not differ, or does not allow the
// call, is none.
func (c *call) narrow(level string, wider *rule, change func(key, text string, value map[string]any) any) {
	x := compile(rewrite(wider.tree, func(key string, v any) any {
		matcher := capability.ArgumentMatcher(key)
		text := c.arguments().Get(key).Text()
		m, typed := v.(map[string]any)
		if matcher == "" || text == "" {
			return v
		}
		value, _ := m[matcher].(map[string]any)
		changed := change(key, text, value)
		if !typed && reflect.DeepEqual(changed, value) {
			return v
		}
		return map[string]any{matcher: changed}
	}))
	if x != nil && !reflect.DeepEqual(x.tree, wider.tree) && x.allows(c, c.host()) {
		c.scopes[level] = x
	}
}

// rewrite returns a copy of an object in which change has replaced values; it is called with
// each member.
func rewrite(tree map[string]any, change func(key string, v any) any) map[string]any {
	out := make(map[string]any, len(tree))
	for key, v := range tree {
		v = change(key, v)
		if m, ok := v.(map[string]any); ok {
			v = rewrite(m, change)
		}
		out[key] = v
	}
	return out
}

// group is the calls of one tool that one participant has proposed.
type group struct {
	participant, host protocol.ParticipantID
	tool              string

	run      *run
	approved []*call // that count
	rejected []*call
	against  []*call // calls of the tool, at any host, that somebody rejected or edited
	favor    []*call // and that somebody approved, counted or not
	left     []Left
}

// groups returns the calls by who proposed them, and for which tool.
func (r *run) groups() []*group {
	type key struct {
		participant, host protocol.ParticipantID
		tool              string
	}
	var out []*group
	index := map[key]*group{}
	against, favor := map[key][]*call{}, map[key][]*call{}
	for _, c := range r.calls {
		id := c.proposal.From
		anywhere := key{participant: id, tool: c.tool()}
		if c.outcome == approved {
			favor[anywhere] = append(favor[anywhere], c)
		} else {
			against[anywhere] = append(against[anywhere], c)
		}
		k := key{id, c.host(), c.tool()}
		g := index[k]
		if g == nil {
			g = &group{participant: k.participant, host: k.host, tool: k.tool, run: r}
			index[k] = g
			out = append(out, g)
		}
		switch {
		case r.counts(c):
			g.approved = append(g.approved, c)
		case c.outcome != approved:
			g.rejected = append(g.rejected, c)
		}
	}
	out = slices.DeleteFunc(out, func(g *group) bool { return g.host == "" })
	for _, g := range out {
		anywhere := key{participant: g.participant, tool: g.tool}
		g.against, g.favor = against[anywhere], favor[anywhere]
	}
	slices.SortFunc(out, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.participant, b.participant), cmp.Compare(a.host, b.host), cmp.Compare(a.tool, b.tool))
	})
	return out
}

// candidate is a rule for the calls of a group that has not passed a backtest yet.
type candidate struct {
	group        *group
	rule         *rule
	calls        []*call // that it is for
	samples      []*call // one of each rule that was merged
	denies       bool
	capabilities []*capability.Capability
}

// contradicts returns the calls that somebody rejected and the rule would allow. A call that
// the log does not have as it was sent may be any call of its tool.
func (g *group) contradicts(x *rule) []*call {
	var out []*call
	for _, c := range g.against {
		hidden := c.masked && (c.host() == "" || c.host() == g.host)
		if hidden || x.allows(c, g.host) {
			out = append(out, c)
		}
	}
	return out
}

// bucket is calls from which the same rule is derived.
type bucket struct {
	rule  *rule
	calls []*call
}

// buckets returns calls by their rule of a level, those with the most calls first.
func buckets(calls []*call, level func(*call) *rule) []*bucket {
	var out []*bucket
	index := map[string]*bucket{}
	for _, c := range calls {
		x := level(c)
		if x == nil {
			continue
		}
		b := index[x.cap.String()]
		if b == nil {
			b = &bucket{rule: x}
			index[x.cap.String()] = b
			out = append(out, b)
		}
		b.calls = append(b.calls, c)
	}
	slices.SortStableFunc(out, func(a, b *bucket) int { return len(b.calls) - len(a.calls) })
	return out
}

func atLevel(level string) func(*call) *rule {
	return func(c *call) *rule { return c.levels()[level] }
}

// narrowest returns the least general rule that covers the calls of a bucket.
func (b *bucket) narrowest(deny bool) *rule {
	levels := []string{levelExact, levelSame, levelFile}
	if deny { // the text is evaded by another content, or another spelling
		levels = []string{levelFile, levelSimilar, levelSame}
	}
	for _, level := range levels {
		list := buckets(b.calls, atLevel(level))
		if len(list) == 1 && len(list[0].calls) == len(b.calls) {
			return list[0].rule
		}
	}
	return b.rule
}

// allow returns the least general rules that cover what was approved and nothing that was
// rejected.
func (g *group) allow() []*candidate {
	rest := g.leave(g.approved)
	var out []*candidate
	stopped := map[*call][]*call{} // approved calls, by which a wider rule was contradicted
	for _, level := range []string{levelSimilar, levelFile, levelExact, levelSame} {
		for _, b := range buckets(rest, atLevel(level)) {
			if len(b.calls) < g.run.Min {
				continue
			}
			x := b.narrowest(false)
			against := g.contradicts(x)
			for _, c := range b.calls {
				if len(against) > 0 {
					stopped[c] = against
				}
			}
			if len(against) == 0 {
				out = g.add(out, &candidate{group: g, rule: x, calls: b.calls, samples: b.calls[:1]})
				rest = except(rest, b.calls)
			}
		}
	}
	if whole := g.wholeTool(g.approved, g.rejected, rest); whole != nil && len(g.contradicts(whole)) == 0 {
		return []*candidate{{group: g, rule: whole, calls: g.approved, capabilities: []*capability.Capability{whole.cap}}}
	}
	for _, x := range out {
		x.calls = slices.Concat(x.calls, slices.DeleteFunc(slices.Clone(rest), func(c *call) bool { return !x.rule.allows(c, g.host) }))
		rest = except(rest, x.calls)
		x.capabilities = []*capability.Capability{x.rule.cap}
	}
	g.leaveStopped(rest, stopped)
	return out
}

// except returns calls without others.
func except(calls, others []*call) []*call {
	not := make(map[*call]bool, len(others))
	for _, c := range others {
		not[c] = true
	}
	return slices.DeleteFunc(slices.Clone(calls), func(c *call) bool { return not[c] })
}

// wholeTool returns the rule for all calls of a tool whose arguments are plain text, if calls
// with enough different arguments were decided like this and none otherwise; nil: they were not.
func (g *group) wholeTool(calls, others, rest []*call) *rule {
	if len(rest) == 0 || len(others) > 0 || slices.ContainsFunc(calls, (*call).typed) {
		return nil
	}
	different := map[string]bool{}
	for _, c := range calls {
		different[string(c.arguments().AppendCanonical(nil))] = true
	}
	if len(different) < g.run.Min {
		return nil
	}
	return calls[0].levels()[levelAny]
}

// add adds a candidate, or widens another one by it, if the rule for both is no more general
// than the two.
func (g *group) add(list []*candidate, c *candidate) []*candidate {
	for _, x := range list {
		tree, ok := merge(x.rule.tree, c.rule.tree, "")
		if !ok {
			continue
		}
		both := compile(tree.(map[string]any))
		samples := slices.Concat(x.samples, c.samples)
		if both == nil || len(g.contradicts(both)) > 0 || slices.ContainsFunc(samples, func(y *call) bool { return !both.allows(y, g.host) }) {
			continue
		}
		x.rule, x.calls, x.samples = both, slices.Concat(x.calls, c.calls), samples
		return list
	}
	return append(list, c)
}

// merge returns a value that matches what two values of patterns match and no more: they
// differ in one place, in which one of several may stand. false: there is none.
func merge(a, b any, key string) (any, bool) {
	x, isObject := a.(map[string]any)
	y, other := b.(map[string]any)
	if isObject && other {
		different := ""
		for k := range x {
			if reflect.DeepEqual(x[k], y[k]) {
				continue
			}
			if different != "" {
				return nil, false
			}
			different = k
		}
		if len(x) != len(y) || different == "" {
			return nil, false
		}
		v, ok := merge(x[different], y[different], different)
		if !ok {
			return nil, false
		}
		out := maps.Clone(x)
		out[different] = v
		return out, true
	}
	if isObject || other || a == nil || b == nil || key == "not" || key == "scheme" || key == "port" {
		return nil, false
	}
	list := slices.Clone(elements(a))
	for _, v := range elements(b) {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list, true
}

// elements returns the elements of an array, or a value as the only one.
func elements(v any) []any {
	list, ok := v.([]any)
	if ok {
		return list
	}
	return []any{v}
}

// leave returns the calls for which rules may be suggested. The others are left to people, however
// often they were approved: commands and tools that may destroy, and what the safety rules mask.
func (g *group) leave(calls []*call) []*call {
	if g.isKept() {
		g.leaveTo(calls, "a tool of this name is never suggested, however often it was approved")
		return nil
	}
	var rest, destroying, secret, unclear []*call
	for _, c := range calls {
		text, ok := c.command()
		same := c.levels()[levelSame]
		switch {
		case ok && argument.MayDestroy(argument.Parse(text)):
			destroying = append(destroying, c)
		case same != nil && g.run.Policy.Safety.Text(same.cap.String()) != same.cap.String():
			secret = append(secret, c)
		case !ok && c.typed() && c.levels()[levelFile] == nil:
			unclear = append(unclear, c)
		default:
			rest = append(rest, c)
		}
	}
	for _, b := range buckets(destroying, atLevel(levelSame)) {
		g.leaveTo(b.calls, "it may destroy or send something, so it is never suggested, however often it was approved")
	}
	g.leaveTo(secret, "it contains a secret")
	g.leaveTo(unclear, "it is not certain which path or URL is meant")
	return rest
}

// leaveTo lists calls that are left to people, if a rule would be suggested otherwise.
func (g *group) leaveTo(calls []*call, why string) {
	if len(calls) < g.run.Min {
		return
	}
	g.left = append(g.left, Left{
		Participant: g.participant, Host: g.host, Tool: g.tool, Words: g.run.describe(calls[len(calls)-1]), Why: why,
		Approved: len(calls), For: g.run.examples(calls), Against: g.run.examples(g.rejected),
	})
}

// leaveStopped lists calls for which every rule would have allowed a rejected call too.
func (g *group) leaveStopped(rest []*call, stopped map[*call][]*call) {
	var calls, against []*call
	for _, c := range rest {
		if stopped[c] == nil {
			continue
		}
		calls = append(calls, c)
		for _, x := range stopped[c] {
			if !slices.Contains(against, x) {
				against = append(against, x)
			}
		}
	}
	if len(calls) == 0 {
		return
	}
	g.left = append(g.left, Left{
		Participant: g.participant, Host: g.host, Tool: g.tool, Words: g.run.describe(calls[len(calls)-1]),
		Why:      fmt.Sprintf("a rule for it would also allow what %s rejected", against[0].by),
		Approved: len(calls), For: g.run.examples(calls), Against: g.run.examples(against),
	})
}

var (
	inWord = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	// kept are words in names of tools whose calls change what cannot be taken back.
	kept = regexp.MustCompile(`(?i)delete|remove|destroy|deploy|publish|execute|transfer|truncate|terminate|uninstall|unlink|overwrite|payment|purchase|refund|revoke|withdraw|shutdown|` +
		`(^|[^a-z])(drop|send|push|exec|kill|wipe|purge|erase|evict|cancel|email|tweet|order|merge|reset|rollback|restore|eval|invoke|sudo)|(^|[^a-z])(pay|buy|rm|del|run|sql|post|charge|sign)([^a-z]|$)`)
)

// isKept reports whether the tool is left to people by its name. A tool that runs commands is
// judged by its commands.
func (g *group) isKept() bool {
	if slices.ContainsFunc(g.run.Never, func(p string) bool { return glob.Match(glob.CompileFlat(p), g.tool) }) {
		return true
	}
	shell := slices.ContainsFunc(g.approved, func(c *call) bool { _, ok := c.command(); return ok })
	return !shell && kept.MatchString(inWord.ReplaceAllString(g.tool, "${1}_$2"))
}

// deny returns the least general deny rules for what was rejected and never approved.
func (g *group) deny() []*candidate {
	rest := slices.DeleteFunc(slices.Clone(g.rejected), func(c *call) bool { return c.outcome != rejected || c.masked })
	var out []*candidate
	for _, level := range []func(*call) *rule{family, exact, uncommanded(levelSimilar), uncommanded(levelFile), uncommanded(levelSame)} {
		for _, b := range buckets(rest, level) {
			x := b.rule
			if _, ok := b.calls[0].command(); !ok {
				x = b.narrowest(true)
			}
			c := g.denial(x, b.calls)
			if c == nil {
				continue
			}
			out = g.addDenial(out, c)
			rest = except(rest, b.calls)
		}
	}
	whole := g.wholeTool(g.rejected, g.favor, rest)
	if whole == nil {
		return out
	}
	if c := g.denial(whole, g.rejected); c != nil {
		return []*candidate{c}
	}
	return out
}

// uncommanded returns the rules of a level for calls without a command: as a deny rule, the text
// of a command is evaded by a blank, and one for several commands denies each of them.
func uncommanded(level string) func(*call) *rule {
	return func(c *call) *rule {
		if _, ok := c.command(); ok {
			return nil
		}
		return c.levels()[level]
	}
}

// addDenial adds a candidate, or widens another one by it.
func (g *group) addDenial(list []*candidate, c *candidate) []*candidate {
	for i, x := range list {
		tree, ok := merge(x.rule.tree, c.rule.tree, "")
		if !ok {
			continue
		}
		if both := compile(tree.(map[string]any)); both != nil {
			if merged := g.denial(both, slices.Concat(x.calls, c.calls)); merged != nil {
				list[i] = merged
				return list
			}
		}
	}
	return append(list, c)
}

// family returns the rule for commands of the same program and subcommand; nil: there is none.
func family(c *call) *rule {
	text, _ := c.command()
	name, ok := argument.Family(argument.Parse(text))
	if !ok {
		return nil
	}
	return c.shell(name + " **")
}

// exact returns the rule for the words of a single command; nil: there is none.
func exact(c *call) *rule {
	text, _ := c.command()
	parsed := argument.Parse(text)
	_, single := argument.Family(parsed)
	if !single {
		return nil
	}
	return c.shell(argument.Exact(parsed)[0])
}

// shell returns the rule for a pattern of a command in the tool of a call.
func (c *call) shell(pattern string) *rule {
	whole := c.levels()[levelAny]
	if whole == nil {
		return nil
	}
	args := map[string]any{}
	for key := range c.arguments().Members {
		if capability.ArgumentMatcher(key.Text()) == "$shell" {
			args[key.Text()] = map[string]any{"$shell": map[string]any{"commands": []any{pattern}}}
		}
	}
	return compile(rewrite(whole.tree, func(key string, v any) any {
		params, ok := v.(map[string]any)
		if key == "params" && ok {
			params = maps.Clone(params)
			params["arguments"] = args
			return params
		}
		return v
	}))
}

// denial returns the candidate that denies what a rule matches: the call, and the proposal, so
// that nobody is asked. nil: it would deny an approved call, or too few were rejected.
func (g *group) denial(x *rule, calls []*call) *candidate {
	if len(calls) < g.run.Min {
		return nil
	}
	tree := rewrite(x.tree, func(_ string, v any) any {
		m, ok := v.(map[string]any)
		if ok && m["below"] != nil {
			return map[string]any{"below": m["below"]} // all of it
		}
		return v
	})
	payload, ok := tree["payload"].(map[string]any)
	if !ok {
		return nil
	}
	proposed := maps.Clone(payload)
	proposed["participant_id"] = string(g.host)
	request := compile(map[string]any{"kind": string(protocol.KindMCPRequest), "to": tree["to"], "payload": payload, "deny": true})
	proposal := compile(map[string]any{"kind": string(protocol.KindMCPProposal), "payload": proposed, "deny": true})
	if request == nil || proposal == nil || slices.ContainsFunc(g.favor, func(c *call) bool { return c.masked || denies(request, proposal, c) }) ||
		slices.ContainsFunc(calls, func(c *call) bool { return !denies(request, proposal, c) }) {
		return nil
	}
	return &candidate{group: g, rule: x, calls: calls, denies: true, capabilities: []*capability.Capability{proposal.cap, request.cap}}
}

// denies reports whether one of the deny rules denies a call or its proposal.
func denies(request, proposal *rule, c *call) bool {
	set := capability.NewSet(request.cap, proposal.cap)
	proposed := c.request
	proposed.Kind, proposed.To = protocol.KindMCPProposal, c.proposal.To
	return set.Decide(&c.request).By != nil || set.Decide(&proposed).By != nil
}

// words says what the rule of a candidate matches.
func (c *candidate) words() string {
	tool, dir := c.group.tool, ""
	plain := compile(rewrite(c.rule.tree, func(key string, v any) any {
		params, ok := v.(map[string]any)
		meta, inDir := params["_meta"].(map[string]any)
		if key != "params" || !ok || !inDir {
			return v
		}
		params = maps.Clone(params)
		delete(params, "_meta")
		dir = ", in " + folder(meta[protocol.MetaWorkingDirectory])
		return params
	}))
	if plain == nil {
		return termsafe.Exact(tool)
	}
	typed := plain.cap.Words()
	payload, _ := plain.tree["payload"].(map[string]any)
	params, _ := payload["params"].(map[string]any)
	args, ok := params["arguments"].(map[string]any)
	if !ok {
		args = maps.Clone(params)
		delete(args, "name")
	}
	text := ""
	switch {
	case len(typed) > 0:
		text = tool + ": " + strings.Join(typed, "; ")
	case len(args) == 0:
		text = "any call of " + tool
	default:
		text = tool + " with " + compact(args)
	}
	return termsafe.Exact(text + dir)
}

// folder returns a pattern of a folder to people.
func folder(pattern any) string {
	m, ok := pattern.(map[string]any)
	if ok {
		value, _ := m["$path"].(map[string]any)
		pattern = value["below"]
	}
	var names []string
	for _, x := range elements(pattern) {
		names = append(names, fmt.Sprint(x))
	}
	return strings.Join(names, " or ")
}

// compact writes a value as JSON.
func compact(v any) string {
	var text bytes.Buffer
	w := json.NewEncoder(&text)
	w.SetEscapeHTML(false)
	if w.Encode(v) != nil {
		return ""
	}
	return strings.TrimSpace(text.String())
}

// patch returns the part of a configuration file that has the capabilities.
func patch(space string, id protocol.ParticipantID, list []json.RawMessage) string {
	var out strings.Builder
	fmt.Fprintf(&out, "spaces:\n  %s:\n    participants:\n      %s:\n        capabilities:\n", key(space), key(string(id)))
	for _, c := range list {
		fmt.Fprintf(&out, "          - %s\n", termsafe.JSON(c)) // JSON is YAML
	}
	return out.String()
}

// key writes a key of a configuration file.
func key(s string) string {
	if plainKey.MatchString(s) {
		return s
	}
	return string(protocol.AppendString(nil, s))
}

var plainKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
