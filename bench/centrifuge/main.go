// Command centrifuge is a broadcaster on github.com/centrifugal/centrifuge, a library
// for servers of the kind that bench measures. Bench starts it:
//
//	cd bench/centrifuge && go build -o /tmp/centrifuge . && cd ../..
//	go run ./bench -centrifuge /tmp/centrifuge
//
// A connection is subscribed to the channel that its URL names, and may publish to it.
// There is no history, as in NATS core.
//
// The folder is a module of its own, so that the library is no dependency of the
// gateway.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/centrifugal/centrifuge"
)

// queueBytes is more than the client of the benchmark lags.
const queueBytes = 16 << 20

// pingInterval is longer than any run: the client of the benchmark does not answer.
const pingInterval = time.Hour

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends with the process
	if err == nil {
		err = serve(l)
	}
	fmt.Fprintln(os.Stderr, "centrifuge:", err)
	os.Exit(1)
}

// serve serves connections until l fails. It prints its address.
func serve(l net.Listener) error {
	node, err := centrifuge.New(centrifuge.Config{ClientQueueMaxSize: queueBytes})
	if err != nil {
		return err
	}
	node.OnConnecting(func(ctx context.Context, _ centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		channel, _ := ctx.Value(channelKey{}).(string)
		return centrifuge.ConnectReply{
			Credentials:   &centrifuge.Credentials{},
			Subscriptions: map[string]centrifuge.SubscribeOptions{channel: {}},
		}, nil
	})
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnPublish(func(_ centrifuge.PublishEvent, reply centrifuge.PublishCallback) {
			reply(centrifuge.PublishReply{}, nil) // the library publishes then
		})
	})
	if err := node.Run(); err != nil {
		return err
	}
	sockets := centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
		UseWriteBufferPool: true, PingPongConfig: centrifuge.PingPongConfig{PingInterval: pingInterval},
	})
	fmt.Fprintf(os.Stdout, "{\"msg\":\"serving\",\"address\":%q}\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // no timeouts, on loopback
		sockets.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), channelKey{}, r.URL.Query().Get("space"))))
	}))
}

// channelKey is the key of a connection's channel in its context.
type channelKey struct{}
