package mcpclients

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

const config = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [chat]}
      fixture: {token: fixture-token, capabilities: ["mcp/*", "participant/status"]}
`

// modules is where "make conformance" installs the npm packages.
const modules = "../../.tools/mcpclients/node_modules"

// installed returns the path of a file of the npm packages, or skips the test.
func installed(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(filepath.Join(modules, path))
	if err == nil {
		_, err = os.Stat(full)
	}
	if err != nil {
		t.Skipf("%s is not installed: run make conformance", path)
	}
	return full
}

// node returns Node 22, or skips the test.
func node(t *testing.T) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return installed(t, "node-"+runtime.GOOS+"-"+arch+"/bin/node")
}

// run runs a program, and returns its output.
func run(t *testing.T, env []string, name string, args ...string) (out string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"HOME=" + cmd.Dir, "PATH=" + filepath.Dir(name) + ":/usr/bin:/bin", "NO_COLOR=1"}, env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// fixture returns the server of the conformance suite, built once.
func fixture(t *testing.T) string {
	t.Helper()
	path, err := buildFixture()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildFixture = sync.OnceValues(func() (string, error) {
	root, err := testkit.Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, ".tools", "everything-server")
	return path, testkit.Build(path, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
})

// start starts a program that the end of the test kills.
func start(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("%s:\n%.4000s", filepath.Base(name), log.String())
		}
	})
}

// bridged starts a gateway and a bridge to the fixture of the conformance suite.
func bridged(t *testing.T) *meuptest.Gateway {
	t.Helper()
	g := meuptest.Start(t, config)
	start(t, []string{"MEUP_TOKEN=fixture-token"}, testkit.Program(t, "meup-agent"), "bridge", "--gateway", "ws://"+g.Addr()+"/ws", "--space", "lab", "--mcp", fixture(t))
	testkit.Eventually(t, "the bridge answers", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, authorized(t, g), bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return g
}

// direct starts the fixture alone, and returns its address.
func direct(t *testing.T) string {
	t.Helper()
	address := testkit.FreeAddress(t)
	start(t, nil, fixture(t), "-http="+address, "-stateless")
	testkit.Eventually(t, "the fixture listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return "http://" + address + "/"
}

// authorized returns the address of a proxy to the tools of fixture at /mcp that adds the
// token of alice, for clients that send none.
func authorized(t *testing.T, g *meuptest.Gateway) string {
	t.Helper()
	to, err := url.Parse(g.HTTP() + "/mcp?space=lab&participant=fixture")
	if err != nil {
		t.Fatal(err)
	}
	p := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL, r.Out.Host = to, r.In.Host
		r.Out.Header.Set("Authorization", "Bearer alice-token")
	}})
	t.Cleanup(p.Close)
	return p.URL + "/"
}
