package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// exportCommands are the additional commands of scripts about exports:
//
//	serve CONFIG DATA    runs the program on a free port; its URL is $GATEWAY,
//	                     and it has the script's DEPLOY_KEY
//	post SPACE FILE      sends the envelopes of a file, a line each, as their
//	                     senders; the token of P is P-long-enough-token
//	drain                ends it
//	killgateway          kills it
//	sums FOLDER FILE     writes the digests of all files in a folder
var exportCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"serve":       serveForExport,
	"post":        postForExport,
	"drain":       drainAfterExport,
	"killgateway": killGateway,
	"sums":        sumFolder,
}

// running holds the functions that stop the gateways of scripts.
var running sync.Map // of func(syscall.Signal) error, by *testscript.TestScript

var address = regexp.MustCompile(`msg=serving address=(\S+)`)

func serveForExport(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve CONFIG DATA")
	}
	dir, err := testkit.Programs()
	ts.Check(err)
	served := filepath.Join(filepath.Dir(ts.MkAbs(args[0])), "served.yaml")
	// On a busy machine the log may not close within the default of the time to drain.
	text := fmt.Sprintf("drain_timeout: %s\n%s", testkit.Patience, ts.ReadFile(args[0]))
	ts.Check(os.WriteFile(served, []byte(text), 0o600))
	cmd := exec.Command(filepath.Join(dir, "meup-gateway"), "serve", "--config", served, "--data", ts.MkAbs(args[1]), "--listen", "127.0.0.1:0", "--log-level", "info", "--log-format", "text")
	cmd.Env = append(os.Environ(), "DEPLOY_KEY="+ts.Getenv("DEPLOY_KEY"))
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	log := bufio.NewReader(stderr)
	for {
		line, err := log.ReadString('\n')
		if m := address.FindStringSubmatch(line); m != nil {
			ts.Setenv("GATEWAY", "http://"+m[1])
			break
		}
		if err != nil {
			ts.Fatalf("the gateway has ended: %v", cmd.Wait())
		}
	}
	ended := make(chan error, 1)
	go func() { // ends with the program; drain waits
		_, _ = io.Copy(io.Discard, log)
		ended <- cmd.Wait()
	}()
	running.Store(ts, func(s syscall.Signal) error {
		if err := cmd.Process.Signal(s); err != nil {
			return err
		}
		return <-ended
	})
	ts.Defer(func() { _ = endGateway(ts, syscall.SIGTERM) })
}

// endGateway stops the gateway of a script, if it runs, with a signal.
func endGateway(ts *testscript.TestScript, s syscall.Signal) error {
	stop, ok := running.LoadAndDelete(ts)
	if !ok {
		return nil
	}
	return stop.(func(syscall.Signal) error)(s)
}

func drainAfterExport(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(endGateway(ts, syscall.SIGTERM))
}

func killGateway(ts *testscript.TestScript, _ bool, _ []string) {
	_ = endGateway(ts, syscall.SIGKILL) // it ends with that signal
}

func postForExport(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: post SPACE FILE")
	}
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		var said struct{ From string }
		ts.Check(json.Unmarshal([]byte(line), &said))
		r, err := http.NewRequest(http.MethodPost, ts.Getenv("GATEWAY")+"/api/spaces/"+args[0]+"/envelopes", strings.NewReader(line))
		ts.Check(err)
		r.Header.Set("Authorization", "Bearer "+said.From+"-long-enough-token")
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		ts.Check(err)
		body, err := io.ReadAll(resp.Body)
		ts.Check(errors.Join(err, resp.Body.Close()))
		if resp.StatusCode != http.StatusOK {
			ts.Fatalf("%s: %s %s", line, resp.Status, body)
		}
	}
}

func sumFolder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sums FOLDER FILE")
	}
	var sums strings.Builder
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&sums, "%s %x\n", path, sha256.Sum256(content))
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(sums.String()), 0o600))
}
