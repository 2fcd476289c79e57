// Package control is the way from the command backup to a running gateway: a Unix domain
// socket in the data folder. Access to it is a permission of the file system: the socket
// belongs to the gateway's user and has the mode 0600. There is no token, and nothing of
// it is reachable over the network.
//
// A conversation has one line in each direction, and then the end of the connection:
//
//	command → gateway   {"command":"backup"}
//	gateway → command   {"folder":"backup.tmp"} or {"error":"reason"}
//
// The folder, a name within the data folder, has a checkpoint of the log. The connection
// is its lease: when it ends, for any reason, the gateway removes the folder. There
// is one checkpoint at a time.
package archive

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Names within the data folder.
const (
	// SocketName is the name of the socket.
	SocketName = "control.sock"
	// SocketFolder is the name of the checkpoint.
	SocketFolder = "backup.tmp"
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
	if err == nil && answer.Folder != SocketFolder {
		err = fmt.Errorf("the gateway answers with the folder %q; use the program of its version", answer.Folder)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	l := &Lease{Dir: filepath.Join(data, SocketFolder), conn: conn, ended: make(chan struct{})}
	go func() { // ends with the connection; Close waits
		defer close(l.ended)
		_, _ = conn.Read(make([]byte, 1)) // the gateway writes nothing more
	}()
	return l, nil
}

// isRunning reports whether a gateway listens in a data folder. An error means that it cannot be
// found out.
func isRunning(ctx context.Context, data string) (bool, error) {
	conn, err := dial(ctx, data)
	switch {
	case errors.Is(err, errNotRunning):
		return false, nil
	case err != nil:
		return false, err
	}
	_ = conn.Close() // nothing was sent
	return true, nil
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

// dial connects to the socket of a data folder.
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
