package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// headerRoom is the space that a message needs in addition to its body, in
// bytes.
const headerRoom = 1 << 10

// codeWrongSequence is JetStream's error code for a subject whose last sequence
// is not the one that the publisher expected.
const codeWrongSequence jetstream.ErrorCode = 10071

// lookupResult returns the result under a key; nil if it does not exist.
func (q *Queue) lookupResult(ctx context.Context, key string) (*wire.QueueResult, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, results := q.handles()
	msg, err := results.GetLastMsgForSubject(ctx, q.names.Result(key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil //nolint:nilnil // a missing result is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("look for result: %w", err)
	}
	var r wire.QueueResult
	if err := json.Unmarshal(msg.Data, &r); err != nil {
		// It cannot be replaced by a valid result, so the job has failed.
		q.log.Error("a message in the stream of results is not a result", "subject", msg.Subject, "error", err)
		r = *failed(new(job), errors.New("the result cannot be read"), msg.Time)
	}
	return &r, nil
}

// writeResult writes a job's result, or an error result if it is too large. It retries up
// to maxWrites times. On an error the job must be left to other workers;
// errResultExists means that one of them has written a result. If the job was
// canceled meanwhile, it returns the result of the cancellation.
func (q *Queue) writeResult(ctx context.Context, j *job, r *wire.QueueResult) (*wire.QueueResult, error) {
	data, err := json.Marshal(r)
	if err == nil && int64(len(data))+headerRoom > q.opts.Conn.MaxPayload() {
		r.State, r.Status, r.Result = wire.JobFailed, http.StatusInsufficientStorage, nil
		r.Error = &wire.ErrorBody{
			Error:   wire.CodeResultTooLarge,
			Message: fmt.Sprintf("The result has %d bytes; a message of this NATS may have %d.", len(data), q.opts.Conn.MaxPayload()),
		}
		data, err = json.Marshal(r)
	}
	if err != nil {
		return nil, err
	}
	for range maxWrites {
		err = q.publishResult(ctx, j.key, data)
		switch {
		case err == nil:
			q.count(r.State)
			return r, nil
		case errors.Is(err, errResultExists):
			was, err := q.lookupResult(ctx, j.key)
			switch {
			case err != nil:
				return nil, err
			case was != nil && was.State == wire.JobCanceled:
				return was, nil
			case was != nil && was.State == r.State && was.Finished.Equal(r.Finished) && bytes.Equal(was.Result, r.Result):
				q.count(r.State) // the response to an earlier attempt was lost
				return was, nil  // its callback may have been canceled meanwhile
			}
			return nil, errResultExists
		case errors.Is(err, jetstream.ErrNoStreamResponse):
			_ = q.ensure(ctx) // the stream was deleted
		}
		pause(ctx)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("write result: %w", err)
}

// maxWrites bounds the attempts to write a result.
const maxWrites = 8

// errResultExists means that another result was written before.
var errResultExists = errors.New("there is a result already")

func (q *Queue) publishResult(ctx context.Context, key string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := q.js.PublishMsg(ctx, &nats.Msg{Subject: q.names.Result(key), Data: data},
		jetstream.WithExpectStream(q.names.ResultsStream()),
		jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeWrongSequence {
		return errResultExists
	}
	return err
}

func (q *Queue) count(s wire.JobState) {
	switch s {
	case wire.JobDone:
		q.done.Add(1)
	case wire.JobFailed:
		q.failed.Add(1)
	}
}
