package clienttest

import (
	"context"
	"errors"
	"sync"

	"github.com/coder/websocket"
)

// conn is the connection of the program. It reads continuously, so that pings are answered
// while the script does something else.
type conn struct {
	ws      *websocket.Conn
	echo    bool
	frames  chan []byte // received; closed when the connection has ended
	err     error       // why it ended; set before frames is closed
	reading sync.WaitGroup
	ended   context.CancelFunc
}

// maxFrames bounds the frames that wait for the script. A program that sends more waits.
const maxFrames = 1 << 14

func newConn(ws *websocket.Conn, echo bool) *conn {
	c := &conn{ws: ws, echo: echo, frames: make(chan []byte, maxFrames)}
	ws.SetReadLimit(16 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	c.ended = cancel
	c.reading.Go(func() { // ends with the connection, which drop cuts
		defer cancel()
		defer close(c.frames)
		for {
			typ, frame, err := ws.Read(ctx)
			if err == nil && typ != websocket.MessageText {
				err = errors.New("the program sent a binary frame")
			}
			if err != nil {
				c.err = err
				return
			}
			select {
			case c.frames <- frame:
			default:
				c.err = errors.New("the program sent more frames than the script reads")
				return
			}
		}
	})
	return c
}

// reason returns why the connection ended, once it has ended.
func (c *conn) reason() error {
	_ = c.ws.CloseNow()
	c.reading.Wait()
	return c.err
}
