package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of one request.
const (
	maxSend      = 100      // envelopes
	maxSendBytes = 32 << 20 // of the body, unless the limit of one message is higher
	maxWhole     = 1 << 20  // bytes of an array that are read before its first element is admitted
	heavyBytes   = 64 << 10 // bodies above this size need a slot
)

// sent is the result of one envelope.
type sent struct {
	api.Receipt
	// Status and the error are set for a rejected envelope in an array.
	Status int             `json:"status,omitempty"`
	Err    *protocol.Error `json:"-"`
}

// MarshalJSON writes the fields of the error next to the others.
func (s sent) MarshalJSON() ([]byte, error) {
	type plain sent
	if s.Err != nil && s.Err.ID != "" {
		s.ID = "" // the error contains it
	}
	own, err := json.Marshal(plain(s))
	if err != nil || s.Err == nil {
		return own, err
	}
	refused, err := json.Marshal(s.Err)
	if err != nil {
		return nil, err
	}
	return append(append(own[:len(own)-1], ','), refused[1:]...), nil
}

// send admits one envelope or an array of envelopes, in order.
func (s *Server) send(w http.ResponseWriter, r *http.Request, v caller) {
	p, most, err := s.newPosting(r.Context(), v)
	if err != nil {
		access.WriteError(w, err)
		return
	}
	size := r.ContentLength
	if size < 0 {
		size = most
	}
	if size > most {
		access.WriteError(w, tooLarge(most))
		return
	}
	p.body = access.OpenBody(w, r, most, bodyTimeout)
	defer p.body.Close()
	if !p.reserve(v, size) {
		p.discard()
		access.WriteError(w, access.Busy())
		return
	}
	in := bufio.NewReaderSize(p.body, 16<<10)
	list, err := isArray(in)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		access.WriteError(w, access.BodyError(err, most))
	case list:
		p.array(r.Context(), w, in)
	default:
		p.single(r.Context(), w, in)
	}
}

// newPosting begins a request that sends. Its body may have most bytes.
func (s *Server) newPosting(ctx context.Context, v caller) (p *posting, most int64, err error) {
	sender, err := v.space.Sender(ctx, v.viewer())
	if err == nil {
		err = tooManyRefused(sender)
	}
	if err != nil {
		return nil, 0, err
	}
	p = &posting{server: s, space: v.space, sender: sender, limits: sender.Limits()}
	most = max(maxSendBytes, 2*p.limits.MessageBytes)
	p.most = p.limits.MessageBytes
	if p.most <= 0 {
		p.most = most
	}
	return p, most, nil
}

// tooManyRefused returns an error if the sender's rejected envelopes have used
// up its allowance.
func tooManyRefused(sender *admission.Sender) error {
	wait := sender.ChargeRefused(0)
	if wait == 0 {
		return nil
	}
	err := protocol.Errorf(protocol.CodeRateLimited, "Too many of your envelopes were rejected. Wait %d ms, and send only envelopes that your capabilities allow.", wait.Milliseconds()+1)
	err.Limit, err.RetryAfterMS = "refused_bytes", wait.Milliseconds()+1
	return err
}

// posting is the state of one request that sends.
type posting struct {
	server *Server
	space  *space.Space
	sender *admission.Sender
	limits protocol.Limits
	body   *access.Body
	most   int64 // maximum bytes of one envelope
}

// reserve reserves the memory of a body: the pending elements, and the current one.
func (p *posting) reserve(v caller, size int64) bool {
	return v.hold.Grow(min(2*size, maxWhole+p.most))
}

// discard reads the rest of the body, and charges it like rejected envelopes.
func (p *posting) discard() {
	if n := p.body.Discard(); n > 0 {
		p.sender.ChargeRefused(int(n))
	}
}

func (p *posting) single(ctx context.Context, w http.ResponseWriter, in io.Reader) {
	frame, err := io.ReadAll(io.LimitReader(in, p.most+1))
	p.discard()
	if err != nil {
		access.WriteError(w, access.BodyError(err, p.most))
		return
	}
	sent, err := p.publish(ctx, [][]byte{frame}, false)
	switch {
	case err != nil:
		access.WriteError(w, access.BadRequest("The request was canceled."))
	case sent[0].Err != nil:
		access.WriteError(w, sent[0].Err)
	default:
		writeJSON(w, http.StatusOK, answer(sent[0]))
	}
}

// array admits the elements of an array. It reads up to maxWhole bytes before
// it admits the first one, so that an error in an array of usual size admits
// nothing. Later elements are admitted as they arrive.
func (p *posting) array(ctx context.Context, w http.ResponseWriter, in *bufio.Reader) {
	list := arrayReader{in: in, most: p.most}
	var answers []sent
	var frames [][]byte
	var size int64
	var fault error
	for n := 0; ; n++ {
		frame, length, err := list.next()
		if err != nil {
			fault = err
			break
		}
		if n == maxSend {
			fault = errTooMany
			break
		}
		if frame == nil {
			p.sender.ChargeRefused(int(length))
		}
		if len(frames) > 0 && size+length > maxWhole {
			sent, err := p.publish(ctx, frames, false)
			frames, size = nil, 0
			fault = err
			if err != nil {
				break
			}
			answers = p.answer(w, answers, sent)
			fault = tooManyRefused(p.sender)
			if fault != nil {
				break
			}
		}
		frames = append(frames, frame)
		size += int64(len(frame))
	}
	if errors.Is(fault, io.EOF) {
		fault = nil
	}
	if fault == nil && len(frames)+len(answers) == 0 {
		fault = errTooMany
	}
	if fault == nil || len(answers) > 0 && len(frames) > 0 {
		sent, err := p.publish(ctx, frames, len(answers) == 0)
		if err != nil {
			fault = err
		}
		answers = p.answer(w, answers, sent)
	}
	p.finish(w, answers, fault)
}

var errTooMany = errors.New("not 1 to 100 envelopes")

// finish responds to an array. The unread part of it has one result, the last.
func (p *posting) finish(w http.ResponseWriter, answers []sent, fault error) {
	p.discard()
	var refused *protocol.Error
	var array errArray
	switch {
	case fault == nil:
	case errors.As(fault, &refused):
	case errors.As(fault, &array):
		refused = protocol.Errorf(protocol.CodeInvalidJSON, "The array is not well-formed JSON: %s.", array.detail)
		refused.Detail = array.detail
	case errors.Is(fault, errTooMany):
		refused = access.BadRequest("Send 1 to 100 envelopes at a time.")
	default:
		refused = access.BodyError(fault, p.most)
	}
	if refused != nil && len(answers) == 0 {
		access.WriteError(w, refused)
		return
	}
	if refused != nil {
		answers = p.answer(w, answers, []admission.Result{{Err: refused}})
	}
	statuses := make(map[int]bool)
	for _, a := range answers {
		statuses[a.Status] = true
	}
	writeJSON(w, overall(statuses), answers)
}

// answer appends the results of envelopes. If several set Retry-After, the last
// one has the longest wait.
func (p *posting) answer(w http.ResponseWriter, answers []sent, results []admission.Result) []sent {
	for _, r := range results {
		if r.Err != nil {
			access.SetRetryAfter(w.Header(), r.Err)
		}
		answers = append(answers, answer(r))
	}
	return answers
}

// publish decodes frames and admits them; a nil frame was too large. With
// whole, one malformed frame rejects all of them.
func (p *posting) publish(ctx context.Context, frames [][]byte, whole bool) ([]admission.Result, error) {
	size := 0
	for _, f := range frames {
		if int64(len(f)) <= p.most { // a longer one is not decoded
			size += len(f)
		}
	}
	if size > heavyBytes {
		select {
		case p.server.options.Heavy <- struct{}{}:
			defer func() { <-p.server.options.Heavy }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	list := make([]admission.Decoded, len(frames))
	for i, f := range frames {
		if f == nil || int64(len(f)) > p.most {
			list[i] = admission.Decoded{In: &protocol.Inbound{Size: len(f)}, Err: tooLarge(p.most)}
			continue
		}
		in, err := protocol.Decode(f, protocol.DialectMEUP01, max(p.limits.ContextDepth, 1))
		if bad := protocol.AsError(err); whole && bad != nil && bad.Code == protocol.CodeInvalidJSON {
			p.sender.ChargeRefused(size)
			bad.Path = "/" + strconv.Itoa(i) + bad.Path
			return nil, bad
		}
		list[i] = admission.Decoded{In: in, Err: err}
	}
	return p.sender.Publish(ctx, list), nil
}

// overall returns the status of several results: the one that they share, or
// 207.
func overall(statuses map[int]bool) int {
	if len(statuses) > 1 {
		return http.StatusMultiStatus
	}
	for status := range statuses {
		if status != 0 {
			return status
		}
	}
	return http.StatusOK
}

func tooLarge(limit int64) *protocol.Error {
	err := protocol.Errorf(protocol.CodeMessageTooLarge, "A message may have at most %d bytes.", limit)
	err.Limit = limit
	return err
}

func answer(r admission.Result) sent {
	if r.Err != nil {
		return sent{Receipt: api.Receipt{ID: r.ID}, Status: r.Err.Code.HTTPStatus(), Err: r.Err}
	}
	a := sent{Receipt: api.Receipt{ID: r.ID, Seq: r.Seq, Decides: r.Decides}}
	if r.Invite != nil {
		a.Token, a.ExpiresAt = r.Invite.Token, r.Invite.ExpiresAt
	}
	return a
}

// bodyTimeout bounds how long a body may take to arrive.
const bodyTimeout = time.Minute
