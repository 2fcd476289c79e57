package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxConns bounds the connections; further ones are closed.
const maxConns = 4

// ControlServer answers the commands for one data folder. Its process must have the log of
// the folder open, so that there is one server.
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
	if err := errors.Join(remove(socket), os.RemoveAll(filepath.Join(data, SocketFolder))); err != nil {
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
			acceptDelay(ctx)
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

func acceptDelay(ctx context.Context) {
	t := time.NewTimer(acceptPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

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
	dir := filepath.Join(s.data, SocketFolder)
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
	if s.reply(conn, response{Folder: SocketFolder}) {
		_ = conn.SetDeadline(time.Time{})
		_, _ = conn.Read(make([]byte, 1)) // until the command ends
	}
}

// reply sends a response, and reports whether it was sent.
func (s *ControlServer) reply(conn net.Conn, r response) bool {
	_ = conn.SetDeadline(time.Now().Add(requestTimeout))
	return writeLine(conn, r) == nil
}
