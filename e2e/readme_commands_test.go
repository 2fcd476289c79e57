package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/evanw/esbuild/pkg/api"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// blocks returns the code blocks of a document with a language, with the
// addresses replaced.
func blocks(t *testing.T, document, language, addr string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		list = append(list, strings.NewReplacer("127.0.0.1:8080", addr, "127.0.0.1:8090", addr).Replace(m[1]))
	}
	if len(list) == 0 {
		t.Fatalf("%s has no block of %s", document, language)
	}
	return list
}

// commands returns the commands of a console block: the lines after a prompt,
// with the lines that continue them.
func commands(block string) string {
	var out strings.Builder
	end := "" // of a document within a command
	continued := false
	for line := range strings.Lines(block) {
		command, prompt := strings.CutPrefix(line, "$ ")
		if !prompt && end == "" && !continued {
			continue // output
		}
		out.WriteString(command)
		if end == "" {
			if _, after, found := strings.Cut(command, "<<'"); found {
				end, _, _ = strings.Cut(after, "'")
			}
		} else if strings.TrimSpace(command) == end {
			end = ""
		}
		continued = end == "" && strings.HasSuffix(strings.TrimSpace(command), "\\")
	}
	return out.String()
}

// checkout returns a folder in which make builds the programs by copying the
// ones that this test has built, and make's environment.
func checkout(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"Makefile", "docs", "examples"} {
		target, err := filepath.Abs("../" + name)
		if err == nil {
			err = os.Symlink(target, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	compiler := filepath.Join(t.TempDir(), "go")
	script := "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\ncp " + bin + "/meup* bin/\n"
	if err := os.WriteFile(compiler, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, append(os.Environ(), "GO="+compiler, "MAKEFLAGS=", "XDG_CONFIG_HOME="+t.TempDir())
}

// unignored returns the files in a folder that git would show in a clone of this repository.
func unignored(t *testing.T, dir string) (files []string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Log("git is not installed: what is left is not checked")
		return nil
	}
	text, err := os.ReadFile("../.gitignore")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, ".gitignore"), string(text))
	for _, arguments := range [][]string{{"init", "-q"}, {"ls-files", "--others", "--exclude-per-directory=.gitignore"}} {
		cmd := exec.Command(git, arguments...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %s: %v", arguments[0], err)
		}
		files = strings.Fields(string(out))
	}
	return slices.DeleteFunc(files, func(name string) bool {
		return slices.Contains([]string{".gitignore", "Makefile", "docs", "examples"}, name) // of checkout
	})
}

// runCommands runs the commands of a document's console blocks in one shell at a
// terminal, as a reader would, except the blocks that contain skip ("": none), and approves
// what it is asked for. It returns their output.
func runCommands(t *testing.T, document, skip string) string {
	t.Helper()
	addr := "127.0.0.1:" + freePort(t)
	var script strings.Builder
	script.WriteString("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n")
	waits := "--timeout " + testkit.Patience.String() + " --wait" // a reader can repeat what has ended too early
	replacer := strings.NewReplacer("meup-gateway init", "meup-gateway init --listen "+addr, "meup who --wait", "meup who "+waits, "meup send --wait", "meup send "+waits)
	for _, block := range blocks(t, document, "console", addr) {
		if skip == "" || !strings.Contains(block, skip) {
			script.WriteString(replacer.Replace(commands(block)))
		}
	}
	dir, env := checkout(t)
	ctx := testkit.Deadline(t)
	cmd := exec.CommandContext(ctx, "bash", "-x", "-c", strings.ReplaceAll(script.String(), "127.0.0.1:9000", "127.0.0.1:"+freePort(t)))
	cmd.Dir, cmd.Env = dir, env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the trap ends the programs
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var out strings.Builder
	for block := make([]byte, 4096); ; { // until the last program has ended
		n, err := terminal.Read(block)
		out.Write(block[:n])
		if strings.HasSuffix(out.String(), "[q]uit: ") && n > 0 {
			<-time.After(time.Second) // as a person who reads the question: an answer within 700 ms of it does not count
			if _, err := terminal.WriteString("y\n"); err != nil {
				t.Error(err)
			}
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the commands of %s: %v\n%s", document, err, &out)
	}
	if left := unignored(t, dir); len(left) > 0 {
		t.Errorf("the commands of %s leave %q; .gitignore should name what a reader does not commit", document, left)
	}
	return out.String()
}

func TestReadme_Commands(t *testing.T) {
	t.Parallel()
	if out := runCommands(t, "../README.md", "make demo"); !t.Failed() && !strings.Contains(out, "# Glossary") {
		t.Errorf("the approved call has no result:\n%s", out)
	}
}

func TestGettingStarted_Commands(t *testing.T) {
	t.Parallel()
	runCommands(t, "../docs/getting-started.md", "")
}

// TestReadme_Demo runs make demo at a terminal, and ends it with Ctrl-C.
func TestReadme_Demo(t *testing.T) {
	t.Parallel()
	dir, env := checkout(t)
	cmd := exec.Command("make", "--no-print-directory", "demo")
	cmd.Dir, cmd.Env = dir, env
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = terminal.Close() })
	log := &lineLog{}
	ended := make(chan error, 1)
	go func() { // ends with the terminal
		for block := make([]byte, 4096); ; {
			n, err := terminal.Read(block)
			_, _ = log.Write(block[:n])
			if err != nil {
				ended <- cmd.Wait()
				return
			}
		}
	}()
	eventually(t, "the demo prints a link", func() bool { return strings.Contains(log.String(), "/#code=") })
	if _, err := terminal.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if err := await(t, "the end of the demo", ended); err != nil {
		t.Errorf("make demo: %v\n%s", err, log)
	}
}

// askBot asks the agent of an example, which runs with the token of bot, approves the
// call that it proposes, and checks its answer and its reasoning. It ends the agent by
// Ctrl-C while a second call waits.
func askBot(t *testing.T, g *gatewayProc, want string, command ...string) {
	t.Helper()
	ctx := testkit.Deadline(t)
	a := &readmeAgent{t: t, ctx: ctx, alice: g.dial(t, "alice", client.After(0)), answers: make(map[protocol.ID]int)}
	program := filepath.Join(bin, "meup-agent")
	start(t, []string{"MEUP_TOKEN=files-token-for-tests"}, program, "bridge", "--gateway", "http://"+g.addr, "--space", "lab", "--no-pin-tools", "--mcp", program+" docserver ../docs")
	a.await(presenceOf("files", protocol.PresenceJoin))
	bot := exec.Command(command[0], command[1:]...)
	packages, err := filepath.Abs("../sdk/python")
	if err != nil {
		t.Fatal(err)
	}
	stderr := &lineLog{}
	bot.Env = append(os.Environ(), "BOT_TOKEN=bot-token-for-tests", "PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1")
	bot.Stderr = stderr
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bot.Process.Kill(); _ = bot.Wait() })
	a.await(presenceOf("bot", protocol.PresenceJoin))
	question := a.send(a.alice, client.Chat("@bot what is a space?"))
	var kinds []string
	e := a.await(func(e *protocol.Envelope) bool {
		if e.From == "bot" && e.Kind != protocol.KindParticipantStatus {
			kinds = append(kinds, string(e.Kind))
		}
		if e.Kind == protocol.KindMCPProposal {
			a.send(a.alice, protocol.Envelope{Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"files"}, Context: e.Context, Payload: e.Payload}, e.ID)
		}
		return e.Kind == protocol.KindChat && e.From == "bot"
	})
	text := e.ParsePayload().Get("message").Text()
	if !strings.HasPrefix(text, want+". It says:\n# Glossary") || !e.Correlation.Names(question) {
		t.Errorf("it answers %q to %v", text, e.Correlation)
	}
	kinds = slices.Compact(kinds)
	if got := strings.Join(kinds, " "); got != "reasoning.start reasoning.thought mcp.proposal reasoning.conclusion chat" {
		t.Errorf("it sends %s", got)
	}
	a.send(a.alice, client.Chat("@bot and what is a context?"))
	a.await(func(e *protocol.Envelope) bool { return e.Kind == protocol.KindMCPProposal })
	if err := bot.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	a.await(func(e *protocol.Envelope) bool { return e.From == "bot" && e.Kind == protocol.KindMCPWithdraw })
	a.await(func(e *protocol.Envelope) bool { return e.From == "bot" && e.Kind == protocol.KindReasoningCancel })
	_ = bot.Wait()
	if got := stderr.String(); bot.ProcessState.ExitCode() != 130 || !strings.HasPrefix(got, "meup: joined lab as bot at ") ||
		!strings.Contains(got, "\nmeup: stopping: 1 question stays open until the next start\n") || strings.Count(strings.TrimSpace(got), "\n") != 5 {
		t.Errorf("it ends with %v:\n%s", bot.ProcessState, got)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadme_Go(t *testing.T) {
	t.Parallel()
	g := startGateway(t, scriptConfig)
	// A folder of the module, which the pattern ./... ignores.
	dir, err := os.MkdirTemp(".", "_readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	writeFile(t, filepath.Join(dir, "main.go"), blocks(t, "../README.md", "go", g.addr)[0])
	program := filepath.Join(t.TempDir(), "agent")
	if err := testkit.Build(program, "./"+dir); err != nil {
		t.Fatal(err)
	}
	askBot(t, g, "Hello from Go", program)
}

func TestReadme_Python(t *testing.T) {
	t.Parallel()
	python, err := os.ReadFile("../.tools/python/interpreter")
	if err != nil {
		t.Skip("there is no Python with websockets: scripts/install-python.sh")
	}
	g := startGateway(t, scriptConfig)
	file := filepath.Join(t.TempDir(), "agent.py")
	writeFile(t, file, blocks(t, "../README.md", "python", g.addr)[0])
	askBot(t, g, "Hello from Python", strings.TrimSpace(string(python)), "-u", file)
}

func TestReadme_TypeScript(t *testing.T) {
	t.Parallel()
	node := nodeWithWebSocket(t)
	g := startGateway(t, scriptConfig)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "agent.ts"), blocks(t, "../README.md", "ts", g.addr)[0])
	file := filepath.Join(dir, "agent.mjs")
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(dir, "agent.ts")}, Outfile: file, Bundle: true, Write: true, Platform: api.PlatformNode, Format: api.FormatESModule,
		AbsWorkingDir: dir, Alias: map[string]string{"@meup-protocol/sdk": filepath.Join(sdk(t), "src/index.ts")},
	})
	if len(built.Errors) > 0 {
		t.Fatal(built.Errors)
	}
	askBot(t, g, "Hello from TypeScript", append(node, file)...)
}

// sdk returns the folder of the TypeScript SDK.
func sdk(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../sdk/typescript")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
