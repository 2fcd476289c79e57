package archive

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// checkpoint makes a folder with a file.
func checkpoint(dir string) error {
	return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600))
}

// serve starts a server, which stop ends.
func serve(t *testing.T, data string, checkpoint func(string) error) (stop func()) {
	t.Helper()
	s, err := ListenControl(data, checkpoint, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Serve(ctx) }) // until stop
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// shortDir returns a folder whose socket has a short path on all systems.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestCheckpoint_ExistsUntilClose(t *testing.T) {
	data := shortDir(t)
	if _, err := Checkpoint(t.Context(), data); !errors.Is(err, errNotRunning) {
		t.Errorf("without a gateway: %v", err)
	}
	stop := serve(t, data, checkpoint)
	if info, err := os.Stat(filepath.Join(data, SocketName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	lease, err := Checkpoint(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(lease.Dir, "file")); err != nil || string(text) != "content" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Checkpoint(t.Context(), data); err == nil || !strings.Contains(err.Error(), "another backup is running") {
		t.Errorf("a second backup: %v", err)
	}
	if err := lease.Close(); err != nil {
		t.Error(err)
	}
	if exists(lease.Dir) {
		t.Error("the checkpoint is left")
	}
	again, err := Checkpoint(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.conn.Close(); err != nil { // as when the command is killed
		t.Error(err)
	}
	testkit.Eventually(t, "the checkpoint of a killed command is removed", func() bool { return !exists(lease.Dir) })
	stop()
	if exists(filepath.Join(data, SocketName)) || exists(lease.Dir) {
		t.Error("the socket or the checkpoint is left")
	}
}

func TestServe_EndDuringBackup(t *testing.T) {
	data := shortDir(t)
	stop := serve(t, data, checkpoint)
	lease, err := Checkpoint(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	<-lease.Ended()
	if exists(lease.Dir) {
		t.Error("the checkpoint is left")
	}
	_ = lease.Close() // the connection is closed already
}

func TestCheckpoint_Fails(t *testing.T) {
	data := shortDir(t)
	serve(t, data, func(string) error { return errors.New("disk full") })
	if _, err := Checkpoint(t.Context(), data); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v", err)
	}
}

func TestCheckpoint_Canceled(t *testing.T) {
	data := shortDir(t)
	began, goOn := make(chan struct{}), make(chan struct{})
	serve(t, data, func(dir string) error {
		close(began)
		<-goOn
		return checkpoint(dir)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the checkpoint
		<-began
		cancel()
	}()
	if _, err := Checkpoint(ctx, data); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(goOn)
	testkit.Eventually(t, "the checkpoint is removed", func() bool { return !exists(filepath.Join(data, CheckpointFolder)) })
}

// The socket and the checkpoint of a killed gateway are replaced.
func TestListen_AfterKill(t *testing.T) {
	data := shortDir(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(data, SocketName), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(l.Close(), checkpoint(filepath.Join(data, CheckpointFolder))); err != nil {
		t.Fatal(err)
	}
	if _, err := Checkpoint(t.Context(), data); !errors.Is(err, errNotRunning) {
		t.Errorf("at the socket of a killed gateway: %v", err)
	}
	serve(t, data, checkpoint)
	if exists(filepath.Join(data, CheckpointFolder)) {
		t.Error("the old checkpoint is left")
	}
	lease, err := Checkpoint(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Close(); err != nil {
		t.Error(err)
	}
}

func TestListen_OtherFile(t *testing.T) {
	data := shortDir(t)
	socket := filepath.Join(data, SocketName)
	if err := os.WriteFile(socket, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenControl(data, checkpoint, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(socket); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestListen_LongPath(t *testing.T) {
	data := filepath.Join(shortDir(t), strings.Repeat("long-", 30))
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" {
		if _, err := ListenControl(data, checkpoint, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "use a shorter one") {
			t.Errorf("got %v", err)
		}
		return
	}
	stop := serve(t, data, checkpoint)
	lease, err := Checkpoint(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Close(); err != nil {
		t.Error(err)
	}
	stop()
	if exists(filepath.Join(data, SocketName)) {
		t.Error("the socket is left")
	}
}

func TestServe_Requests(t *testing.T) {
	data := shortDir(t)
	serve(t, data, checkpoint)
	for _, test := range []struct{ name, line, want string }{
		{"unknown command", `{"command":"shutdown"}` + "\n", "unknown command"},
		{"not JSON", "backup\n", "cannot be read"},
		{"too long", strings.Repeat("x", 2*maxLine) + "\n", "cannot be read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn, err := net.Dial("unix", filepath.Join(data, SocketName))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, test.line); err != nil {
				t.Fatal(err)
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			if !strings.Contains(line, test.want) {
				t.Errorf("answered by %q", line)
			}
		})
	}
	if exists(filepath.Join(data, CheckpointFolder)) {
		t.Error("a checkpoint was made")
	}
}

// Idle connections take up to maxConns places; further ones are closed.
func TestServe_BoundsConnections(t *testing.T) {
	data := shortDir(t)
	serve(t, data, checkpoint)
	for range maxConns {
		conn, err := net.Dial("unix", filepath.Join(data, SocketName))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	conn, err := net.Dial("unix", filepath.Join(data, SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("one more connection is served: %d bytes, %v", n, err)
	}
	if _, err := Checkpoint(t.Context(), data); err == nil {
		t.Error("a backup is served beyond the bound")
	}
}
