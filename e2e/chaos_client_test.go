package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// chaosToken returns the token of a participant in chaosConfig.
func chaosToken(who string) string { return who + "-token-for-chaos" }

// patience bounds one attempt of a client; retryPause is the time between two
// attempts.
const (
	patience   = 10 * time.Second
	retryPause = 50 * time.Millisecond
)

// wait returns false when ctx ends before d has passed.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// frame holds the fields that a client needs of an envelope from the gateway.
type frame struct {
	entry
	Correlation json.RawMessage `json:"correlationId"`
	Payload     struct {
		GrantID   string `json:"grant_id"`
		Recipient string `json:"recipient"`
		Seq       uint64 `json:"seq"`
		OldestSeq uint64 `json:"oldest_seq"`
		Error     string `json:"error"`
		Message   string `json:"message"`
		Space     struct {
			Log string `json:"log"`
		} `json:"space"`
	} `json:"payload"`
}

func (f *frame) asEntry() entry {
	e := f.entry
	e.Payload.GrantID, e.Payload.Recipient = f.Payload.GrantID, f.Payload.Recipient
	return e
}

// connect opens a WebSocket; its first frame is the welcome.
func connect(ctx context.Context, addr, space, who, parameters string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, resp, err := websocket.Dial(ctx, "ws://"+addr+"/ws?space="+space+"&"+parameters, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + chaosToken(who)}},
	})
	if err != nil {
		if resp != nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
			return nil, fmt.Errorf("%w: %s", errNotLetIn, resp.Status)
		}
		return nil, err
	}
	c.SetReadLimit(4 << 20)
	return c, nil
}

var errNotLetIn = errors.New("not let in")

func readFrame(ctx context.Context, c *websocket.Conn) (frame, error) {
	_, data, err := c.Read(ctx)
	if err != nil {
		return frame{}, err
	}
	var f frame
	err = json.Unmarshal(data, &f)
	var other *json.UnmarshalTypeError // of the payload of a kind that is not read
	if errors.As(err, &other) {
		err = nil
	}
	return f, err
}

// answer is the outcome of one attempt to send an envelope.
type answer int

const (
	admitted answer = iota
	unknown         // no answer, or an answer that leaves it open
	refused         // certainly not admitted; worth another attempt
	denied          // certainly not admitted, and never will be
)

func answerOf(code string) answer {
	switch code {
	case "outcome_unknown":
		return unknown
	case "unavailable", "rate_limited", "shutting_down", "too_many_requests":
		return refused
	}
	return denied
}

// sender sends envelopes one at a time over a WebSocket, to any gateway.
type sender struct {
	c     *websocket.Conn
	addr  string
	space string
	who   string
}

func (s *sender) close() {
	if s.c != nil {
		_ = s.c.CloseNow()
		s.c = nil
	}
}

// try makes one attempt. text explains an answer other than admitted.
func (s *sender) try(ctx context.Context, addrs []string, id, body string) (a answer, seq uint64, text string) {
	if s.c == nil {
		s.addr = addrs[rand.IntN(len(addrs))]
		c, err := connect(ctx, s.addr, s.space, s.who, "ack=true&echo=false&kinds=x.none")
		if err != nil {
			return refused, 0, err.Error() // nothing was sent
		}
		s.c = c
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.c.Write(ctx, websocket.MessageText, []byte(body)); err != nil {
		s.close()
		return unknown, 0, err.Error()
	}
	for {
		f, err := readFrame(ctx, s.c)
		if err != nil {
			s.close()
			return unknown, 0, err.Error()
		}
		if string(f.Correlation) != strconv.Quote(id) {
			continue
		}
		switch f.Kind {
		case "system.ack":
			return admitted, f.Payload.Seq, ""
		case "system.error":
			return answerOf(f.Payload.Error), 0, f.Payload.Error + ": " + f.Payload.Message
		}
	}
}

// post makes one attempt over HTTP.
func (s *sender) post(ctx context.Context, addrs []string, body string) (a answer, seq uint64, text string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	url := "http://" + addrs[rand.IntN(len(addrs))] + "/api/spaces/" + s.space + "/envelopes"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return denied, 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+chaosToken(s.who))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return unknown, 0, err.Error()
	}
	defer resp.Body.Close()
	text2, err := io.ReadAll(resp.Body)
	if err != nil {
		return unknown, 0, err.Error()
	}
	var result struct {
		Seq     uint64 `json:"seq"`
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(text2, &result); err != nil {
		return unknown, 0, fmt.Sprintf("%s: %q", resp.Status, text2)
	}
	if resp.StatusCode == http.StatusOK {
		return admitted, result.Seq, ""
	}
	return answerOf(result.Error), 0, result.Error + ": " + result.Message
}

// world is the state that the clients of one space share.
type world struct {
	*record
	addrs []string // of the gateways
	space string
}

func (w *world) sender(who string) *sender { return &sender{space: w.space, who: who} }

// deliver sends one envelope until its outcome is certain or ctx ends. With
// once, it gives up after an answer that the envelope was not admitted.
func (w *world) deliver(ctx context.Context, s *sender, overHTTP, once bool, id, body string) (out sent, last answer, text string) {
	out = sent{id: id, sentAt: w.now(), rejected: true}
	for {
		var a answer
		var seq uint64
		if overHTTP {
			a, seq, text = s.post(ctx, w.addrs, body)
		} else {
			a, seq, text = s.try(ctx, w.addrs, id, body)
		}
		switch {
		case a == admitted:
			out.ackedAt, out.seq, out.rejected = w.now(), seq, false
			return out, a, ""
		case a == unknown:
			out.rejected = false
		case a == denied, once && out.rejected:
			return out, a, text
		}
		if a == refused && !overHTTP {
			s.close() // another gateway may accept it
		}
		if !wait(ctx, retryPause) {
			out.rejected = false // the last attempt may have been cut off
			return out, a, text
		}
	}
}

// write sends chats until ctx ends; it gives up one in three when it is
// refused.
func (w *world) write(ctx context.Context, who, name string, overHTTP bool) {
	s := w.sender(who)
	defer s.close()
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("%s-%d", name, n)
		// Up to 4 kB, so that the embedded log needs new files often.
		body := fmt.Sprintf(`{"id":%q,"kind":"chat","payload":{"message":%q}}`, id, strings.Repeat("x", rand.IntN(4000)))
		out, last, text := w.deliver(ctx, s, overHTTP, n%3 == 0, id, body)
		if last == denied {
			w.violation("a chat of %s was denied: %s", who, text)
		}
		w.add(out)
		if !wait(ctx, time.Duration(rand.IntN(5))*time.Millisecond) {
			return
		}
	}
}

// usePrivileged sends x.priv until ctx ends, granted or not.
func (w *world) usePrivileged(ctx context.Context, who string) {
	s := w.sender(who)
	defer s.close()
	for n := 0; wait(ctx, 2*time.Millisecond); n++ {
		id := fmt.Sprintf("%s-priv-%d", who, n)
		out, _, _ := w.deliver(ctx, s, false, false, id, fmt.Sprintf(`{"id":%q,"kind":"x.priv"}`, id))
		w.add(out)
	}
}

// toggleGrant grants x.priv to who and revokes it until ctx ends, at any gateway.
func (w *world) toggleGrant(ctx context.Context, who string) {
	s := w.sender("admin")
	defer s.close()
	for n := 0; ctx.Err() == nil; n++ {
		grant := fmt.Sprintf("grant-%d", n)
		out, last, text := w.deliver(ctx, s, n%2 == 0, false, grant,
			fmt.Sprintf(`{"id":%q,"kind":"capability.grant","payload":{"recipient":%q,"capabilities":["x.priv"]}}`, grant, who))
		w.add(out)
		if out.ackedAt == 0 {
			if last == denied {
				w.violation("a grant was denied: %s", text)
			}
			return
		}
		wait(ctx, 30*time.Millisecond)
		s.close() // revoke it at another gateway
		id := fmt.Sprintf("revoke-%d", n)
		out, last, text = w.deliver(ctx, s, n%2 == 1, false, id,
			fmt.Sprintf(`{"id":%q,"kind":"capability.revoke","payload":{"recipient":%q,"grant_id":%q}}`, id, who, grant))
		w.add(out)
		if last == denied && !w.replaceable {
			w.violation("an acknowledged grant (%s at %d) could not be revoked: %s", grant, out.seq, text)
		}
	}
}

// follow reads everything at one gateway until ctx ends, and resumes whenever
// its connection is lost.
func (w *world) follow(ctx context.Context, reader, addr string) {
	log := ""
	for ctx.Err() == nil {
		parameters := "since=" + strconv.FormatUint(w.readUpTo(reader), 10)
		if log != "" {
			parameters += "&log=" + log
		}
		c, err := connect(ctx, addr, w.space, "reader", parameters)
		if errors.Is(err, errNotLetIn) {
			w.violation("%s: %v", reader, err)
		}
		if err == nil {
			w.followOnce(ctx, reader, c, &log)
			_ = c.CloseNow()
		}
		wait(ctx, retryPause)
	}
}

func (w *world) followOnce(ctx context.Context, reader string, c *websocket.Conn, log *string) {
	for {
		f, err := readFrame(ctx, c)
		switch {
		case err != nil:
			return
		case f.Kind == "system.welcome":
			if *log != "" && f.Payload.Space.Log != *log {
				if !w.replaceable {
					w.violation("%s: the log's id changed from %s to %s", reader, *log, f.Payload.Space.Log)
				}
				w.readAgain(reader, *log)
			}
			*log = f.Payload.Space.Log
			w.viewing(reader, *log)
		case f.Kind == "system.error" && f.Payload.Error == "cursor_expired" && w.retention:
			w.trimmed(reader, f.Payload.OldestSeq)
		case f.Kind == "system.error" && f.Payload.Error == "cursor_expired" && w.replaceable:
		case f.Kind == "system.error":
			w.violation("%s: %s: %s", reader, f.Payload.Error, f.Payload.Message)
		case f.Seq > 0:
			w.read(reader, f.asEntry())
		}
	}
}

// history reads the whole log over HTTP. Entries that retention drops meanwhile
// are missing between pages; it then reads again.
func (w *world) history(ctx context.Context, addr string) ([]entry, error) {
	for {
		h, err := readHistory(ctx, addr, w.space)
		if err != nil || !w.retention {
			return h, err
		}
		again, err := readHistory(ctx, addr, w.space)
		if err != nil || firstTrimmable(h) == firstTrimmable(again) {
			return h, err
		}
	}
}

func readHistory(ctx context.Context, addr, space string) ([]entry, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, testkit.Patience, errors.New("history is not available"))
	defer cancel()
	var all []entry
	for since, more := uint64(0), true; more; {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet,
			fmt.Sprintf("http://%s/api/spaces/%s/envelopes?limit=1000&since=%d", addr, space, since), nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+chaosToken("reader"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
			if !wait(ctx, time.Second) {
				return nil, context.Cause(ctx)
			}
			continue
		}
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("history: %s: %s", resp.Status, body)
		}
		var page struct {
			Envelopes []entry `json:"envelopes"`
			Next      uint64  `json:"next"`
			HasMore   bool    `json:"has_more"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Envelopes...)
		since, more = page.Next, page.HasMore
	}
	return all, nil
}
