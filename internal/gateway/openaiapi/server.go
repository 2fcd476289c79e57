// Package openaiapi serves spaces and their participants as models of the OpenAI API:
// a request asks a question, and the response is its turn. The reasoning of the
// participants is the reasoning of the model.
package openaiapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// Patterns returns the routes of the handler.
func Patterns() []string {
	return []string{"GET /v1/models", "GET /v1/models/{id...}", "POST /v1/chat/completions", "POST /v1/responses", "GET /v1/responses/{id}"}
}

// New returns the handler of the routes.
func New(o adapter.Options) http.Handler {
	gate := adapter.NewGate(o)
	mux := http.NewServeMux()
	for i, serve := range []func(*asker, http.ResponseWriter, *http.Request) error{
		(*asker).models, (*asker).model, (*asker).chat, (*asker).respond, (*asker).response,
	} {
		mux.HandleFunc(Patterns()[i], func(w http.ResponseWriter, r *http.Request) {
			q, err := gate.Open(w, r, "", maxBody)
			if err == nil {
				defer q.Close()
				err = serve(&asker{q}, w, r)
			}
			if err != nil {
				faultOf(err).write(w)
			}
		})
	}
	return mux
}

// asker is the participant of a request.
type asker struct{ *adapter.Request }

// asked is a question that was published.
type asked struct {
	question ask.Question
	hash     string // in the ids of the question and of the answer
	created  int64  // Unix time of the request
}

const questionPrefix = "openai"

// questionID returns the id of the question with a hash.
func questionID(hash string) protocol.ID { return protocol.ID(questionPrefix + "-" + hash) }

// chat serves chat completions.
func (a *asker) chat(w http.ResponseWriter, r *http.Request) error {
	return a.serve(r, false, func(in *input, q *asked) output { return newChat(w, in, q) })
}

// respond serves the creation of responses.
func (a *asker) respond(w http.ResponseWriter, r *http.Request) error {
	return a.serve(r, true, func(in *input, q *asked) output { return newResponse(w, in, q) })
}

// serve publishes the question of a request and shows its turn.
func (a *asker) serve(r *http.Request, responses bool, show func(*input, *asked) output) error {
	ctx := r.Context()
	var you protocol.ParticipantID
	in, err := decode(a.Body, responses, func(in *input) (err error) {
		you, err = a.enter(ctx, in)
		if err != nil {
			return err
		}
		return a.CheckKind(ctx, in.space, you, protocol.KindChat)
	})
	if err != nil {
		return err
	}
	if answer, ok := in.task(); ok {
		out := show(in, &asked{hash: strings.TrimPrefix(string(adapter.ID(questionPrefix, in.same, "task")), questionPrefix+"-"), created: time.Now().Unix()})
		out.say(answer)
		out.end(usage{})
		return nil
	}
	q, err := a.publish(r, in, you)
	if err != nil {
		return err
	}
	absent, err := a.absent(ctx, in)
	if err != nil {
		return err
	}
	if err := a.Wait(); err != nil {
		return err
	}
	a.follow(ctx, in, q, show(in, q), absent)
	return nil
}

// enter returns the participant of the request in the space of the model.
func (a *asker) enter(ctx context.Context, in *input) (protocol.ParticipantID, error) {
	_, you, err := a.Space(ctx, in.space)
	if code := protocol.AsError(err); err != nil && (code.Code == protocol.CodeNotFound || code.Code == protocol.CodeForbidden) {
		return "", unknownModel(in.model)
	}
	if err == nil && in.to == you {
		return "", invalid("model", "model: the participant is the one of the token.")
	}
	return you, err
}

// absent returns a remark if no participant that could answer is connected.
func (a *asker) absent(ctx context.Context, in *input) (string, error) {
	list, err := a.agents(ctx, in.space)
	if err != nil {
		return "", err
	}
	for _, id := range list {
		if in.to == "" || id == in.to {
			return "", nil
		}
	}
	if in.to == "" {
		return "No participant that could answer is connected. The question is in the history of the space.", nil
	}
	return string(in.to) + " is not connected. It finds the question in the history when it connects.", nil
}

// follow shows a turn.
func (a *asker) follow(ctx context.Context, in *input, q *asked, out output, absent string) {
	if s := streamOf(out); s != nil {
		s.Write(": waiting\n\n") // clients and proxies expect the headers soon, and the first step may take long
		defer s.KeepAlive()()
	}
	if absent != "" {
		out.think(absent, true)
	}
	v := newView(out, in.to)
	err := ask.Follow(ctx, a.Client, q.question, v.event)
	if err == nil || v.ended || ctx.Err() != nil {
		return
	}
	f := faultOf(err)
	var refused *protocol.Error
	if !errors.As(err, &refused) {
		f = faultOf(protocol.Errorf(protocol.CodeUnavailable, "The gateway ended the response; send the same request again to continue."))
	}
	out.fail(f)
}

// streamOf returns the stream of an output; nil: it has none.
func streamOf(out output) *adapter.Stream {
	switch o := out.(type) {
	case *chat:
		return o.stream
	case *response:
		return o.stream
	}
	return nil
}

// retryWindow is how long a request with the same messages is a retry. Clients wait
// up to 10 minutes for a response, and repeat a request twice.
const retryWindow = 30 * time.Minute

// publish sends the question of a request. Its id follows from the participant, the
// model, and all messages up to the question, so that a retry asks nothing twice, and
// the same text later in a conversation is a new question. The secret of the log in it
// keeps others from using the id first.
func (a *asker) publish(r *http.Request, in *input, you protocol.ParticipantID) (*asked, error) {
	ctx, now := r.Context(), time.Now()
	in.label("chat", r.Header.Get("X-OpenWebUI-Chat-Id"))
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxLabel {
		return nil, invalid("", "Idempotency-Key: expected at most 256 bytes.")
	}
	secret, err := a.Secret(ctx)
	if err != nil {
		return nil, err
	}
	parts := append([]string{secret, in.space, string(you), string(in.to), in.previous, key}, in.labels...)
	parts = append(parts, in.same)
	id, before := questionIDs(parts, key != "", now)
	if before != "" {
		if e, err := ask.Envelope(ctx, a.Client, in.space, before); err == nil && now.Sub(e.TS) < retryWindow {
			id = before
		}
	}
	session := string(adapter.ID("chat", append([]string{in.space, string(you), in.first}, in.labels...)...))
	e := protocol.Envelope{
		ID: id, Kind: protocol.KindChat,
		Payload: adapter.Object("message", in.text, "session_id", session),
	}
	if in.to != "" {
		e.To = []protocol.ParticipantID{in.to}
	}
	replies, err := a.repliesTo(ctx, in, you, session)
	if err != nil {
		return nil, err
	}
	if replies != "" {
		e.Correlation = protocol.CorrelateTo(replies)
	}
	q, err := ask.Publish(ctx, a.Client, in.space, you, e)
	if refused := protocol.AsError(err); err != nil && refused.Code == protocol.CodeUnknownParticipant {
		return nil, unknownModel(in.model)
	}
	return &asked{question: q, hash: strings.TrimPrefix(string(id), questionPrefix+"-"), created: now.Unix()}, err
}

// questionIDs returns the id of the question of a request, and the one that it has if
// an earlier request asked it within retryWindow; "": there is none. The ids change with
// time, because a new conversation may begin with the words of an old one; keyed: the
// client tells them apart.
func questionIDs(parts []string, keyed bool, now time.Time) (id, before protocol.ID) {
	if keyed {
		return adapter.ID(questionPrefix, parts...), ""
	}
	window := now.Unix() / int64(retryWindow/time.Second)
	at := func(n int64) protocol.ID {
		return adapter.ID(questionPrefix, append(slices.Clone(parts), strconv.FormatInt(n, 10))...)
	}
	return at(window), at(window - 1)
}

// maxTurns is how many turns of a conversation are searched for the one before.
const maxTurns = 8

// repliesTo returns the question before the one of the request, in the same
// conversation, so that both are in one thread of the space; "": there is none.
func (a *asker) repliesTo(ctx context.Context, in *input, you protocol.ParticipantID, session string) (protocol.ID, error) {
	if in.previous != "" {
		hash, space, ok := parseResponseID(in.previous)
		if !ok || space != in.space {
			return "", unknownResponse("previous_response_id")
		}
		e, err := ask.Envelope(ctx, a.Client, space, questionID(hash))
		if errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) || err == nil && e.From != you {
			return "", unknownResponse("previous_response_id")
		}
		return questionID(hash), err
	}
	if in.earlier == "" {
		return "", nil
	}
	history, err := a.Client.SessionHistory(ctx, in.space, session, api.SessionPage{Limit: maxTurns})
	if err != nil {
		return "", nil //nolint:nilerr // the question begins a thread of its own
	}
	var found protocol.ID
	for _, t := range history.Turns { // the newest is the last
		if t.From == you && t.UserInput == in.earlier {
			found = t.MessageID
		}
	}
	return found, nil
}

// hashBytes is the length of a hash in an id.
const hashBytes = 32

// parseResponseID reads the id of a response.
func parseResponseID(id string) (hash, space string, ok bool) {
	rest, ok := strings.CutPrefix(id, "resp_")
	if !ok || len(rest) < hashBytes+2 || rest[hashBytes] != '_' {
		return "", "", false
	}
	hash, space = rest[:hashBytes], rest[hashBytes+1:]
	return hash, space, protocol.ValidSpaceName(space) && protocol.ValidID(hash)
}

func unknownResponse(param string) *fault {
	f := invalid(param, "There is no such response of this token.")
	f.status, f.code = http.StatusNotFound, "response_not_found"
	return f
}

// response serves a response that was created before.
func (a *asker) response(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	hash, space, ok := parseResponseID(r.PathValue("id"))
	if !ok {
		return unknownResponse("response_id")
	}
	in := &input{space: space, model: space, stream: r.URL.Query().Get("stream") == "true"}
	you, err := a.enter(ctx, in)
	if err != nil {
		return err
	}
	e, err := ask.Envelope(ctx, a.Client, space, questionID(hash))
	if errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) || err == nil && e.From != you {
		return unknownResponse("response_id")
	}
	if err != nil {
		return err
	}
	q := &asked{hash: hash, created: e.TS.Unix(), question: ask.Question{Space: space, ID: e.ID, From: you, To: e.To, Seq: e.Seq}}
	if len(e.To) == 1 {
		in.to = e.To[0]
		in.model += "/" + string(in.to)
	}
	out := newResponse(w, in, q)
	if !in.stream {
		turn, err := a.Client.TurnOf(ctx, space, e.ID)
		if err != nil {
			return err
		}
		if s := turn.Turn.State; s == api.TurnPending || s == api.TurnProcessing {
			writeJSON(w, http.StatusOK, out.snapshot())
			return nil
		}
	}
	if err := a.Wait(); err != nil {
		return err
	}
	a.follow(ctx, in, q, out, "")
	return nil
}
