//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
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
		o, err = n.options()
		if err != nil {
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

// startNATS starts this program again as a NATS server.
func startNATS() (*process, error) {
	return startSelf(natsName, natsEnv+"=1")
}
