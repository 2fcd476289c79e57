package meuptest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"golang.org/x/tools/txtar"

	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// Conversations runs every conversation of a folder: txtar files with a script
// and, where the default does not fit, a configuration.
//
// The script language is for readers first. Each line is one action or one
// expectation:
//
//	alice connects QUERY            a connection called alice, with alice's token
//	alice connects QUERY as a2      another one, called a2
//	alice connects QUERY by subprotocol         sends the token as a browser does
//	alice connects QUERY answering no pings
//	alice connects QUERY with Origin=https://…  with a header of that name
//	alice cannot connect QUERY 403 {…}          "nobody" has no token
//	stranger dials PATH             a connection without token, without space
//	bob dials PATH with the token   the same with bob's token in the header
//
//	alice sends {…}                 a frame, unchanged
//	alice sends at once {…} {…}     frames in one packet
//	alice sends quoted "…"          a frame, written as a string of Go
//	alice sends binary {…}
//	alice sends a chat of 100 bytes a frame of that length
//	alice subscribes {…}            and receives the response, with the same filter
//
//	alice gets {…}                  the next frame has (at least) this; presence and acks are skipped
//	alice gets text …               the next frame contains these bytes
//	alice gets {"raw": "#…#…"}      the next frame is this stream data of mew/v0.4
//	alice waits for {…}             the same, after any other frames
//	alice has her ack for ID        an ack for that id has arrived, or is next
//	alice gets presence {…}         the next frame, presence included, has this
//	alice is closed with 4003
//	alice leaves
//
//	GET /path as alice 200 {…}      an HTTP request, its status and (part of) its body
//	GET /path as alice with Accept=application/jsonl 200 {…} {…}
//	POST /path as alice {…} 200 {…}
//	POST /path as alice quoted "…" 400 {…}
//	the response has Retry-After 1  a header of the last response
//	the response contains …         the body of the last response contains this text
//	the response lacks …
//	alice opens events QUERY        server-sent events
//	alice opens events QUERY after 7            with Last-Event-ID
//	alice gets event NAME {…}       the next event has that name and (at least) this
//	alice closes events
//
//	GET http://127.0.0.1:9000/path 200 {…}      a request to the service of meup-reasoner
//	eventually GET /path 200 {…}    the same, repeated until the response is this
//
//	run FILE                        a file of the conversation with sh; its output is the response
//	run FILE exits 2
//	start FILE                      the same, until the end; the last command is one with exec
//	stop FILE                       sends SIGTERM
//	the log of FILE has …
//	the response is {…}             the body of the last response, or the output
//
//	the model gets request 1 {…}    the body of a request to the scripted model
//	the model gets request 1 with … a text in its messages
//	the model gets request 1 without …
//	the model gets 2 requests       so far
//	the model answers               a turn that hangs
//	the callback gets {…}           what ${callback} receives next
//	the callback gets nothing
//	the client asks {…} {…}         the Go client of the Reasoning API, with client.env and tools.txt
//	the client asks {…} fails …
//	the client submits {…} {…}
//	the client cancels ID
//
//	the gateway restarts
//	the gateway drains
//	the configuration becomes FILE
//	the data folder has TEXT in it
//	the data folder has nothing of TEXT
//	20 times LINE                   ${n} counts from 1
//
// An expected object must be part of the received one; an expected array must
// have the same length. The string "$name" captures the value in its place;
// later it means the captured value, also inside other strings and in sent
// text (as ${name}). "$absent" requires that the member is absent, "$any" that
// it is present. "$now" is a ts of this minute, "$uuid7" an id of that form,
// and "$above:name" a number above the captured one.
//
// ${short}, also in the configuration, is a number of seconds for what must first be used and then
// end by itself. A conversation with it is repeated with a longer time while it fails, since a busy
// machine may use it too late.
//
// Commands have the programs of this repository in their PATH, MEUP_URL
// and MEUP_SPACE for the gateway, and MODEL_URL for the scripted
// model, whose answers are in turns.json. In a conversation the address
// 127.0.0.1:9000 is the service that it started last, also for curl; the service
// listens on a free port.
func Conversations(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations in %s", dir)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			short := 1
			for err = run(t, file, data, short); err != nil && short < 60 && bytes.Contains(data, []byte("${short}")); err = run(t, file, data, short) {
				short *= 4
				t.Logf("again, %d s are short: %v", short, err)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func run(t *testing.T, file string, data []byte, short int) error {
	files := make(map[string]string)
	for _, f := range txtar.Parse(bytes.ReplaceAll(data, []byte("${short}"), []byte(strconv.Itoa(short)))).Files {
		files[f.Name] = string(f.Data)
	}
	configuration := files["config.yaml"]
	if configuration == "" {
		configuration = Config
	}
	programs := &programs{home: t.TempDir(), started: make(map[string]*process)}
	for name, text := range files {
		path := filepath.Join(programs.home, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c := &conversation{
		t: t, files: files, gateway: Start(t, configuration), client: programs.client(), programs: programs,
		peers: make(map[string]*peer), listeners: make(map[string]*listener), vars: make(testkit.JSONVars),
	}
	if files["turns.json"] != "" {
		c.startModel(t)
	}
	if strings.Contains(files["script"], "${callback}") {
		c.startReceiver(t)
	}
	defer c.end()
	lines := bufio.NewScanner(strings.NewReader(files["script"]))
	lines.Buffer(nil, 4<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := c.do(line); err != nil {
			return fmt.Errorf("%s: script line %d: %s\n%w", file, n, line, err)
		}
	}
	return nil
}

type conversation struct {
	t         *testing.T
	files     map[string]string
	gateway   *Gateway
	client    *http.Client
	peers     map[string]*peer     // by connection name
	listeners map[string]*listener // to events
	answer    answer               // of the last request
	drained   chan struct{}        // closed when the gateway has drained; nil: no drain
	vars      testkit.JSONVars

	programs  *programs
	model     *llmtest.Server // nil: no turns.json
	release   chan struct{}   // releases a turn that hangs
	callbacks chan string
}

// end cuts all connections, so that the gateway can stop at once.
func (c *conversation) end() {
	c.programs.end()
	for _, p := range c.peers {
		_ = p.ws.CloseNow()
	}
	for _, l := range c.listeners {
		l.stop()
	}
	c.client.CloseIdleConnections()
	c.awaitDrained()
}

func (c *conversation) awaitDrained() {
	if c.drained != nil {
		<-c.drained
		c.drained = nil
	}
}

// do runs a line, which waits for its expectation.
func (c *conversation) do(line string) error {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	who, rest, _ := strings.Cut(line, " ")
	switch {
	case who == http.MethodGet || who == http.MethodPost:
		return c.request(ctx, who, rest)
	case who == "eventually":
		return c.repeatedly(ctx, rest)
	case who == "run":
		return c.runs(rest)
	case who == "start":
		return c.starts(ctx, rest)
	case who == "stop":
		return c.stops(ctx, rest)
	case who == "the":
		return c.partDoes(ctx, rest)
	case strings.HasPrefix(rest, "times "):
		return c.times(who, strings.TrimPrefix(rest, "times "))
	}
	verb, object, _ := strings.Cut(rest, " ")
	switch verb {
	case "connects":
		return c.connects(ctx, who, object)
	case "cannot":
		return c.cannotConnect(ctx, who, strings.TrimPrefix(object, "connect "))
	case "dials":
		return c.dials(ctx, who, object)
	case "opens":
		return c.openEvents(who, strings.TrimPrefix(object, "events "))
	case "closes":
		c.listeners[who].stop()
		return nil
	case "gets":
		if event, ok := strings.CutPrefix(object, "event "); ok {
			return c.getsEvent(ctx, who, event)
		}
	}
	p := c.peers[who]
	if p == nil {
		return fmt.Errorf("%s is not connected", who)
	}
	switch verb {
	case "sends":
		return c.sends(ctx, p, object)
	case "subscribes":
		frame := `{"kind": "system.subscribe", "payload": ` + c.vars.Fill(object) + `}`
		if err := p.ws.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
			return err
		}
		return c.waitsFor(ctx, p, `{"kind": "system.subscribed", "from": "system:gateway", "payload": `+object+`}`)
	case "gets":
		return c.gets(ctx, p, object)
	case "waits":
		return c.waitsFor(ctx, p, strings.TrimPrefix(object, "for "))
	case "is":
		return p.closedWith(ctx, strings.TrimPrefix(object, "closed with "))
	case "has":
		return p.hasAck(ctx, c.vars.Fill(object[strings.LastIndexByte(object, ' ')+1:]))
	case "leaves":
		return p.ws.Close(websocket.StatusNormalClosure, "")
	}
	return fmt.Errorf("what does %q do?", verb)
}

// partDoes runs a line about a part of the conversation that is no participant.
func (c *conversation) partDoes(ctx context.Context, what string) error {
	part, does, _ := strings.Cut(what, " ")
	switch part {
	case "model":
		return c.modelDoes(ctx, does)
	case "callback":
		return c.callbackGets(ctx, strings.TrimPrefix(does, "gets "))
	case "client":
		return c.clientDoes(ctx, does)
	case "log":
		return c.logged(ctx, strings.TrimPrefix(does, "of "))
	}
	if header, ok := strings.CutPrefix(what, "response has "); ok {
		return c.answer.has(header)
	}
	if expected, ok := strings.CutPrefix(what, "response is "); ok {
		return c.vars.CompareAll(expected, string(c.answer.body))
	}
	if text, ok := strings.CutPrefix(what, "response contains "); ok {
		return c.answer.contains(c.vars.Fill(text))
	}
	if text, ok := strings.CutPrefix(what, "response lacks "); ok {
		if c.answer.contains(c.vars.Fill(text)) == nil {
			return fmt.Errorf("got %s", c.answer.body)
		}
		return nil
	}
	if file, ok := strings.CutPrefix(what, "configuration becomes "); ok {
		c.gateway.Reload(c.files[file])
		return nil
	}
	if text, ok := strings.CutPrefix(what, "data folder has nothing of "); ok {
		return c.dataFolder(c.vars.Fill(text), false)
	}
	if text, ok := strings.CutPrefix(what, "data folder has "); ok {
		return c.dataFolder(c.vars.Fill(strings.TrimSuffix(text, " in it")), true)
	}
	switch what {
	case "gateway restarts":
		c.awaitDrained()
		c.gateway.Restart()
		return nil
	case "gateway drains": // while the script continues
		drained := make(chan struct{})
		c.drained = drained
		go func() { // ends with the gateway; awaitDrained waits
			defer close(drained)
			c.gateway.Stop()
		}()
		return nil
	}
	return fmt.Errorf("what does %q do?", "the "+what)
}

func (c *conversation) times(count, line string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return fmt.Errorf("how often: %w", err)
	}
	for i := range n {
		c.vars["n"] = strconv.Itoa(i + 1)
		if err := c.do(line); err != nil {
			return fmt.Errorf("time %d: %w", i+1, err)
		}
	}
	return nil
}

// dataFolder searches all files of the gateway for a text.
func (c *conversation) dataFolder(text string, wanted bool) error {
	found := ""
	err := filepath.WalkDir(c.gateway.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the log may delete files meanwhile
		}
		if strings.Contains(string(data), text) {
			found = path
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case wanted && found == "":
		return errors.New("it has not")
	case !wanted && found != "":
		return fmt.Errorf("it is in %s", found)
	}
	return nil
}
