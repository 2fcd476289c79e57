//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsEnv makes this program a NATS server: without a store, or as a [natsNode].
const natsEnv = "MEUP_BENCH_NATS"

// runNATS runs the server as a separate process. It prints its address.
func runNATS() error {
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, MaxConn: 1 << 20}
	if value := os.Getenv(natsEnv); strings.HasPrefix(value, "{") {
		var n natsNode
		if err := json.Unmarshal([]byte(value), &n); err != nil {
			return err
		}
		var err error
		if o, err = n.options(); err != nil {
			return err
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("the server does not start")
	}
	fmt.Fprintf(os.Stdout, "{\"msg\":\"serving\",\"address\":%q}\n", s.Addr())
	s.WaitForShutdown()
	return nil
}

// openNATS connects to a NATS server and subscribes to the subject of a space.
func (c *conn) openNATS(addr netip.AddrPort) error {
	if err := c.dial(addr); err != nil {
		return err
	}
	hello := "CONNECT {\"verbose\":false}\r\nSUB " + c.space + " 1\r\nPING\r\n"
	if _, err := syscall.Write(c.fd, []byte(hello)); err != nil {
		return err
	}
	var answer []byte
	block := make([]byte, 4<<10)
	for !bytes.Contains(answer, []byte("PONG\r\n")) {
		n, err := syscall.Read(c.fd, block)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return fmt.Errorf("read the answer after %.200q: %w", answer, errors.Join(err, errEnded))
		}
		answer = append(answer, block[:n]...)
	}
	return syscall.SetNonblock(c.fd, true)
}

// natsFrames builds n equal messages to a subject.
func natsFrames(subject string, body []byte, n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "PUB %s %d\r\n%s\r\n", subject, len(body), body), n)
}

// natsScanner splits a stream of a NATS server into messages, regardless of block
// boundaries.
type natsScanner struct {
	line []byte // the control line so far
	left int    // remaining bytes of a message with its end of line
	body []byte // the content so far, if it spans blocks
}

// feed reads a block and calls visit for each message that it completes, as
// scanner.feed does for frames.
func (s *natsScanner) feed(block []byte, bodies bool, visit func(op byte, body []byte)) {
	for len(block) > 0 {
		if s.left == 0 {
			head, rest, whole := bytes.Cut(block, []byte("\n"))
			s.line = append(s.line, head...)
			block = rest
			if whole {
				s.control(visit)
			}
			continue
		}
		n := min(s.left, len(block))
		content := block[:n]
		block = block[n:]
		s.left -= n
		if bodies && (s.left > 0 || len(s.body) > 0) {
			s.body = append(s.body, content...)
			content = s.body
		}
		if s.left > 0 {
			return
		}
		if !bodies {
			content = nil
		}
		visit(frameText, content)
		s.body = s.body[:0]
	}
}

// control reads a control line.
func (s *natsScanner) control(visit func(op byte, body []byte)) {
	line := strings.TrimSuffix(string(s.line), "\r")
	s.line = s.line[:0]
	switch {
	case strings.HasPrefix(line, "MSG "):
		n, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
		if err != nil {
			visit(frameClose, nil)
			return
		}
		s.left = n + len("\r\n")
	case strings.HasPrefix(line, "-ERR"):
		visit(frameClose, nil)
	}
}

// startNATS starts this program again as a NATS server.
func startNATS() (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	s := &process{name: natsName, cmd: exec.Command(self)}
	s.cmd.Env = append(os.Environ(), natsEnv+"=1")
	if err := s.start(); err != nil {
		return nil, err
	}
	return s, nil
}
