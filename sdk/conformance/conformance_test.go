package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/sdk/conformance/clienttest"
	"github.com/meup-protocol/meup/sdk/conformance/gatewaytest"
	"github.com/meup-protocol/meup/sdk/conformance/vector"
)

// botVariable makes the test binary the program under test. Its value names the mutation of the
// program's frames; "none" is the program itself.
const botVariable = "MEUP_CONFORMANCE_BOT"

func TestMain(m *testing.M) {
	if mutation := os.Getenv(botVariable); mutation != "" {
		os.Exit(runMutant(mutation))
	}
	testkit.Main(m)
}

// programs are the programs under test of the SDKs. A program that the tree does not have is not
// tested. command returns the interpreter, or the reason why the program cannot run here.
var programs = []struct {
	name, file string
	command    func() (interpreter string, env []string, missing string)
}{
	{"python", "../python/conformance.py", python},
	{"typescript", "../typescript/conformance.mjs", node},
}

// python returns a Python that has the package websockets: the one that make found or installed,
// or another one.
func python() (interpreter string, env []string, missing string) {
	candidates := []string{"python3", "/usr/bin/python3"}
	if path, err := os.ReadFile("../../.tools/python/interpreter"); err == nil {
		candidates = []string{strings.TrimSpace(string(path))}
	}
	for _, candidate := range candidates {
		if exec.Command(candidate, "-c", "import sys, websockets; assert sys.version_info >= (3, 11)").Run() == nil {
			return candidate, []string{"PYTHONDONTWRITEBYTECODE=1"}, ""
		}
	}
	return "", nil, "there is no Python 3.11 with websockets"
}

// node returns Node, with the package ws, because it has no WebSocket of its own before version 22.
func node() (interpreter string, env []string, missing string) {
	ws, _ := filepath.Abs("../../.tools/mcpclients/node_modules/ws/wrapper.mjs") // fails below, if at all
	interpreter, err := exec.LookPath("node")
	switch {
	case err != nil:
		return "", nil, "node is not installed"
	case !exists("../typescript/dist/index.js"):
		return "", nil, "the TypeScript SDK is not built: node sdk/typescript/build.mjs"
	case !exists(ws):
		return "", nil, "the npm package ws is not installed: make conformance"
	}
	return interpreter, []string{"MEUP_WS=" + ws}, ""
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func load(t *testing.T, side string) []vector.Vector {
	t.Helper()
	list, err := vector.Load(vectors, "vectors/"+side, side == "gateway")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// runClient runs all client vectors against a program.
func runClient(t *testing.T, o clienttest.Options) {
	for _, v := range load(t, "client") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			var frames bytes.Buffer
			o := o
			o.Output, o.Step = &frames, testkit.Patience
			if err := clienttest.Run(t.Context(), &v, o); err != nil {
				t.Errorf("%s\n%v\nAll frames:\n%s", v.About, err, &frames)
			}
		})
	}
}

func TestClient_Go(t *testing.T) {
	t.Parallel()
	runClient(t, clienttest.Options{Command: []string{os.Args[0]}, Env: append(os.Environ(), botVariable+"=none")})
}

func TestClient_SDKs(t *testing.T) {
	testkit.Reads(t, "../python", "../typescript")
	for _, p := range programs {
		file, err := filepath.Abs(p.file)
		if err != nil {
			t.Fatal(err)
		}
		if !exists(file) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			interpreter, env, missing := p.command()
			if missing != "" {
				t.Skip(missing)
			}
			runClient(t, clienttest.Options{Command: []string{interpreter, file}, Env: append(os.Environ(), env...)})
		})
	}
}

// config is a space as the README describes it for gateway vectors.
const config = `
spaces:
  lab:
    proposals:
      human_only: [{payload: {params: {name: conformance_wipe}}}]
      deciders:
        - rules:
            - {payload: {params: {name: conformance_list}}}
            - {payload: {params: {name: conformance_drop}}, deny: true, reason: It is never dropped.}
        - {reviewer: carol, promote: {decisions: 1, without_miss: 1}}
        - {people: [alice, bob]}
    participants:
      alice: {token: alice-token, capabilities: ["*"], description: Decides.}
      bob: {token: bob-token, capabilities: ["*"]}
      carol: {token: carol-token, capabilities: [chat, mcp.response]}
`

func newSuite(t *testing.T, url string, step time.Duration) *gatewaytest.Suite {
	t.Helper()
	suite, err := gatewaytest.New(t.Context(), gatewaytest.Options{
		URL: url, Space: "lab", Tokens: map[string]string{"a": "alice-token", "b": "bob-token", "c": "carol-token"}, Step: step,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(suite.Close)
	return suite
}

func TestGateway(t *testing.T) {
	suite := newSuite(t, meuptest.Start(t, config).HTTP(), testkit.Patience)
	for _, v := range load(t, "gateway") {
		t.Run(v.Name, func(t *testing.T) {
			if err := suite.Run(t.Context(), &v); err != nil {
				t.Errorf("%s\n%v", v.About, err)
			}
		})
	}
}

// A suite that was given only two tokens skips the vectors that need more.
func TestGateway_Skips(t *testing.T) {
	suite, err := gatewaytest.New(t.Context(), gatewaytest.Options{
		URL: meuptest.Start(t, config).HTTP(), Space: "lab", Tokens: map[string]string{"a": "carol-token", "b": "bob-token"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer suite.Close()
	var skipped []string
	for _, v := range load(t, "gateway") {
		var skip *gatewaytest.SkipError
		if v.Files["requires"] != "" && errors.As(suite.Run(t.Context(), &v), &skip) {
			skipped = append(skipped, v.Name)
		}
	}
	if want := []string{"arguments", "budget", "capabilities", "claims", "deciders", "decisions", "description", "expiry", "pause", "policy", "proposal", "typed"}; !slices.Equal(skipped, want) {
		t.Errorf("skipped %v", skipped)
	}
}

func TestGateway_Unreachable(t *testing.T) {
	gateway := meuptest.Start(t, config)
	tokens := func(a, b string) map[string]string { return map[string]string{"a": a, "b": b} }
	for name, o := range map[string]gatewaytest.Options{
		"no URL":               {Space: "lab", Tokens: tokens("alice-token", "bob-token")},
		"another scheme":       {URL: "ws://" + gateway.Addr(), Space: "lab", Tokens: tokens("alice-token", "bob-token")},
		"one participant":      {URL: gateway.HTTP(), Space: "lab", Tokens: tokens("alice-token", "alice-token")},
		"a token is missing":   {URL: gateway.HTTP(), Space: "lab", Tokens: map[string]string{"a": "alice-token"}},
		"a wrong token":        {URL: gateway.HTTP(), Space: "lab", Tokens: tokens("alice-token", "wrong")},
		"a space that is none": {URL: gateway.HTTP(), Space: "nosuch", Tokens: tokens("alice-token", "bob-token")},
	} {
		t.Run(name, func(t *testing.T) {
			if suite, err := gatewaytest.New(t.Context(), o); err == nil {
				suite.Close()
				t.Error("it was accepted")
			}
		})
	}
}

func TestRun_Usage(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no command":          {nil, "Usage:"},
		"an unknown command":  {[]string{"server"}, `unknown command "server"`},
		"an unknown flag":     {[]string{"client", "-x"}, "Usage:"},
		"no program":          {[]string{"client"}, "name the command"},
		"a wrong expression":  {[]string{"client", "-run", "(", "--", "true"}, "-run"},
		"no URL":              {[]string{"gateway", "-token-a", "x", "-token-b", "y"}, "expected http://HOST"},
		"a program that ends": {[]string{"client", "-run", "^answer$", "--", "false"}, "0 passed, 1 failed"},
		"no vector":           {[]string{"client", "-run", "^nosuch$", "--", "false"}, "0 passed, 0 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			code := run(t.Context(), test.args, &out, &out)
			want := 2
			if strings.Contains(test.want, "passed") {
				want = 1
			}
			if code != want || !strings.Contains(out.String(), test.want) {
				t.Errorf("exit status %d: %s", code, &out)
			}
		})
	}
}

func TestVectors_Enough(t *testing.T) {
	if n := len(load(t, "client")); n < 20 {
		t.Errorf("%d client vectors", n)
	}
	if n := len(load(t, "gateway")); n < 25 {
		t.Errorf("%d gateway vectors", n)
	}
}
