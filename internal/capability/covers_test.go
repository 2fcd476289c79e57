package capability

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"*", "chat", true}, {"chat", "*", false}, {"chat", "chat", true},
		{"mcp.*", "mcp/request", true}, {"mcp.request", "mcp.*", false}, {"mcp.*", "mcp.re*", true},
		{"reasoning/*", "reasoning/step", true}, {"reasoning/step", "reasoning/thought", true},
		{"reasoning/*", "reasoning/thought", true}, {"reasoning/step", "reasoning/*", false},
		{"reasoning/step", "reasoning/start", false}, {"reasoning/step", "reasoning/th*", false},
		{"reasoning/step", "reasoning/s*", false}, {"*", "**", true}, {"**", "*", true}, {"*.*", "*", false}, {"!chat", "/x/", true}, {"!/x/", "mcp.*", false}, {"*", "!chat", true}, {"!chat", "*", false},
		{"!chat", "mcp.*", true}, {"!mcp.*", "mcp.request", false}, {"!mcp.*", "!*.*", false}, {"!*.*", "!mcp.*", false}, {"!mcp.request", "!mcp.*", false},
		{"!chat", "reasoning/step", true}, {"!reasoning/*", "reasoning/step", false}, {"!reasoning/start", "reasoning/step", true},
		{"/^mcp/", "mcp.request", true}, {"/^mcp/", "/^mcp/", true}, {"/^mcp/", "mcp.*", false}, {"*", "/^mcp/", true},
		{"*.*", "reasoning/step", true}, {"r*", "reasoning/step", false}, {"x*.*", "x.*", true}, {"x.*", "x", false},
		// Observing is a right to read, not a kind.
		{"*", "observe", false}, {"observe", "observe", true}, {"/obs/", "observe", false}, {"!chat", "observe", false},
		{"observe", `{"kind":"observe"}`, true}, {"*", `{"kind":"observe","payload":{"a":1}}`, true},
		// Payload.
		{"mcp.request", `{"kind":"mcp.request","payload":{"method":"x"}}`, true},
		{`{"kind":"mcp.request","payload":{"method":"x"}}`, "mcp.request", false},
		{`{"kind":"k","payload":{}}`, "k", true}, {`{"kind":"k","payload":"**"}`, "k", true},
		{`{"kind":"k","payload":{"a":"read_*"}}`, `{"kind":"k","payload":{"a":"read_x"}}`, true},
		{`{"kind":"k","payload":{"a":"read_*"}}`, `{"kind":"k","payload":{"a":"read_x*"}}`, true},
		{`{"kind":"k","payload":{"a":"read_*"}}`, `{"kind":"k","payload":{"a":["read_x","read_y"]}}`, true},
		{`{"kind":"k","payload":{"a":"read_*"}}`, `{"kind":"k","payload":{"a":["read_x","write_y"]}}`, false},
		{`{"kind":"k","payload":{"a":"read_*"}}`, `{"kind":"k","payload":{"a":"read_x","b":"y"}}`, true},
		{`{"kind":"k","payload":{"a":"x","b":"y"}}`, `{"kind":"k","payload":{"a":"x"}}`, false},
		{`{"kind":"k","payload":{"a":["x","y"]}}`, `{"kind":"k","payload":{"a":["y"]}}`, true},
		{`{"kind":"k","payload":{"a":["x","y"]}}`, `{"kind":"k","payload":{"a":"y"}}`, true},
		{`{"kind":"k","payload":{"a":["x","y"]}}`, `{"kind":"k","payload":{"a":"*"}}`, false},
		{`{"kind":"k","payload":{"a":["*"]}}`, `{"kind":"k","payload":{"a":"*"}}`, true},
		{`{"kind":"k","payload":{"a":["**"]}}`, `{"kind":"k","payload":{"a":"**"}}`, false}, // []
		{`{"kind":"k","payload":{"a":["x",5]}}`, `{"kind":"k","payload":{"a":5.0}}`, true},
		{`{"kind":"k","payload":{"a":"!delete_*"}}`, `{"kind":"k","payload":{"a":["read_*"]}}`, false},
		{`{"kind":"k","payload":{"a":"!delete_*"}}`, `{"kind":"k","payload":{"a":"read_*"}}`, false}, // ["read_a","delete_b"]
		{`{"kind":"k","payload":{"a":"!delete_*"}}`, `{"kind":"k","payload":{"a":"!*_*"}}`, false},
		{`{"kind":"k","payload":{"a":"!delete_x"}}`, `{"kind":"k","payload":{"a":"!delete_*"}}`, false},
		{`{"kind":"k","payload":{"a":"*"}}`, `{"kind":"k","payload":{"a":["x",5,true]}}`, true},
		{`{"kind":"k","payload":{"a":"*"}}`, `{"kind":"k","payload":{"a":"!x"}}`, true},
		{`{"kind":"k","payload":{"a":"/x/"}}`, `{"kind":"k","payload":{"a":"axa"}}`, true},
		{`{"kind":"k","payload":{"a":"/x/"}}`, `{"kind":"k","payload":{"a":"/x/"}}`, true},
		{`{"kind":"k","payload":{"a":1e2}}`, `{"kind":"k","payload":{"a":100}}`, true},
		{`{"kind":"k","payload":{"a":null}}`, `{"kind":"k","payload":{"a":null}}`, true},
		{`{"kind":"k","payload":{"*":"x"}}`, `{"kind":"k","payload":{"a":"x"}}`, true},
		{`{"kind":"k","payload":{"a*":"x"}}`, `{"kind":"k","payload":{"ab*":"x"}}`, true},
		{`{"kind":"k","payload":{"**":{"name":"x"}}}`, `{"kind":"k","payload":{"params":{"name":"x"}}}`, false},
		{`{"kind":"k","payload":{"$..name":"x"}}`, `{"kind":"k","payload":{"a":{"b":{"name":"x"}}}}`, false},
		{`{"kind":"k","payload":{"$.a.b":"x*"}}`, `{"kind":"k","payload":{"a":{"b":"xy"}}}`, true},
		{`{"kind":"k","payload":{"a":{"b":"x*"}}}`, `{"kind":"k","payload":{"$.a.b":"xy"}}`, true},
		{`{"kind":"k","payload":{"$.a[0]":"x"}}`, `{"kind":"k","payload":{"$.a[0]":"x"}}`, true},
		{`{"kind":"k","payload":{"$.a[*]":"x"}}`, `{"kind":"k","payload":{"$.a[1]":"x"}}`, true},
		{`{"kind":"k","payload":{"a":{}}}`, `{"kind":"k","payload":{"a":{"b":"x"}}}`, true},
		{`{"kind":"k","payload":{"a":{}}}`, `{"kind":"k","payload":{"$.a[0]":"x"}}`, false},
		// To and context.
		{`{"kind":"k","to":["a","b"]}`, `{"kind":"k","to":["a"]}`, true},
		{`{"kind":"k","to":["a","b"]}`, `{"kind":"k","to":"a"}`, false}, // ["a","c"]
		{`{"kind":"k","to":"a"}`, `{"kind":"k","to":["a"]}`, true},
		{`{"kind":"k","to":"a*"}`, `{"kind":"k","to":"ab"}`, true},
		{`{"kind":"k","to":"!a"}`, `{"kind":"k","to":["b","c"]}`, true},
		{`{"kind":"k","to":"!a"}`, `{"kind":"k","to":"b"}`, false},
		{`{"kind":"k","to":"a"}`, "k", false}, {"k", `{"kind":"k","to":"a"}`, true},
		{`{"kind":"k","context":"a"}`, `{"kind":"k","context":"a/b"}`, true},
		{`{"kind":"k","context":"a"}`, `{"kind":"k","context":"ab"}`, false},
		{`{"kind":"k","context":"a"}`, `{"kind":"k","context":"a/**"}`, true}, {`{"kind":"k","context":"a"}`, `{"kind":"k","context":"a**"}`, false},
		{`{"kind":"k","context":"a/*"}`, `{"kind":"k","context":"a/**"}`, false}, {`{"kind":"k","context":"*"}`, `{"kind":"k","context":"!"}`, true},
		{`{"kind":"k","context":"!"}`, `{"kind":"k","context":"!a"}`, false}, {`{"kind":"k","context":"/a/"}`, `{"kind":"k","context":"a*"}`, false},
		{`{"kind":"k","context":"a*"}`, `{"kind":"k","context":"ab/**"}`, true},
		{`{"kind":"k","context":["","a"]}`, `{"kind":"k","context":""}`, true},
		{`{"kind":"k","context":"*"}`, `{"kind":"k","context":""}`, false},
		{`{"kind":"k","context":"!"}`, `{"kind":"k","context":"a"}`, true},
		{`{"kind":"k","context":"!a"}`, `{"kind":"k","context":"b"}`, false},
		{`{"kind":"k","context":"!a/b"}`, `{"kind":"k","context":"!a"}`, false},
		{`{"kind":"k","context":"!a"}`, `{"kind":"k","context":"*"}`, false},
		{`{"kind":"k","context":"**"}`, `{"kind":"k","context":"!a"}`, true},
		{`{"kind":"k","deny":true}`, `{"kind":"k"}`, false}, {"k", `{"kind":"k","deny":true}`, false},
	} {
		if got := must(t, tt.a).clearlyCovers(must(t, tt.b)); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.a, tt.b, got)
		}
	}
}

func TestKindsApart(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"chat", "mcp.*", true}, {"mcp.request", "mcp.*", false}, {"mcp.*", "mcp.request", false},
		{"reasoning/step", "reasoning/start", true}, {"reasoning/step", "reasoning.*", false},
		{"mcp.*", "reasoning/*", true}, {"mcp/a*", "mcp.b*", false}, {"m*.a", "r*.a", false},
		{"*", "mcp.*", false}, {"!mcp.*", "mcp.request", true}, {"!mcp.*", "mcp.*", false},
		{"/^mcp/", "mcp.*", false}, {"/^mcp/", "chat", true}, {"mcp*", "mcp.*", false},
	} {
		a, b := must(t, tt.a), must(t, tt.b)
		if got := a.kind.Apart(&b.kind); got != tt.want {
			t.Errorf("%s and %s are apart: %v", tt.a, tt.b, got)
		}
	}
}

// relative makes a capability that is often narrower or wider than c.
func (g *generator) relative(c any) any {
	m, ok := c.(map[string]any)
	if !ok {
		if g.chance(50) {
			return map[string]any{"kind": c, "payload": g.objectPattern(2, false)}
		}
		return pick[any](g, "*", "mcp.request", "reasoning/thought", c)
	}
	out := map[string]any{}
	for k, v := range m {
		switch {
		case k == "deny":
		case k != "kind" && g.chance(15):
		case k == "payload":
			out[k] = g.near(v)
		case k == "kind" && g.chance(30):
			out[k] = pick(g, someKindPatterns...)
		case k == "to" && g.chance(50):
			out[k] = g.stringOrArray(someIDPatterns)
		case k == "context" && g.chance(50):
			out[k] = g.stringOrArray(someContextPatterns)
		default:
			out[k] = v
		}
	}
	return out
}

// near varies a field pattern a little.
func (g *generator) near(p any) any {
	switch p := p.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range p {
			if g.chance(85) {
				out[k] = g.near(v)
			}
		}
		if g.chance(20) {
			out[pick(g, someKeys...)] = g.textPattern()
		}
		return out
	case []any:
		if g.chance(20) {
			return p[0]
		}
		out := []any{}
		for _, v := range p {
			out = append(out, g.near(v))
		}
		return out
	}
	switch g.r.IntN(6) {
	case 0:
		return g.textPattern()
	case 1:
		return []any{p}
	case 2:
		return []any{p, g.textPattern()}
	}
	return p
}

// covers and disjoint return true only if that holds for all requests.
func TestCovers_IsSound(t *testing.T) {
	t.Parallel()
	pairs, requests := 5_000, 30
	if testkit.IsSlow() {
		pairs = 40_000
	}
	seeds := testkit.Rand(t)
	covered, apart, witnesses := 0, 0, 0
	for i := range pairs {
		g := newGenerator(seeds.Uint64())
		first := g.capability(0)
		second := g.relative(first)
		if g.chance(50) {
			first, second = second, first
		}
		a, err := ParseJSON(g.encode(first))
		if err != nil {
			continue // the variation put a ** below another
		}
		b, err := ParseJSON(g.encode(second))
		if err != nil {
			continue
		}
		deny := a.asDeny()
		covers, kindsApart := a.clearlyCovers(b), a.kind.Apart(&b.kind)
		if covers {
			covered++
		}
		if kindsApart {
			apart++
		}
		for range requests {
			r, err := g.request().compiled(g)
			if err != nil {
				t.Fatal(err)
			}
			inB, inA, isDenied := b.Match(r), a.Match(r), deny.Match(r)
			if inB && covers {
				witnesses++
			}
			switch where := string(r.Payload.Raw()); {
			case inA && !isDenied:
				t.Fatalf("%d: %s allows but, as a deny rule, does not deny %s", i, a, where)
			case inB && covers && !inA:
				t.Fatalf("%d: %s covers %s, but not %s %q %q %s", i, a, b, r.Kind, r.To, r.Context, where)
			case inB && kindsApart && isDenied:
				t.Fatalf("%d: %s is apart from %s, but not for %s %q %q %s", i, a, b, r.Kind, r.To, r.Context, where)
			}
		}
	}
	t.Logf("of %d pairs %d cover, %d are apart; %d witnesses", pairs, covered, apart, witnesses)
	if covered < pairs/20 || apart < pairs/100 || witnesses < pairs/10 {
		t.Error("the pairs prove little")
	}
}

// clearlyCovers is covers with work to spare.
func (c *Capability) clearlyCovers(other *Capability) bool {
	w := Work{left: maxCheckWork}
	return !c.deny && !other.deny && c.covers(other, &w)
}

func (r oracleRequest) compiled(g *generator) (*Request, error) {
	return r.compile(g.encode(r.payload))
}

// Every capability covers itself, so that a holder can grant it unchanged.
func TestCovers_Itself(t *testing.T) {
	seeds := testkit.Rand(t)
	for range 2_000 {
		g := newGenerator(seeds.Uint64())
		c, err := ParseJSON(g.encode(g.capability(0)))
		if err != nil {
			t.Fatal(err)
		}
		if !c.clearlyCovers(c) {
			t.Errorf("%s does not cover itself", c)
		}
	}
}

func TestObserves(t *testing.T) {
	for _, tt := range []struct {
		caps []string
		want bool
	}{
		{nil, false}, {[]string{"*"}, false}, {[]string{"/observe/"}, false}, {[]string{"!chat"}, false},
		{[]string{"observe"}, true}, {[]string{"chat", `{"kind":"observe"}`}, true},
		{[]string{`{"kind":"observe","to":"a"}`}, false},
		{[]string{"observe", `{"kind":"observe","deny":true}`}, false},
		{[]string{"observe", `{"kind":"*","deny":true}`}, false},
		{[]string{"observe", `{"kind":"chat","deny":true}`}, true},
		{[]string{`{"kind":"observe","deny":true}`}, false},
	} {
		l := NewLedger(configuration(t, map[string][]string{"a": tt.caps}))
		if got := l.Effective("a", time.Time{}).Observes(); got != tt.want {
			t.Errorf("%q observes: %v", tt.caps, got)
		}
	}
	if NewSet().Decide(&Request{Kind: protocol.KindChat}).Allowed {
		t.Error("an empty set allows something")
	}
}
