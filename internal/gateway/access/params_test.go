package access_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

func parse(t testing.TB, query string, subprotocols ...string) (*access.ConnectOptions, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ws", http.NoBody)
	r.URL.RawQuery = query
	for _, s := range subprotocols {
		r.Header.Add("Sec-WebSocket-Protocol", s)
	}
	return access.ParseConnect(r)
}

func seq(n protocol.Seq) *protocol.Seq { return &n }

func TestParseConnect(t *testing.T) {
	for query, want := range map[string]access.ConnectOptions{
		"space=lab":                  {},
		"space=lab&since=0":          {Join: space.JoinOptions{Since: seq(0)}},
		"space=lab&since=17":         {Join: space.JoinOptions{Since: seq(17)}},
		"space=lab&ack=true":         {Join: space.JoinOptions{Ack: true}},
		"space=lab&ack=1&echo=0":     {Join: space.JoinOptions{Ack: true, NoEcho: true}},
		"space=lab&ack=&echo=true":   {Join: space.JoinOptions{Ack: true}},
		"space=lab&echo=false":       {Join: space.JoinOptions{NoEcho: true}},
		"space=lab&linger=true":      {Join: space.JoinOptions{Linger: true}},
		"space=lab&observe=true":     {Join: space.JoinOptions{Observe: true}},
		"space=lab&serves=tools":     {Join: space.JoinOptions{Tools: true}},
		"space=lab&observe=false":    {},
		"space=lab&main=true":        {Join: space.JoinOptions{Filter: protocol.Filter{Contexts: []string{""}}}},
		"space=lab&main=false":       {},
		"space=lab&context=a/b,c":    {Join: space.JoinOptions{Filter: protocol.Filter{Contexts: []string{"a/b", "c"}}}},
		"space=lab&context=a%2Fb":    {Join: space.JoinOptions{Filter: protocol.Filter{Contexts: []string{"a/b"}}}},
		"space=lab&kinds=chat,+x.*":  {Join: space.JoinOptions{Filter: protocol.Filter{Kinds: []string{"chat", "x.*"}}}},
		"space=lab&from=a&from=b":    {Join: space.JoinOptions{Filter: protocol.Filter{From: []protocol.ParticipantID{"a", "b"}}}},
		"space=lab&dialect=mew/v0.4": {Join: space.JoinOptions{Dialect: protocol.DialectMEW04}, DialectNamed: true},
		"space=lab&dialect=mew/v0.3": {Join: space.JoinOptions{Dialect: protocol.DialectMEW04}, DialectNamed: true},
		"space=lab&utm_source=proxy": {},
	} {
		got, refused := parse(t, query)
		if refused != nil {
			t.Errorf("%s: %v", query, refused)
			continue
		}
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v, want %+v", query, *got, want)
		}
	}
}

func TestParseConnect_Rejects(t *testing.T) {
	for _, query := range []string{
		"", "space=", "space=a/b", "space=a+b", "space=lab&space=lab", "space=lab&since=", "space=lab&since=-1", "space=lab&since=1.5",
		"space=lab&since=9223372036854775808", "space=lab&since=1&since=2", "space=lab&ack=yes", "space=lab&echo=TRUE", "space=lab&observe=2",
		"space=lab&main=x", "space=lab&context=/a", "space=lab&context=a//b", "space=lab&kinds=/(/", "space=lab&kinds=a+b", "space=lab&dialect=", "space=lab&dialect=meup",
	} {
		if o, refused := parse(t, query); refused == nil || protocol.AsError(refused).Code != protocol.CodeBadRequest || protocol.AsError(refused).Message == "" {
			t.Errorf("%s: %+v, %v", query, o, refused)
		}
	}
}

func TestDialectFromSubprotocol(t *testing.T) {
	for offer, want := range map[string]protocol.Dialect{
		"meup.v0.1, bearer.x": protocol.DialectMEUP01, "meup.v0.2, bearer.x": protocol.DialectMEUP02, "bearer.x,mew.v0.4": protocol.DialectMEW04,
	} {
		if o, refused := parse(t, "space=lab", offer); refused != nil || o.Join.Dialect != want {
			t.Errorf("%s: %v, %v", offer, o, refused)
		}
	}
	if o, _ := parse(t, "space=lab&dialect=meup/v0.1", "mew.v0.4"); o.Join.Dialect != protocol.DialectMEUP01 {
		t.Error("the parameter does not go before the subprotocol")
	}
}

// FuzzParseConnect checks that any query is rejected as a bad request, or
// yields valid options.
func FuzzParseConnect(f *testing.F) {
	f.Add("space=lab&since=0&ack=true&context=a,b&kinds=reasoning/*,!chat&from=x&main=true&observe=1&dialect=meup/v0.2")
	f.Add("space=lab&since=-1")
	f.Add("space=%zz&&&=;")
	f.Fuzz(func(t *testing.T, query string) {
		o, refused := parse(t, query)
		if refused != nil {
			if protocol.AsError(refused).Code != protocol.CodeBadRequest {
				t.Errorf("refused with %v", refused)
			}
			return
		}
		if _, err := o.Join.Filter.Compile(); err != nil {
			t.Errorf("filter: %v", err)
		}
		if values, err := url.ParseQuery(query); err == nil && len(values["space"]) != 1 {
			t.Errorf("spaces %v", values["space"])
		}
	})
}

func TestHasToken(t *testing.T) {
	values := []string{"keep-alive, Upgrade", "x"}
	for token, want := range map[string]bool{"upgrade": true, "X": true, "keep": false, "": false} {
		if got := access.HasToken(values, token); got != want {
			t.Errorf("%q: %v", token, got)
		}
	}
}
