package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// composeDir is the example of a cluster.
const composeDir = "../deploy/compose"

// composeFile is the part of compose.yaml that can run without containers.
type composeFile struct {
	Services map[string]composeService
	Volumes  map[string]any
	Secrets  map[string]struct{ File string }
}

type composeService struct {
	Image       string
	Command     []string
	Environment map[string]string
	EnvFile     []string `yaml:"env_file"`
	Volumes     []string
	Secrets     []string
	Build       struct{ Context, Dockerfile string }
}

// composed is the example on this machine, with processes in place of containers.
type composed struct {
	t     *testing.T
	dir   string // a copy of the folder, with its secrets
	file  composeFile
	ports map[string]string // by service and port: nats-1:4222
}

func openCompose(t *testing.T) *composed {
	t.Helper()
	c := &composed{t: t, dir: t.TempDir(), ports: map[string]string{}}
	if err := os.CopyFS(c.dir, os.DirFS(composeDir)); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalWithOptions([]byte(c.read("compose.yaml")), &c.file); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		nats, gateway := fmt.Sprintf("nats-%d", i+1), fmt.Sprintf("gateway-%d", i+1)
		for _, address := range []string{nats + ":4222", nats + ":6222", nats + ":8222", gateway + ":8080"} {
			c.ports[address] = "127.0.0.1:" + freePort(t)
		}
	}
	return c
}

func (c *composed) read(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

func (c *composed) write(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// local replaces addresses and paths that only a container has. Each of them must
// be in the text.
func (c *composed) local(text string, pairs ...string) string {
	c.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			c.t.Fatalf("%s is not in:\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	for address, here := range c.ports {
		text = strings.ReplaceAll(text, address, here)
	}
	return text
}

// makeSecrets runs the commands of README.md.
func (c *composed) makeSecrets() {
	c.t.Helper()
	_, block, _ := strings.Cut(c.read("README.md"), "```sh\n")
	commands, _, found := strings.Cut(block, "\nMEUP_DOMAIN=")
	if !found {
		c.t.Fatal("README.md has no commands before docker compose")
	}
	sh := exec.CommandContext(c.t.Context(), "sh", "-euc", commands)
	sh.Dir = c.dir
	if out, err := sh.CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	for name, secret := range c.file.Secrets {
		if token := c.read(secret.File); len(token) < 32 {
			c.t.Errorf("%s: the token %q is too short", name, token)
		}
		c.write(secret.File, strings.TrimSuffix(name, ".token")+"-token-for-tests\n") // the one that the harness uses
	}
}

// environment returns the variables of a service.
func (c *composed) environment(s *composeService) []string {
	var env []string
	for _, name := range s.EnvFile {
		env = append(env, strings.Fields(c.local(c.read(name)))...)
	}
	for name, value := range s.Environment {
		env = append(env, name+"="+value)
	}
	return env
}

// mounted returns the file of this folder that a service has at a path.
func (c *composed) mounted(s *composeService, path string) string {
	c.t.Helper()
	for _, v := range s.Volumes {
		if source, rest, _ := strings.Cut(v, ":"); strings.HasPrefix(rest, path) && strings.HasPrefix(source, "./") {
			return source[2:]
		}
	}
	c.t.Fatalf("nothing is mounted at %s", path)
	return ""
}

// startNATS starts a NATS server with its configuration file.
func (c *composed) startNATS(name string) *process {
	c.t.Helper()
	s := c.file.Services[name]
	if len(s.Command) != 2 || s.Command[0] != "-c" {
		c.t.Fatalf("%s: the command %v has no configuration", name, s.Command)
	}
	conf := c.local(c.read(c.mounted(&s, s.Command[1])), "0.0.0.0:4222", name+":4222", "0.0.0.0:6222", name+":6222", "127.0.0.1:8222", name+":8222", "store_dir: /data", "store_dir: "+filepath.Join(c.dir, "data", name))
	return start(c.t, append(c.environment(&s), natsEnv+"="+c.write(name+".conf", conf)), os.Args[0])
}

var dockerCommand = regexp.MustCompile(`(?m)^CMD (\[.*\])$`)

// startGateway starts a gateway with the command of its image.
func (c *composed) startGateway(name string) *gatewayProc {
	c.t.Helper()
	s := c.file.Services[name]
	image, err := os.ReadFile(filepath.Join(composeDir, s.Build.Context, s.Build.Dockerfile))
	if err != nil {
		c.t.Fatal(err)
	}
	var args []string
	command := dockerCommand.FindSubmatch(image)
	if command == nil || json.Unmarshal(command[1], &args) != nil {
		c.t.Fatal("the image has no command")
	}
	for _, secret := range s.Secrets {
		if _, ok := c.file.Secrets[secret]; !ok {
			c.t.Errorf("%s: there is no secret %s", name, secret)
		}
	}
	for i, arg := range args {
		switch arg {
		case "/etc/meup/meup.yaml":
			text := c.local(c.read(c.mounted(&s, arg)), "/run/secrets/", filepath.Join(c.dir, "secrets")+"/")
			args[i] = c.write(name+".yaml", text)
		case "0.0.0.0:8080":
			args[i] = c.ports[name+":8080"]
		case "/data":
			args[i] = filepath.Join(c.dir, "data", name)
		}
	}
	g := &gatewayProc{t: c.t, addr: c.ports[name+":8080"], program: filepath.Join(bin, "meup-gateway"), env: c.environment(&s), args: args}
	g.start()
	return g
}

// balance serves all gateways at one address, as the Caddyfile does: one token at one
// gateway, and only at ready ones. It returns the address, and a function
// for the gateway that has a token.
func (c *composed) balance(gateways []string) (addr string, at func(token string) string) {
	at = func(token string) string {
		h := fnv.New32a()
		_, _ = h.Write([]byte(token))
		for i := range gateways {
			addr := c.ports[gateways[(int(h.Sum32()%3)+i)%3]+":8080"]
			if get(addr, "/readyz", "") == http.StatusOK {
				return addr
			}
		}
		return ""
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: at(r.In.Header.Get("Authorization"))})
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(proxy)
	c.t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), at
}

// steady sends one envelope after the other until finish is called.
func steady(t *testing.T, c *client.Client) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{t: t, stop: stop, acked: make(map[protocol.ID]protocol.Seq), sent: make(map[protocol.ParticipantID]int)}
	l.running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			draft := protocol.Envelope{ID: protocol.ID(fmt.Sprintf("%s-%06d", c.You(), n)), Kind: protocol.KindChat, Payload: []byte(`{"message":"next"}`)}
			at := time.Now()
			p, err := c.SendAsync(context.Background(), draft)
			if err != nil {
				t.Errorf("send: %v", err)
				return
			}
			l.mu.Lock()
			l.sent[c.You()] = n + 1
			l.mu.Unlock()
			l.settle(inFlight{p, at})
		}
	})
	return l
}

// TestCompose runs the example of a cluster. The gateway of a client is killed, and a
// NATS server: the client continues without a loss.
func TestCompose(t *testing.T) {
	t.Parallel()
	c := openCompose(t)
	c.makeSecrets()
	servers, gateways := map[string]*process{}, map[string]*gatewayProc{}
	var names []string
	caddyfile := c.read("Caddyfile")
	for i := range 3 {
		nats, gateway := fmt.Sprintf("nats-%d", i+1), fmt.Sprintf("gateway-%d", i+1)
		servers[nats] = c.startNATS(nats)
		if !strings.Contains(caddyfile, " "+gateway+":8080 ") {
			t.Errorf("the load balancer does not use %s", gateway)
		}
		names = append(names, gateway)
	}
	for _, name := range names {
		gateways[name] = c.startGateway(name)
	}
	for _, name := range names {
		eventually(t, name+" is ready", func() bool { return get(gateways[name].addr, "/readyz", "") == http.StatusOK })
	}
	addr, at := c.balance(names)
	balanced := &gatewayProc{t: t, addr: addr}
	reader := collect(t, balanced.dial(t, "planner", client.After(0)))
	l := steady(t, balanced.dial(t, "alice", client.Position{}))
	l.more(10)

	var was string // no gateway is ready during an election of NATS
	eventually(t, "a gateway is ready", func() bool {
		was = at("Bearer alice-token-for-tests")
		return was != ""
	})
	killed := names[slices.IndexFunc(names, func(name string) bool { return gateways[name].addr == was })]
	gateways[killed].kill()
	t.Log("killed", killed)
	l.more(10)
	l.outage()
	servers["nats-1"].kill()
	t.Log("killed nats-1")
	l.more(10)
	l.finish()
	l.verify(reader.take(l.sent["alice"]))
	eventually(t, "the log can be read", func() bool {
		return get(addr, "/api/spaces/lab/envelopes", "planner-token-for-tests") == http.StatusOK
	})
}

// The images and the volumes of the example exist, and it has the NATS server that the
// gateway is tested with.
func TestCompose_Files(t *testing.T) {
	t.Parallel()
	c := openCompose(t)
	modules, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	tested := regexp.MustCompile(`nats-server/v2 v(2\.\d+)\.`).FindSubmatch(modules)
	if len(c.file.Services) != 7 || tested == nil {
		t.Fatalf("%d services, NATS %s", len(c.file.Services), tested)
	}
	for name, s := range c.file.Services {
		if strings.HasPrefix(name, "nats-") && s.Image != "nats:"+string(tested[1])+"-alpine" {
			t.Errorf("%s has the image %s; the gateway is tested with %s", name, s.Image, tested[1])
		}
		mounts := map[string]bool{}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, named := c.file.Volumes[source]; strings.HasPrefix(source, "./") == named {
				t.Errorf("%s: there is no volume %s", name, source)
			}
			if strings.HasPrefix(source, "./") {
				c.read(source[2:])
			}
			mounts[source] = true
		}
		if name != "balancer" && !mounts[name] {
			t.Errorf("%s has no volume of its own", name)
		}
	}
}
