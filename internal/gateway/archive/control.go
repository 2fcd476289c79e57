package archive

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Names within the data folder.
const (
	// SocketName is the name of the socket.
	SocketName = "control.sock"
	// CheckpointFolder is the name of the checkpoint.
	CheckpointFolder = "backup.tmp"
)

const (
	// maxLine bounds a line in bytes.
	maxLine = 4096
	// requestTimeout bounds the time for a line to arrive.
	requestTimeout = 10 * time.Second
	// removeTimeout bounds how long a command waits for the removal of its checkpoint.
	removeTimeout = 30 * time.Second
)

// errNotRunning means that no gateway listens in the data folder.
var errNotRunning = errors.New("no gateway listens in the data folder")

type request struct {
	Command string `json:"command"`
}

type response struct {
	Folder string `json:"folder,omitempty"`
	Error  string `json:"error,omitempty"`
}

const commandBackup = "backup"

// Lease is a checkpoint of a running gateway. It exists until Close, or until the
// gateway ends.
type Lease struct {
	// Dir is the folder with the checkpoint.
	Dir string

	conn  net.Conn
	ended chan struct{}
}

// Checkpoint asks the gateway that uses a data folder for a checkpoint of its log. Err:
// errNotRunning.
func Checkpoint(ctx context.Context, data string) (*Lease, error) {
	conn, err := dial(ctx, data)
	if err != nil {
		return nil, err
	}
	answer, err := ask(ctx, conn, request{commandBackup})
	if err == nil && answer.Folder != CheckpointFolder {
		err = fmt.Errorf("the gateway answers with the folder %q; use the program of its version", answer.Folder)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	l := &Lease{Dir: filepath.Join(data, CheckpointFolder), conn: conn, ended: make(chan struct{})}
	go func() { // ends with the connection; Close waits
		defer close(l.ended)
		_, _ = conn.Read(make([]byte, 1)) // the gateway writes nothing more
	}()
	return l, nil
}

// Ended returns a channel that is closed when the checkpoint may be gone.
func (l *Lease) Ended() <-chan struct{} { return l.ended }

// Close ends the lease, and waits until the gateway has removed the checkpoint, so that
// another backup can follow.
func (l *Lease) Close() error {
	err := l.conn.SetReadDeadline(time.Now().Add(removeTimeout))
	if half, ok := l.conn.(*net.UnixConn); ok && err == nil {
		err = half.CloseWrite()
	}
	if err == nil {
		<-l.ended
	}
	err = errors.Join(err, l.conn.Close())
	<-l.ended
	return err
}

// windowsRefused is WSAECONNREFUSED, which package syscall does not map.
const windowsRefused = syscall.Errno(10061)

// dial connects to the socket of a data folder. Err: errNotRunning.
func dial(ctx context.Context, data string) (net.Conn, error) {
	path, release, err := socketPath(data)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNotRunning
	}
	if err != nil {
		return nil, err
	}
	defer release()
	conn, err := (&net.Dialer{Timeout: requestTimeout}).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, windowsRefused):
		return nil, errNotRunning // there is no socket, or its process was killed
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("connect to the gateway: %w; run the command as the user of the gateway", err)
	}
	return nil, fmt.Errorf("connect to the gateway: %w", err)
}

// ask sends a request and returns the response. It has no deadline: the checkpoint of
// a large log on a slow disk takes its time.
func ask(ctx context.Context, conn net.Conn, r request) (answer response, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := writeLine(conn, r); err != nil {
		return answer, fmt.Errorf("ask the gateway for a checkpoint: %w", err)
	}
	err = readLine(conn, &answer)
	switch {
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return answer, errors.New("the gateway ended before it had made a checkpoint")
	case err != nil:
		return answer, fmt.Errorf("ask the gateway for a checkpoint: %w", err)
	case answer.Error != "":
		return answer, fmt.Errorf("the gateway makes no checkpoint: %s", answer.Error)
	}
	return answer, nil
}

func writeLine(w io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// readLine reads one line of at most maxLine bytes.
func readLine(r io.Reader, value any) error {
	line, err := bufio.NewReaderSize(io.LimitReader(r, maxLine), maxLine).ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) == maxLine {
		return fmt.Errorf("a line of more than %d bytes", maxLine)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(line, value)
}

// maxConns bounds the connections; further ones are closed.
const maxConns = 4

// ControlServer is the way from the command backup to a running gateway: it answers at a
// Unix domain socket in the data folder. Its process must have the log of the folder
// open, so that there is one server. Access to the socket is a permission of the file
// system: it belongs to the gateway's user and has the mode 0600. There is no token, and
// nothing of it is reachable over the network.
//
// A conversation has one line in each direction, and then the end of the connection:
//
//	command → gateway   {"command":"backup"}
//	gateway → command   {"folder":"backup.tmp"} or {"error":"reason"}
//
// The folder, a name within the data folder, has a checkpoint of the log. The connection
// is its lease: when it ends, for any reason, the gateway removes the folder. There
// is one checkpoint at a time.
type ControlServer struct {
	data       string
	listener   *net.UnixListener
	release    func()
	checkpoint func(dir string) error
	log        *slog.Logger

	slots  chan struct{}
	backup sync.Mutex // held while the checkpoint exists
}

// ListenControl replaces the socket of a data folder, and removes the checkpoint of a killed
// process. checkpoint makes a checkpoint of the log in a new folder.
func ListenControl(data string, checkpoint func(dir string) error, log *slog.Logger) (*ControlServer, error) {
	socket := filepath.Join(data, SocketName)
	if info, err := os.Lstat(socket); err == nil && info.Mode().Type() != fs.ModeSocket && info.Mode().Type() != fs.ModeIrregular { // irregular on Windows
		return nil, fmt.Errorf("%s exists and is not a socket", socket)
	}
	if err := errors.Join(remove(socket), os.RemoveAll(filepath.Join(data, CheckpointFolder))); err != nil {
		return nil, err
	}
	path, release, err := socketPath(data)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		release()
		return nil, fmt.Errorf("listen at %s: %w", socket, err)
	}
	l.SetUnlinkOnClose(false) // Serve removes it, by the path that does not depend on release
	if err := os.Chmod(socket, 0o600); err != nil {
		release()
		return nil, errors.Join(fmt.Errorf("restrict the access to %s: %w", socket, err), l.Close())
	}
	return &ControlServer{
		data: data, listener: l, release: release, checkpoint: checkpoint, log: log,
		slots: make(chan struct{}, maxConns),
	}, nil
}

func remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Serve answers until ctx ends. Then it closes all connections, and removes the
// checkpoint and the socket.
func (s *ControlServer) Serve(ctx context.Context) {
	defer s.release()
	stop := context.AfterFunc(ctx, func() { _ = s.listener.Close() })
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		conn, err := s.listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			if err := remove(filepath.Join(s.data, SocketName)); err != nil {
				s.log.Warn("the socket for backups was not removed", "error", err)
			}
			return
		}
		if err != nil { // such as too many open files
			s.log.Debug("accept a connection for a backup", "error", err)
			_ = pause(ctx, acceptPause) // ctx is checked above
			continue
		}
		select {
		case s.slots <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		running.Go(func() { // ends with the connection, or with ctx
			defer func() { <-s.slots }()
			s.answer(ctx, conn)
		})
	}
}

// acceptPause is the time between two attempts to accept a connection.
const acceptPause = 100 * time.Millisecond

// answer serves one connection.
func (s *ControlServer) answer(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close() //nolint:errcheck // nothing is to be written
	var r request
	_ = conn.SetDeadline(time.Now().Add(requestTimeout))
	err := readLine(conn, &r)
	switch {
	case err != nil:
		s.reply(conn, response{Error: "the request cannot be read"})
	case r.Command != commandBackup:
		s.reply(conn, response{Error: "unknown command; use the program of the gateway's version"})
	case !s.backup.TryLock():
		s.reply(conn, response{Error: "another backup is running; wait until it is done"})
	default:
		defer s.backup.Unlock()
		s.lease(conn)
	}
}

// lease makes a checkpoint, and removes it when the connection ends.
func (s *ControlServer) lease(conn net.Conn) {
	dir := filepath.Join(s.data, CheckpointFolder)
	began := time.Now()
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			s.log.Warn("the checkpoint of a backup was not removed", "folder", dir, "error", err)
		}
		s.log.Info("backup ended", "took", time.Since(began).Round(time.Millisecond))
	}()
	s.log.Info("backup started")
	if err := errors.Join(os.RemoveAll(dir), s.checkpoint(dir)); err != nil {
		s.log.Warn("no checkpoint for a backup", "error", err)
		s.reply(conn, response{Error: err.Error()})
		return
	}
	if s.reply(conn, response{Folder: CheckpointFolder}) {
		_ = conn.SetDeadline(time.Time{})
		_, _ = conn.Read(make([]byte, 1)) // until the command ends
	}
}

// reply sends a response, and reports whether it was sent.
func (s *ControlServer) reply(conn net.Conn, r response) bool {
	_ = conn.SetDeadline(time.Now().Add(requestTimeout))
	return writeLine(conn, r) == nil
}
