package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/programtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	testkit.Main(m)
}

// TestScripts runs commands as a user would, in the process of the test: those of
// programtest.Commands, and
//
//	gateway FILE            starts a gateway with a configuration; MEUP_URL is its URL
//	restart                 stops it and starts it again, at the same address
//	halt                    stops it; restart starts it again
//	reload FILE             gives it another configuration
//	expand FROM TO          copies a file, with variables replaced
//	starts NAME COMMAND…    runs a command in the background; starts -process: as a process;
//	                        starts -tty: as a process on a terminal
//	types NAME TEXT         enters a text at its terminal; ^C is Ctrl-C, and ^M Enter
//	prints NAME REGEXP      waits for a line of its output
//	late NAME               ends its --timeout, which does not end by itself
//	interrupted NAME CODE   ends it with Ctrl-C; its output becomes the standard output
//	ended NAME CODE         waits until it ends by itself
//	reads waits as a person does before approving: an approval that comes with its question does not count
//	logged ID [PARTICIPANT] waits until the log has that envelope, visible to the participant
//	connected PARTICIPANT   waits until it is connected, with ! until it is not
func TestScripts(t *testing.T) {
	commands := programtest.Commands("meup", run)
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
		"gateway": startGateway,
		"restart": func(ts *testscript.TestScript, _ bool, _ []string) {
			g := of(ts).gateway
			g.Stop()
			g.Restart()
		},
		"halt":        func(ts *testscript.TestScript, _ bool, _ []string) { of(ts).gateway.Stop() },
		"reload":      func(ts *testscript.TestScript, _ bool, args []string) { of(ts).gateway.Reload(ts.ReadFile(args[0])) },
		"expand":      expand,
		"starts":      starts,
		"prints":      prints,
		"types":       types,
		"reads":       func(*testscript.TestScript, bool, []string) { <-time.After(time.Second) },
		"late":        func(ts *testscript.TestScript, _ bool, args []string) { of(ts).running[args[0]].late() },
		"silent":      func(ts *testscript.TestScript, _ bool, args []string) { of(ts).running[args[0]].silent() },
		"interrupted": func(ts *testscript.TestScript, _ bool, args []string) { ended(ts, args[0], args[1], syscall.SIGINT) },
		"ended":       func(ts *testscript.TestScript, _ bool, args []string) { ended(ts, args[0], args[1], 0) },
		"logged":      logged,
		"connected":   connected,
	})
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: commands, Setup: func(e *testscript.Env) error {
		s := &script{t: e.T().(testing.TB), running: make(map[string]*process)}
		e.Values[scriptKey{}] = s
		e.Defer(s.stop)
		e.Setenv("HOME", e.WorkDir)
		e.Setenv("TZ", "UTC")
		for _, name := range []string{"MEUP_URL", "MEUP_SPACE", "MEUP_TOKEN", "XDG_CONFIG_HOME", "NO_COLOR"} {
			e.Setenv(name, "")
		}
		return programtest.Path(e)
	}})
}

// script has the parts that run beside a script.
type script struct {
	t       testing.TB
	gateway *meuptest.Gateway
	running map[string]*process // by name
}

type scriptKey struct{}

func of(ts *testscript.TestScript) *script { return ts.Value(scriptKey{}).(*script) }

func (s *script) stop() {
	for _, p := range s.running {
		p.stop(syscall.SIGTERM)
	}
}

func startGateway(ts *testscript.TestScript, _ bool, args []string) {
	g := meuptest.Start(of(ts).t, ts.ReadFile(args[0]))
	of(ts).gateway = g
	ts.Setenv("MEUP_URL", g.HTTP())
}

func expand(ts *testscript.TestScript, _ bool, args []string) {
	to := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(to), 0o700))
	ts.Check(os.WriteFile(to, []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

// logged waits for an envelope of the log, by its id.
func logged(ts *testscript.TestScript, _ bool, args []string) {
	token := "alice-token"
	if len(args) > 1 {
		token = args[1] + "-token"
	}
	ctx := testkit.Deadline(of(ts).t)
	c, err := client.Dial(ctx, client.Options{URL: of(ts).gateway.URL("lab"), Token: token, Since: client.After(0), Observe: true})
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

// connected: the connection of a command that has ended counts until the gateway has noticed its end.
func connected(ts *testscript.TestScript, not bool, args []string) {
	s, who := of(ts), protocol.ParticipantID(args[0])
	c := s.gateway.API(s.t, args[0])
	testkit.Eventually(s.t, fmt.Sprintf("%s is connected: %t", who, !not), func() bool {
		roster, err := c.Roster(s.t.Context(), "lab")
		return err == nil && roster.Connected(who) != not
	})
}
