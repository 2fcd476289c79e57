package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/sdk/conformance/clienttest"
	"github.com/meup-protocol/meup/sdk/conformance/vector"
)

// proxy forwards WebSocket connections and changes their frames, which makes a correct client
// or gateway a faulty one.
type proxy struct {
	target string // http://HOST
	// up and down change a frame on its way to the gateway, and to the client; nil: none.
	up, down func(frame string) []string
	query    func(url.Values) // of an upgrade; nil: none
	faulty   atomic.Bool      // false: changes nothing
	running  sync.WaitGroup
}

// ServeHTTP forwards a connection until one side ends it, or a request.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/ws" {
		target, _ := url.Parse(p.target)
		httputil.NewSingleHostReverseProxy(target).ServeHTTP(w, r)
		return
	}
	p.running.Add(1)
	defer p.running.Done()
	q, up, down := r.URL.Query(), p.up, p.down
	switch {
	case !p.faulty.Load():
		up, down = nil, nil
	case p.query != nil:
		p.query(q)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	header := http.Header{}
	if token := r.Header.Get("Authorization"); token != "" {
		header.Set("Authorization", token)
	}
	there, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(p.target, "http")+"/ws?"+q.Encode(), &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		if resp == nil {
			panic(http.ErrAbortHandler)
		}
		var body bytes.Buffer
		_, _ = body.ReadFrom(resp.Body)
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(body.Bytes())
		return
	}
	here, err := websocket.Accept(w, r, nil)
	if err != nil {
		_ = there.CloseNow()
		return
	}
	var group sync.WaitGroup
	group.Go(func() { forward(ctx, here, there, up) })
	forward(ctx, there, here, down)
	group.Wait()
}

// forward copies frames until a side ends the connection, and ends the other.
func forward(ctx context.Context, from, to *websocket.Conn, change func(string) []string) {
	from.SetReadLimit(64 << 20)
	for {
		typ, frame, err := from.Read(ctx)
		var closed websocket.CloseError
		switch {
		case errors.As(err, &closed) && closed.Code != websocket.StatusNoStatusRcvd:
			_ = to.Close(closed.Code, closed.Reason)
			return
		case err != nil:
			_ = to.CloseNow()
			return
		}
		frames := []string{string(frame)}
		if change != nil {
			frames = change(string(frame))
		}
		for _, f := range frames {
			if to.Write(ctx, typ, []byte(f)) != nil {
				return
			}
		}
	}
}

// drop leaves out the frames with a text, and keep returns a frame.
func drop(text string) func(string) []string {
	return func(frame string) []string {
		if strings.Contains(frame, text) {
			return nil
		}
		return []string{frame}
	}
}

// twice sends the frames with a text twice, the second time with another id.
func twice(text string) func(string) []string {
	return func(frame string) []string {
		if !strings.Contains(frame, text) {
			return []string{frame}
		}
		return []string{frame, strings.Replace(frame, `"id":"`, `"id":"again-`, 1)}
	}
}

// replace replaces a text.
func replace(old, replacement string) func(string) []string {
	return func(frame string) []string { return []string{strings.ReplaceAll(frame, old, replacement)} }
}

// clientMutants are faulty clients, with the vector that each fails, and a part of the step.
var clientMutants = map[string]struct {
	proxy  *proxy
	vector string
	want   string
}{
	"no thought":              {&proxy{up: drop(`"thinking"`)}, "answer", `"thinking"`},
	"answers twice":           {&proxy{up: twice(`you said`)}, "answer", "quiet"},
	"no correlation":          {&proxy{up: replace(`"correlationId":"q1",`, "")}, "answer", "reasoning.start"},
	"private answer to all":   {&proxy{up: replace(`"to":["alice","bob"],`, "")}, "private", "reasoning.start"},
	"answers everything":      {&proxy{down: replace(`"to":["tools"],`, "")}, "addressing", "c5"},
	"ignores other agents":    {&proxy{down: replace(`"reasoning/*"`, `"x.a"`)}, "other-agent", "c4"},
	"request to all":          {&proxy{up: replace(`"to":["tools"],`, "")}, "call", "mcp.request"},
	"believes any response":   {&proxy{down: replace(`"from":"alice","to":["bot"],"kind":"mcp.response"`, `"from":"tools","to":["bot"],"kind":"mcp.response"`)}, "call", "the result"},
	"ignores isError":         {&proxy{down: replace(`"isError": true`, `"isError": false`)}, "call-error", "call failed"},
	"does not cancel calls":   {&proxy{up: drop("notifications/cancelled")}, "cancel-call", "notifications/cancelled"},
	"answers when canceled":   {&proxy{down: drop("chat.cancel")}, "cancel-call", "notifications/cancelled"},
	"closes twice":            {&proxy{up: twice(`I have stopped`)}, "cancel-context", "q1"},
	"keeps proposals":         {&proxy{up: drop("mcp.withdraw")}, "propose-withdrawn", "mcp.withdraw"},
	"believes any result":     {&proxy{down: replace(`"from":"bob"`, `"from":"tools"`)}, "propose", "the result"},
	"ignores rejections":      {&proxy{down: drop("mcp.reject")}, "propose-rejected", "reasoning.conclusion"},
	"leaves contexts open":    {&proxy{up: drop("reasoning.cancel")}, "fail", "reasoning.cancel"},
	"leaves leftovers":        {&proxy{up: drop("reasoning.cancel")}, "killed", "reasoning.cancel"},
	"responds to all":         {&proxy{up: replace(`"to":["alice"],"kind":"mcp.response"`, `"kind":"mcp.response"`)}, "tools", "mcp.response"},
	"other JSON-RPC id":       {&proxy{up: replace(`"id":"two"`, `"id":"three"`)}, "tools", "two"},
	"responds twice":          {&proxy{up: twice(`"id":"i30"`)}, "tools-flood", "mcp.response"},
	"no resume":               {&proxy{query: func(q url.Values) { q.Del("since") }}, "resume", "refuse"},
	"resumes from the future": {&proxy{query: func(q url.Values) { q.Set("since", "99999") }}, "resume", "refuse"},
	"no acknowledgements":     {&proxy{query: func(q url.Values) { q.Del("ack") }}, "answer", "connect"},
	"another space":           {&proxy{query: func(q url.Values) { q.Set("space", "other") }}, "answer", "connect"},
	"other sender":            {&proxy{up: replace(`"from":"bot"`, `"from":"alice"`)}, "answer", "reasoning.start"},
	"invalid payload":         {&proxy{up: replace(`"message":"thinking"`, `"message":7`)}, "answer", "thinking"},
	"invalid JSON":            {&proxy{up: replace(`"message":"thinking"`, `"message":"thinking","message":""`)}, "answer", "thinking"},
	"no ids":                  {&proxy{up: withoutID}, "answer", "reasoning.start"},
	"gateway's kind":          {&proxy{up: replace(`reasoning.start`, `system.welcome`)}, "answer", "reasoning.start"},
	"new id for a retry":      {&proxy{up: renumber()}, "outbox-refused", "reasoning.start"},
	"one id for all":          {&proxy{up: sameID}, "answer", "reasoning.start"},
	"answers beside a twin":   {&proxy{up: drop("reasoning.cancel")}, "twin", "reasoning.cancel"},
	"stays paused":            {&proxy{down: drop("participant.resume")}, "pause", "you said"},
}

// withoutID removes the id of an envelope.
func withoutID(frame string) []string {
	before, rest, found := strings.Cut(frame, `"id":"`)
	_, after, closed := strings.Cut(rest, `",`)
	if !found || !closed {
		return []string{frame}
	}
	return []string{before + after}
}

func sameID(frame string) []string {
	return []string{strings.Replace(withoutID(frame)[0], "{", `{"id":"one",`, 1)}
}

// renumber gives each frame an id of its own.
func renumber() func(string) []string {
	var n atomic.Int64
	return func(frame string) []string {
		return []string{strings.Replace(frame, `"id":"`, fmt.Sprintf(`"id":"%d-`, n.Add(1)), 1)}
	}
}

// secondTime gives a frame with a text another id when it comes again.
func secondTime(text string) func(string) []string {
	var seen atomic.Bool
	return func(frame string) []string {
		if strings.Contains(frame, text) && seen.Swap(true) {
			frame = strings.Replace(frame, `"id": "`, `"id": "again-`, 1)
		}
		return []string{frame}
	}
}

// runMutant is the program under test, with the proxy of a mutation.
func runMutant(name string) int {
	if mutant, found := clientMutants[name]; found || name == "proxy" {
		p := mutant.proxy
		if p == nil {
			p = &proxy{}
		}
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return 3
		}
		p.target = os.Getenv("MEUP_URL")
		p.faulty.Store(true)
		go func() { _ = http.Serve(listener, p) }() // ends with the process
		_ = os.Setenv("MEUP_URL", "http://"+listener.Addr().String())
	}
	bot().Main()
	return 0
}

// Each mutant of the Go client fails its vector at the step that is about the fault. The proxy
// alone changes nothing.
func TestClient_MutantsFail(t *testing.T) {
	list := make(map[string]vector.Vector)
	for _, v := range load(t, "client") {
		list[v.Name] = v
	}
	play := func(mutation, name string, step time.Duration) error {
		v := list[name]
		return clienttest.Run(t.Context(), &v, clienttest.Options{
			Command: []string{os.Args[0]}, Env: append(os.Environ(), botVariable+"="+mutation), Step: step,
		})
	}
	t.Run("proxy alone", func(t *testing.T) {
		if err := play("proxy", "call", testkit.Patience); err != nil {
			t.Error(err)
		}
	})
	slots := make(chan struct{}, 8) // most mutants wait for a timeout
	results := make(map[string]chan error)
	for name, mutant := range clientMutants {
		done := make(chan error, 1)
		results[name] = done
		go func() { // ends with the test, which reads all results
			slots <- struct{}{}
			defer func() { <-slots }()
			var err error
			for _, step := range []time.Duration{time.Second, 3 * time.Second, 30 * time.Second, testkit.Patience} { // the longer ones if the machine is slow
				var failed *vector.Failure
				err = play(name, mutant.vector, step)
				switch {
				case err == nil:
					err = errors.New("it passes")
				case errors.As(err, &failed) && strings.Contains(failed.Step.Text, mutant.want):
					done <- nil
					return
				}
			}
			done <- err
		}()
	}
	for name, done := range results {
		t.Run(name, func(t *testing.T) {
			if err := <-done; err != nil {
				t.Errorf("%s: want a failure at a step with %s: %v", clientMutants[name].vector, clientMutants[name].want, err)
			}
		})
	}
}

// gatewayMutants are faulty gateways, with the vector that each fails.
var gatewayMutants = map[string]struct {
	proxy  *proxy
	vector string
}{
	"no welcome":          {&proxy{down: drop(`"system.welcome"`)}, "1-welcome"},
	"counts no others":    {&proxy{down: replace(`"connections":2`, `"connections":1`)}, "1-welcome"},
	"no presence":         {&proxy{down: drop(`"event":"leave"`)}, "1-welcome"},
	"no description":      {&proxy{down: replace(`,"description":"Decides."`, ``)}, "description"},
	"keeps the sender's":  {&proxy{down: replace(`"from":"alice"`, `"from":"bob"`)}, "fields"},
	"no seq":              {&proxy{down: replace(`"seq":`, `"sequence":`)}, "fields"},
	"rounds numbers":      {&proxy{down: replace("100000000000000000000000000001", "100000000000000000000000000000")}, "bytes"},
	"reorders keys":       {&proxy{down: replace(`"z":1.0,"a":`, `"a":1.0,"z":`)}, "bytes"},
	"drops fields":        {&proxy{down: replace(`"extra":`, `"other":`)}, "bytes"},
	"corrects the sender": {&proxy{up: replace(`"from": "bob",`, "")}, "identity"},
	"delivers refused":    {&proxy{up: replace(`"no-such-participant-f00d"`, `"carol"`)}, "unknown"},
	"acknowledges early":  {&proxy{down: replace(`"system.error"`, `"system.ack"`)}, "acks"},
	"no acknowledgements": {&proxy{down: drop(`"system.ack"`)}, "acks"},
	"always acknowledges": {&proxy{query: func(q url.Values) { q.Set("ack", "true") }}, "acks"},
	"always echoes":       {&proxy{query: func(q url.Values) { q.Del("echo") }}, "echo"},
	"loses one":           {&proxy{down: drop(`"message": "25"`)}, "order"},
	"delivers twice":      {&proxy{down: func(f string) []string { return append(drop(`"message": "25"`)(f), f) }}, "order"},
	"reorders":            {&proxy{down: reorder()}, "order"},
	"delivers retries":    {&proxy{up: secondTime(`"message": "one"`)}, "retry"},
	"accepts duplicates":  {&proxy{up: replace(`"message": "stolen"`, `"message": "stolen", "n": 1`), down: drop("duplicate_id")}, "retry"},
	"takes the last key":  {&proxy{up: replace(`"message":"a","message":"b"`, `"message":"b"`)}, "json"},
	"accepts deep nesting": {&proxy{up: func(f string) []string {
		return []string{strings.NewReplacer(strings.Repeat("[", 70), "[", strings.Repeat("]", 70), "]").Replace(f)}
	}}, "json"},
	"no path":              {&proxy{down: replace(`"path":`, `"where":`)}, "envelope"},
	"accepts any payload":  {&proxy{up: replace(`"payload": {"format": "plain"}`, `"payload": {"message": ""}`)}, "payload"},
	"no alias":             {&proxy{down: replace(`"message": "an alias"`, `"text": "an alias"`)}, "payload"},
	"relays system kinds":  {&proxy{up: replace(`"system.presence"`, `"x.presence"`)}, "kinds"},
	"keeps slashes":        {&proxy{down: replace(`x.application`, `x/application`)}, "kinds"},
	"accepts paths":        {&proxy{up: replace(`a//b`, `a/b`)}, "context"},
	"broadcasts":           {&proxy{up: replace(`"to": ["alice"],`, "")}, "addressed"},
	"resumes with a gap":   {&proxy{down: drop(`"message": "7"`)}, "resume"},
	"ignores since":        {&proxy{query: func(q url.Values) { q.Del("since") }}, "resume"},
	"ignores the log's id": {&proxy{query: func(q url.Values) { q.Del("log") }}, "log"},
	"filters by prefix":    {&proxy{up: replace(`-301"`, `-3"`)}, "filter"},
	"ignores filters":      {&proxy{query: func(q url.Values) { q.Del("kinds") }}, "filter-work"},
	"hides work":           {&proxy{down: drop(`"mcp.request"`)}, "filter-work"},
	"observers send":       {&proxy{query: func(q url.Values) { q.Del("observe") }}, "observe"},
	"no limit":             {&proxy{up: replace(strings.Repeat("x", 1<<20), "x")}, "size"},
	"trims streams":        {&proxy{down: replace(`"a part "`, `"a part"`)}, "stream"},
	"any fulfillment":      {&proxy{up: replace(`"path": "y"`, `"path": "x"`)}, "proposal"},
	"no expiry":            {&proxy{up: replace(`, "expires_at": "2026-01-01T00:00:00Z"`, ``)}, "expiry"},
	"no capabilities":      {&proxy{down: replace(`"your_capabilities"`, `"capabilities"`)}, "capabilities"},
	"ignores revocations":  {&proxy{up: drop(`capability.revoke`)}, "capabilities"},
	"ignores pauses":       {&proxy{up: replace(`participant.pause`, `participant.status`)}, "pause"},
	"no redaction":         {&proxy{up: replace(`AKIAIOSFODNN7EXAMPLQ`, `a secret`)}, "redaction"},
}

// reorder swaps two frames.
func reorder() func(string) []string {
	var held atomic.Value
	return func(frame string) []string {
		switch {
		case strings.Contains(frame, `"message": "10"`):
			held.Store(frame)
			return nil
		case strings.Contains(frame, `"message": "11"`):
			first, _ := held.Load().(string)
			return []string{frame, first}
		}
		return []string{frame}
	}
}

// Each mutant of the gateway fails its vector; the proxy alone changes nothing.
func TestGateway_MutantsFail(t *testing.T) {
	list := load(t, "gateway")
	gateway := meuptest.Start(t, config)
	for _, v := range list {
		t.Run("proxy alone: "+v.Name, func(t *testing.T) {
			if err := playMutant(t, gateway, &proxy{}, v, testkit.Patience); err != nil {
				t.Error(err)
			}
		})
	}
	for name, mutant := range gatewayMutants {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(list, func(v vector.Vector) bool { return v.Name == mutant.vector })
			if err := playMutant(t, gateway, mutant.proxy, list[i], 300*time.Millisecond); err == nil {
				t.Errorf("it passes %s", mutant.vector)
			}
		})
	}
}

// playMutant runs a vector through a proxy that changes frames.
func playMutant(t *testing.T, gateway *meuptest.Gateway, p *proxy, v vector.Vector, step time.Duration) error {
	t.Helper()
	p.target = gateway.HTTP()
	server := httptest.NewServer(p)
	suite := newSuite(t, server.URL, step)
	p.faulty.Store(true)
	err := suite.Run(t.Context(), &v)
	server.Close() // first: no connection begins after it
	p.running.Wait()
	return err
}
