//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsEnv makes this program a NATS server: the value is a [natsNode].
const natsEnv = "MEUP_BENCH_NATS"

// natsNode configures a server with JetStream.
type natsNode struct {
	Dir string
	// Of a server of a cluster. One with no name is alone, syncs every message, and
	// has a stream.
	Name           string
	Client, Routes int      // ports
	Others         []string // URLs
}

func (n *natsNode) options() (*server.Options, error) {
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, JetStream: true, StoreDir: n.Dir, SyncAlways: true}
	if n.Name == "" {
		return o, nil
	}
	o.Port, o.ServerName, o.SyncAlways = n.Client, n.Name, false
	o.Cluster = server.ClusterOpts{Name: "bench", Host: "127.0.0.1", Port: n.Routes}
	for _, other := range n.Others {
		u, err := url.Parse(other)
		if err != nil {
			return nil, err
		}
		o.Routes = append(o.Routes, u)
	}
	return o, nil
}

// runNATS runs the server as a separate process. It prints its address.
func runNATS() error {
	var n natsNode
	if err := json.Unmarshal([]byte(os.Getenv(natsEnv)), &n); err != nil {
		return err
	}
	o, err := n.options()
	if err != nil {
		return err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("the server does not start")
	}
	if n.Name == "" {
		if err := createStream(s.ClientURL()); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stdout, "{\"msg\":\"serving\",\"address\":%q}\n", s.Addr())
	s.WaitForShutdown()
	return nil
}

// streamName is the stream that has the messages of all spaces, and the first token of
// their subjects.
const streamName = "bench"

func createStream(address string) error {
	nc, err := nats.Connect(address)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	_, err = js.CreateStream(context.Background(), jetstream.StreamConfig{
		Name: streamName, Subjects: []string{streamName + ".>"}, Storage: jetstream.FileStorage,
		MaxConsumers: 20_000, // the default is 1000
	})
	return err
}

// startJetStream starts this program again as a NATS server that is alone, with its
// store below dataRoot. name says how its clients receive.
func startJetStream(ctx context.Context, name, dataRoot string) (*process, error) {
	dir, err := os.MkdirTemp(dataRoot, "meup-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the stream: %w", err)
	}
	node, err := json.Marshal(natsNode{Dir: dir})
	if err != nil {
		return nil, err
	}
	s, err := startSelf(ctx, name, natsEnv+"="+string(node))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.dir = dir
	return s, nil
}

// The subjects of a connection: of its space, of what its consumer delivers, and of
// the acknowledgments of its messages.
func (c *conn) natsSubject() string { return streamName + "." + c.space }
func (c *conn) natsInbox() string   { return "inbox." + strconv.Itoa(c.fd) }
func (c *conn) natsAcks() string    { return "acks." + strconv.Itoa(c.fd) }

// openNATS connects to a NATS server with a stream. With stored, it receives the messages
// of its space from a consumer of the stream, with what the ordered consumer of the client
// libraries has: pushed, in memory, without acknowledgments. Otherwise it subscribes
// to them, and receives them when the server does.
func (c *conn) openNATS(addr netip.AddrPort, stored bool) error {
	if err := c.dial(addr); err != nil {
		return err
	}
	from, create := c.natsSubject(), ""
	if stored {
		from = c.natsInbox()
		config, err := json.Marshal(server.CreateConsumerRequest{Stream: streamName, Config: server.ConsumerConfig{
			DeliverSubject: from, FilterSubject: c.natsSubject(), DeliverPolicy: server.DeliverNew,
			AckPolicy: server.AckNone, MaxDeliver: 1, MemoryStorage: true, Replicas: 1,
		}})
		if err != nil {
			return err
		}
		create = string(natsFrames("$JS.API.CONSUMER.CREATE."+streamName, c.natsAcks(), config, 1))
	}
	if err := c.request(fmt.Sprintf("CONNECT {\"verbose\":false}\r\nSUB %s 1\r\nSUB %s %s\r\nPING\r\n", from, c.natsAcks(), acksSubscription), "PONG\r\n"); err != nil {
		return err
	}
	if stored {
		if err := c.request(create, `"created":`); err != nil {
			return fmt.Errorf("create a consumer: %w", err)
		}
	}
	return syscall.SetNonblock(c.fd, true)
}

// request sends a request and reads until the end of the answer that has a text.
func (c *conn) request(text, answer string) error {
	if _, err := syscall.Write(c.fd, []byte(text)); err != nil {
		return err
	}
	var got []byte
	block := make([]byte, 4<<10)
	for {
		n, err := syscall.Read(c.fd, block)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err == nil && n > 0 {
			got = append(got, block[:n]...)
			if bytes.Contains(got, []byte(answer)) && bytes.HasSuffix(got, []byte("\r\n")) {
				return nil
			}
		}
		if err != nil || n == 0 || bytes.Contains(got, []byte(`"error":`)) || bytes.Contains(got, []byte("-ERR")) {
			return fmt.Errorf("the server answers %.300q: %w", got, errors.Join(err, errEnded))
		}
	}
}
