package typescript_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) {
	code := testkit.Run(m)
	if installed.dir != "" {
		_ = os.RemoveAll(installed.dir)
	}
	os.Exit(code)
}

// installed is a folder in which the package is installed as npm does, once for
// all tests.
var installed struct {
	once sync.Once
	dir  string
	err  error
}

// install returns the folder, and the command that runs Node there. Without Node or the
// compiler the test is skipped, or fails in CI (if the environment has CI).
func install(t *testing.T) (dir string, node []string) {
	t.Helper()
	testkit.Reads(t, ".")
	missing := func(what string) {
		if ci := os.Getenv("CI"); ci != "" && ci != "false" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
	path, err := exec.LookPath("node")
	if err != nil {
		missing("no node on this machine")
	}
	if _, err := os.Stat("../../web/node_modules/typescript"); err != nil {
		missing("no TypeScript compiler: scripts/install-web.sh")
	}
	installed.once.Do(func() { installed.dir, installed.err = pack(path) })
	if installed.err != nil {
		t.Fatal(installed.err)
	}
	node = []string{path}
	if exec.Command(path, "-e", "WebSocket").Run() != nil { // before Node 22
		node = append(node, "--experimental-websocket", "--no-warnings")
	}
	return installed.dir, node
}

// pack builds the package in a copy of its sources, and unpacks the file that npm would
// publish.
func pack(node string) (dir string, err error) {
	dir, err = os.MkdirTemp("", "meup-sdk-")
	if err != nil {
		return "", err
	}
	source := filepath.Join(dir, "source")
	for _, name := range []string{"package.json", "README.md", "examples"} {
		if err := copied(filepath.Join(source, name), name); err != nil {
			return dir, err
		}
	}
	if out, err := exec.Command(node, "build.mjs", filepath.Join(source, "dist")).CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build the package: %w\n%s", err, out)
	}
	npm := exec.Command("npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", dir)
	npm.Dir = source
	out, err := npm.Output()
	if err != nil {
		return dir, fmt.Errorf("pack the package: %w", err)
	}
	file, err := os.Open(filepath.Join(dir, strings.TrimSpace(string(out))))
	if err != nil {
		return dir, err
	}
	defer file.Close()
	if err := unpack(file, filepath.Join(dir, "node_modules", "@meup-protocol", "sdk")); err != nil {
		return dir, fmt.Errorf("unpack the package: %w", err)
	}
	return dir, copied(filepath.Join(dir, "test"), "test")
}

func copied(to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

func unpack(file io.Reader, dir string) error {
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, ok := strings.CutPrefix(h.Name, "package/")
		if !ok || !filepath.IsLocal(name) {
			return fmt.Errorf("unexpected file %q", h.Name)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
}

// program is a running program of Node.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner // of its output
	log   *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start runs a script of the folder as a participant, whose token is its name and
// "-token". It is killed with the test.
func start(t *testing.T, url, who, script string, env ...string) *program {
	t.Helper()
	dir, node := install(t)
	cmd := exec.CommandContext(testkit.Deadline(t), node[0], append(node[1:], script)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(env, "MEUP_URL="+url, "MEUP_SPACE=lab", "MEUP_TOKEN="+who+"-token")...)
	p := &program{t: t, cmd: cmd, log: &syncBuffer{}}
	cmd.Stderr = p.log
	var err error
	p.stdin, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("%s of %s wrote:\n%s", script, who, p.log)
		}
	})
	return p
}

// terminate sends SIGTERM, and waits until the program has ended well.
func (p *program) terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
	p.wait()
}

// wait waits until the program has ended well.
func (p *program) wait() {
	p.t.Helper()
	for p.lines.Scan() {
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the program ended: %v", err)
	}
}
