package meuptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/tools/txtar"
)

// Conversations runs every conversation of a folder: txtar files with a script
// and, where the usual one will not do, a configuration.
//
// A script is read by people first. One line is one thing that happens:
//
//	alice connects QUERY            a connection called alice, with alice's token
//	alice connects QUERY as a2      another one, called a2
//	alice cannot connect QUERY 403 {…}
//	stranger dials                  a connection without space or token
//	alice sends {…}                 a frame, as it stands
//	alice gets {…}                  the next frame has (at least) this; presence and acks are skipped
//	alice has her ack for ID        an ack for that id has come, or comes next
//	alice sees presence {…}         the next frame, presence among them, has this
//	alice is closed with 4003
//	alice leaves
//	GET /path as alice 200 {…}      an HTTP request, its status and (part of) its body
//	POST /path as alice {…} 200 {…}
//	the gateway restarts
//	the configuration becomes FILE
//
// An expected object has to be part of what came, an expected array is as
// long. The string "$name" stands for whatever comes there, and later, also
// inside other strings and in what is sent, for that value again; "$absent"
// says that there is no such member, "$any" that there is one.
func Conversations(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations in %s", dir)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			run(t, file)
		})
	}
}

func run(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	configuration := files["config.yaml"]
	if configuration == "" {
		configuration = Config
	}
	c := &conversation{t: t, files: files, gateway: Start(t, configuration), conns: make(map[string]*websocket.Conn), acks: make(map[string]bool), vars: make(map[string]any)}
	t.Cleanup(func() {
		for _, ws := range c.conns {
			_ = ws.CloseNow()
		}
	})
	lines := bufio.NewScanner(strings.NewReader(files["script"]))
	lines.Buffer(nil, 4<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := c.do(line); err != nil {
			t.Fatalf("%s: script line %d: %s\n%v", file, n, line, err)
		}
	}
}

type conversation struct {
	t       *testing.T
	files   map[string]string
	gateway *Gateway
	conns   map[string]*websocket.Conn
	acks    map[string]bool // "alice msg-1": acks that came before somebody asked
	vars    map[string]any
}

// patience is how long a line waits for what it expects.
const patience = 10 * time.Second

func (c *conversation) do(line string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	who, rest, _ := strings.Cut(line, " ")
	switch {
	case who == "GET" || who == "POST":
		return c.request(ctx, who, rest)
	case line == "the gateway restarts":
		c.gateway.Restart()
		return nil
	case strings.HasPrefix(line, "the configuration becomes "):
		c.gateway.Reload(c.files[strings.TrimPrefix(line, "the configuration becomes ")])
		return nil
	}
	verb, object, _ := strings.Cut(rest, " ")
	switch verb {
	case "connects":
		return c.connects(ctx, who, object)
	case "cannot":
		return c.cannotConnect(ctx, who, strings.TrimPrefix(object, "connect "))
	case "dials":
		return c.dials(ctx, who)
	case "sends":
		return c.sends(ctx, who, object)
	case "gets":
		return c.gets(ctx, who, object, false)
	case "sees":
		return c.gets(ctx, who, strings.TrimPrefix(object, "presence "), true)
	case "is":
		return c.isClosed(ctx, who, strings.TrimPrefix(object, "closed with "))
	case "has":
		return c.hasAck(ctx, who, c.substitute(object[strings.LastIndexByte(object, ' ')+1:]))
	case "leaves":
		return c.conns[who].Close(websocket.StatusNormalClosure, "")
	}
	return fmt.Errorf("what does %q do?", verb)
}

func (c *conversation) dial(ctx context.Context, who, query string) (*websocket.Conn, *http.Response, error) {
	if !strings.Contains(query, "space=") {
		query = strings.TrimSuffix("space=lab&"+query, "&")
	}
	header := http.Header{"Authorization": {"Bearer " + c.token(who)}}
	ws, resp, err := websocket.Dial(ctx, "ws://"+c.gateway.Addr()+"/ws?"+query, &websocket.DialOptions{HTTPHeader: header})
	if ws != nil {
		ws.SetReadLimit(64 << 20)
	}
	return ws, resp, err
}

// token is the participant's, or one that was captured under the name.
func (c *conversation) token(who string) string {
	if t, ok := c.vars[who+"-token"].(string); ok {
		return t
	}
	return who + "-token"
}

func (c *conversation) connects(ctx context.Context, who, rest string) error {
	query, label, found := strings.Cut(rest, "as ")
	if !found {
		label = who
	}
	ws, _, err := c.dial(ctx, who, c.substitute(strings.TrimSpace(query)))
	if err != nil {
		return err
	}
	c.conns[strings.TrimSpace(label)] = ws
	return nil
}

func (c *conversation) cannotConnect(ctx context.Context, who, rest string) error {
	query, rest, _ := strings.Cut(rest, " ")
	ws, resp, err := c.dial(ctx, who, query)
	if err == nil {
		_ = ws.CloseNow()
		return errors.New("it could")
	}
	return c.answered(resp, rest)
}

func (c *conversation) dials(ctx context.Context, who string) error {
	ws, resp, err := websocket.Dial(ctx, "ws://"+c.gateway.Addr()+"/", nil)
	if err != nil {
		return fmt.Errorf("%w: %v", err, resp)
	}
	ws.SetReadLimit(64 << 20)
	c.conns[who] = ws
	return nil
}

func (c *conversation) sends(ctx context.Context, who, frame string) error {
	ws := c.conns[who]
	if ws == nil {
		return fmt.Errorf("%s is not connected", who)
	}
	return ws.Write(ctx, websocket.MessageText, []byte(c.substitute(frame)))
}

func (c *conversation) gets(ctx context.Context, who, expected string, presence bool) error {
	ws := c.conns[who]
	if ws == nil {
		return fmt.Errorf("%s is not connected", who)
	}
	for {
		_, frame, err := ws.Read(ctx)
		if err != nil {
			return err
		}
		var got map[string]any
		if err := decode(frame, &got); err != nil {
			return fmt.Errorf("frame %s: %w", frame, err)
		}
		kind, _ := got["kind"].(string)
		if kind == "system.ack" && !strings.Contains(expected, `"system.ack"`) {
			c.acks[fmt.Sprint(who, " ", got["correlationId"])] = true
			continue
		}
		if !presence && (kind == "system.presence" || kind == "system/presence") {
			continue
		}
		if err := c.compare(expected, got); err != nil {
			return fmt.Errorf("%w\ngot %s", err, frame)
		}
		return nil
	}
}

func (c *conversation) hasAck(ctx context.Context, who, id string) error {
	if c.acks[who+" "+id] {
		return nil
	}
	return c.gets(ctx, who, `{"kind": "system.ack", "correlationId": `+strconv.Quote(id)+`}`, false)
}

func (c *conversation) compare(expected string, got any) error {
	var want any
	if err := decode([]byte(expected), &want); err != nil {
		return fmt.Errorf("expected value: %w", err)
	}
	return c.match("", want, got)
}

func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

func (c *conversation) match(path string, want, got any) error {
	switch want := want.(type) {
	case string:
		return c.matchString(path, want, got)
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: want an object, got %v", path, got)
		}
		for k, w := range want {
			g, there := m[k]
			if w == "$absent" {
				if there {
					return fmt.Errorf("%s/%s: is there: %v", path, k, g)
				}
				continue
			}
			if !there {
				return fmt.Errorf("%s/%s: is missing", path, k)
			}
			if err := c.match(path+"/"+k, w, g); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("%s: want %d elements, got %v", path, len(want), got)
		}
		for i, w := range want {
			if err := c.match(path+"/"+strconv.Itoa(i), w, list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if fmt.Sprint(want) != fmt.Sprint(got) {
		return fmt.Errorf("%s: want %v, got %v", path, want, got)
	}
	return nil
}

func (c *conversation) matchString(path, want string, got any) error {
	if want == "$any" {
		return nil
	}
	if name, ok := strings.CutPrefix(want, "$"); ok && name != "" && !strings.ContainsAny(name, " $/") {
		if known, ok := c.vars[name]; ok {
			if fmt.Sprint(known) != fmt.Sprint(got) {
				return fmt.Errorf("%s: want %v ($%s), got %v", path, known, name, got)
			}
			return nil
		}
		c.vars[name] = got
		return nil
	}
	if want := c.substitute(want); want != got {
		return fmt.Errorf("%s: want %q, got %v", path, want, got)
	}
	return nil
}

// substitute puts captured values in the place of ${name}.
func (c *conversation) substitute(s string) string {
	return os.Expand(s, func(name string) string {
		if v, ok := c.vars[name]; ok {
			return fmt.Sprint(v)
		}
		return "$" + name
	})
}

func (c *conversation) isClosed(ctx context.Context, who, code string) error {
	for {
		_, _, err := c.conns[who].Read(ctx)
		if err == nil {
			continue
		}
		if got := strconv.Itoa(int(websocket.CloseStatus(err))); got != code {
			return fmt.Errorf("closed with %s (%w)", got, err)
		}
		return nil
	}
}

// request does what "/path as alice {body} 200 {…}" says.
func (c *conversation) request(ctx context.Context, method, rest string) error {
	path, rest, _ := strings.Cut(rest, " ")
	who := ""
	if after, ok := strings.CutPrefix(rest, "as "); ok {
		who, rest, _ = strings.Cut(after, " ")
	}
	var body io.Reader
	if method == http.MethodPost {
		var raw json.RawMessage
		d := json.NewDecoder(strings.NewReader(rest))
		if err := d.Decode(&raw); err != nil {
			return fmt.Errorf("body: %w", err)
		}
		body, rest = strings.NewReader(c.substitute(string(raw))), strings.TrimSpace(rest[d.InputOffset():])
	}
	u, err := url.Parse(c.gateway.HTTP() + c.substitute(path))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return err
	}
	if who != "" {
		req.Header.Set("Authorization", "Bearer "+c.token(who))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return c.answered(resp, rest)
}

// answered compares a response with "200 {…}".
func (c *conversation) answered(resp *http.Response, expected string) error {
	if resp == nil {
		return errors.New("no answer")
	}
	defer resp.Body.Close() //nolint:errcheck // it is read
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	status, rest, _ := strings.Cut(expected, " ")
	if strconv.Itoa(resp.StatusCode) != status {
		return fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	if rest == "" {
		return nil
	}
	var got any
	if err := decode(body, &got); err != nil {
		return fmt.Errorf("body %s: %w", body, err)
	}
	if err := c.compare(rest, got); err != nil {
		return fmt.Errorf("%w\ngot %s", err, body)
	}
	return nil
}
