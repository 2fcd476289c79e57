package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// The test binary acts as the program when it is started under the program's
// name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"meup": main})
}

// TestScripts runs commands as a user would, against the gateway's own program.
//
//	gateway FILE            starts it with a configuration; MEUP_URL is its URL
//	restart                 stops it and starts it again, at the same address
//	halt                    stops it; restart starts it again
//	reload FILE             gives it another configuration
//	expand FROM TO          copies a file, with variables replaced
//	exits CODE COMMAND…     the command ends with that exit code
//	starts NAME COMMAND…    runs a command in the background; starts -tty: on a terminal
//	types NAME TEXT         enters a text at its terminal; ^C is Ctrl-C, and ^M Enter
//	prints NAME REGEXP      waits for a line of its output
//	interrupted NAME CODE   ends it with Ctrl-C; its output becomes the standard output
//	ended NAME CODE         waits until it ends by itself
//	logged ID [PARTICIPANT] waits until the log has that envelope, visible to the participant
func TestScripts(t *testing.T) {
	program := buildGateway(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gateway": func(ts *testscript.TestScript, _ bool, args []string) {
				startGateway(ts, program, ts.MkAbs(args[0]), "127.0.0.1:0")
			},
			"restart": func(ts *testscript.TestScript, _ bool, _ []string) { restartGateway(ts, program) },
			"halt": func(ts *testscript.TestScript, _ bool, _ []string) {
				processesOf(ts).running[theGateway].stop(syscall.SIGTERM)
			},
			"reload":      reloadGateway,
			"expand":      expand,
			"exits":       exits,
			"starts":      starts,
			"prints":      prints,
			"types":       types,
			"interrupted": func(ts *testscript.TestScript, _ bool, args []string) { ended(ts, args[0], args[1], syscall.SIGINT) },
			"ended":       func(ts *testscript.TestScript, _ bool, args []string) { ended(ts, args[0], args[1], 0) },
			"logged":      logged,
		},
		Setup: func(e *testscript.Env) error {
			all := &processes{running: make(map[string]*process)}
			e.Values[processesKey{}] = all
			e.Defer(all.stop)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TZ", "UTC")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			for _, name := range []string{"MEUP_URL", "MEUP_SPACE", "MEUP_TOKEN", "XDG_CONFIG_HOME", "NO_COLOR"} {
				e.Setenv(name, "")
			}
			return nil
		},
	})
}

func buildGateway(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "meup-gateway")
	if err := testkit.Build(path, "../meup-gateway"); err != nil {
		t.Fatal(err)
	}
	return path
}

// theGateway is its name among the processes of a script.
const theGateway = "the gateway"

func startGateway(ts *testscript.TestScript, program, config, listen string) {
	g := startProcess(ts, nil, environment(ts), program,
		"serve", "--config", config, "--listen", listen, "--data", ts.MkAbs("data"), "--log-format", "text")
	processesOf(ts).running[theGateway] = g
	found := g.await(ts, regexp.MustCompile(`msg=serving address=(\S+)`))
	ts.Setenv("MEUP_URL", "http://"+found[1])
	ts.Setenv("CONFIG", config)
}

func restartGateway(ts *testscript.TestScript, program string) {
	processesOf(ts).running[theGateway].stop(syscall.SIGTERM)
	startGateway(ts, program, ts.Getenv("CONFIG"), strings.TrimPrefix(ts.Getenv("MEUP_URL"), "http://"))
}

func reloadGateway(ts *testscript.TestScript, _ bool, args []string) {
	g := processesOf(ts).running[theGateway]
	ts.Check(os.WriteFile(ts.Getenv("CONFIG"), []byte(ts.ReadFile(args[0])), 0o600))
	ts.Check(g.Process.Signal(syscall.SIGHUP))
	g.await(ts, regexp.MustCompile(`msg="configuration reloaded"`))
}

func expand(ts *testscript.TestScript, _ bool, args []string) {
	to := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(to), 0o700))
	ts.Check(os.WriteFile(to, []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

// exits compares the exit code of a command with the expected one.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s ends with exit code %d, not %d:\n%s", strings.Join(args[1:], " "), got, want, ts.ReadFile("stderr"))
	}
}

// logged waits for an envelope of the log, by its id.
func logged(ts *testscript.TestScript, _ bool, args []string) {
	token := "alice-token"
	if len(args) > 1 {
		token = args[1] + "-token"
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, client.Options{
		URL: "ws" + strings.TrimPrefix(ts.Getenv("MEUP_URL"), "http") + "/ws", Space: "lab", Token: token,
		Since: client.After(0), Observe: true,
	})
	ts.Check(err)
	defer c.Close()
	for {
		env, err := c.Receive(ctx)
		ts.Check(err)
		if env.ID == protocol.ID(args[0]) {
			return
		}
	}
}
