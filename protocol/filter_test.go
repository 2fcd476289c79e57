package protocol

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func filter(t tb, text string) *Matcher {
	t.Helper()
	f, err := ParseFilter(parse(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	m, err := f.Compile()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// said parses an envelope written as "from kind context", with an optional
// context.
func said(s string) *Envelope {
	f := append(strings.Fields(s), "")
	return &Envelope{From: ParticipantID(f[0]), Kind: Kind(f[1]), Context: ContextPath(f[2])}
}

// TestFilter covers the keys of section 6.
func TestFilter(t *testing.T) {
	const (
		main     = "a chat"
		start    = "a reasoning.start"
		top      = "a reasoning.thought r3"
		sibling  = "b reasoning.thought r301"
		below    = "b reasoning.observation r3/x"
		deep     = "b reasoning.thought r3/x/y"
		nested   = "a reasoning.start r3"
		done     = "a reasoning.conclusion r3/x"
		implicit = "c x.note free"
	)
	all := []string{main, start, top, sibling, below, deep, nested, done, implicit}
	for text, want := range map[string][]string{
		`{}`:                          all,
		`{"contexts":[]}`:             all,
		`{"contexts":[""]}`:           {main, start},
		`{"contexts":["r3"]}`:         {top, below, deep, nested, done},
		`{"contexts":["","r3/x"]}`:    {main, start, below, deep, done},
		`{"contexts":["r"]}`:          {},
		`{"exclude_contexts":["r3"]}`: {main, start, sibling, implicit},
		`{"exclude_contexts":[""]}`:   {top, sibling, below, deep, nested, done, implicit},
		`{"contexts":["r3"],"exclude_contexts":["r3/x"]}`: {top, nested},
		`{"kinds":["reasoning/*"]}`:                       {start, top, sibling, below, deep, nested, done},
		`{"kinds":["reasoning/step"]}`:                    {top, sibling, below, deep},
		`{"kinds":["chat","x/*"]}`:                        {main, implicit},
		`{"kinds":["!reasoning.*"]}`:                      {main, implicit},
		`{"from":["b","c"]}`:                              {sibling, below, deep, implicit},
		`{"from":["b"],"contexts":["r3"]}`:                {below, deep},
		`{"depth":0}`:                                     {main, start},
		`{"depth":1}`:                                     {main, start, top, sibling, nested, implicit},
		`{"contexts":["r3"],"depth":0}`:                   {top, nested},
		`{"contexts":["r3"],"depth":1}`:                   {top, below, nested, done},
		`{"contexts":["","r3/x"],"depth":0}`:              {main, start, below, done},
		`{"contexts":[""],"depth":2}`:                     {main, start, top, sibling, below, nested, done, implicit},
		`{"conclusions_only":true}`:                       {main, start, nested, done},
		`{"conclusions_only":true,"contexts":["r3"]}`:     {nested, done},
		`{"conclusions_only":false}`:                      all,
	} {
		m := filter(t, text)
		got := []string{}
		for _, s := range all {
			if m.Match(said(s)) {
				got = append(got, s)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestFilterFaults(t *testing.T) {
	expressions := `["` + strings.Repeat(`/a/","`, maxFilterExpressions) + `/a/"]`
	many := `["` + strings.Repeat(`a","`, maxFilterItems) + `a"]`
	for text, path := range map[string]string{
		`{"context":["a"]}`:             "/payload/context",
		`{"Kinds":["a"]}`:               "/payload/Kinds",
		`{"main":true}`:                 "/payload/main",
		`{"contexts":"a"}`:              "/payload/contexts",
		`{"contexts":[1]}`:              "/payload/contexts",
		`{"contexts":["a//b"]}`:         "/payload/contexts",
		`{"contexts":["/a"]}`:           "/payload/contexts",
		`{"contexts":` + many + `}`:     "/payload/contexts",
		`{"exclude_contexts":["a/"]}`:   "/payload/exclude_contexts",
		`{"exclude_contexts":null}`:     "/payload/exclude_contexts",
		`{"kinds":["a b"]}`:             "/payload/kinds",
		`{"kinds":["/(/"]}`:             "/payload/kinds",
		`{"kinds":["` + `"]}`:           "/payload/kinds",
		`{"kinds":` + expressions + `}`: "/payload/kinds",
		`{"kinds":` + many + `}`:        "/payload/kinds",
		`{"from":["a",null]}`:           "/payload/from",
		`{"from":` + many + `}`:         "/payload/from",
		`{"depth":-1}`:                  "/payload/depth",
		`{"depth":1.5}`:                 "/payload/depth",
		`{"depth":"1"}`:                 "/payload/depth",
		`{"depth":99999999999999999}`:   "/payload/depth",
		`{"conclusions_only":"yes"}`:    "/payload/conclusions_only",
		`{"conclusions_only":null}`:     "/payload/conclusions_only",
	} {
		f, err := ParseFilter(parse(t, text))
		if err == nil {
			_, err = f.Compile()
		}
		if refused := AsError(err); refused == nil || refused.Code != CodeInvalidPayload || refused.Path != path || refused.Detail == "" {
			t.Errorf("%s: got %+v, want it at %s", text, err, path)
		}
	}
	minus := -1
	if _, err := (Filter{Depth: &minus}).Compile(); err == nil {
		t.Error("a negative depth compiles")
	}
}

func TestFilterAsItIsShown(t *testing.T) {
	text := `{"contexts":["a",""],"exclude_contexts":["b"],"kinds":["chat"],"from":["bob"],"depth":0,"conclusions_only":true}`
	m := filter(t, text)
	if got, err := json.Marshal(m.Filter()); err != nil || string(got) != text {
		t.Errorf("got %s, %v", got, err)
	}
	if got, want := m.Filter().String(), "contexts=a, exclude=b kinds=chat from=[bob] depth=0 conclusions only"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var none *Matcher
	if !none.Match(said("a chat")) || !reflect.DeepEqual(none.Filter(), Filter{}) || none.Filter().String() != "" {
		t.Error("a nil Matcher passes everything")
	}
	if filter(t, `{"kinds":[],"conclusions_only":false}`) != nil {
		t.Error("a filter that selects everything compiles to nil")
	}
}

// TestFilterDecisionsAreKept: a kind is matched against regular expressions
// once, and the number of cached decisions is bounded.
func TestFilterDecisionsAreKept(t *testing.T) {
	m := filter(t, `{"kinds":["/^reasoning\\.(start|thought)$/","/^x\\.[0-9]*7$/","chat"]}`)
	for round := range 3 {
		for i := range 2 * maxDecided {
			kind := Kind("x." + strconv.Itoa(i))
			if got, want := m.Match(&Envelope{Kind: kind}), i%10 == 7; got != want {
				t.Fatalf("round %d, %s: got %v", round, kind, got)
			}
		}
		for kind, want := range map[Kind]bool{"reasoning.start": true, "reasoning.cancel": false, "chat": true, "chat.cancel": false} {
			if m.Match(&Envelope{Kind: kind}) != want {
				t.Fatalf("round %d, %s: want %v", round, kind, want)
			}
		}
		if len(m.decided) > maxDecided {
			t.Fatalf("%d decisions are kept", len(m.decided))
		}
	}
	// A cached decision is used.
	m.decided["chat"] = false
	if m.Match(&Envelope{Kind: "chat"}) {
		t.Error("a kind is decided again")
	}
}

// TestFilterExpressionsAreSmallTogether: the programs of all expressions share
// one bound.
func TestFilterExpressionsAreSmallTogether(t *testing.T) {
	large := "/(a|b?){40}c/"
	if _, err := (Filter{Kinds: []string{large}}).Compile(); err != nil {
		t.Fatalf("one: %v", err)
	}
	many := slices.Repeat([]string{large}, maxFilterExpressions)
	if _, err := (Filter{Kinds: many}).Compile(); err == nil || AsError(err).Path != "/payload/kinds" {
		t.Errorf("%d of them: got %v", len(many), err)
	}
	small := slices.Repeat([]string{"/^reasoning[./](start|thought|conclusion)$/"}, maxFilterExpressions)
	if _, err := (Filter{Kinds: small}).Compile(); err != nil {
		t.Errorf("small ones: %v", err)
	}
}
