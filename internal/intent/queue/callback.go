package queue

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// call posts the result to the URL that the job named, unless it was canceled:
// whoever did that does not wait for it.
func (q *Queue) call(ctx context.Context, j *job, r *wire.QueueResult) {
	if q.opts.Callback == nil || r == nil || r.State == wire.JobCanceled {
		return
	}
	url := callbackURL(j)
	if url == "" {
		return
	}
	body := &wire.Callback{JobID: j.CorrelationID, CorrelationID: j.CorrelationID}
	switch {
	case r.State == wire.JobFailed && r.Error != nil:
		body.Status, body.Error, body.Message = wire.StatusError, r.Error.Error, r.Error.Message
		body.Trace = []wire.TraceItem{}
	case json.Unmarshal(r.Result, &body.AgentIntentResponse) != nil:
		q.log.Error("result cannot be read for its callback", "correlation_id", j.CorrelationID)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, q.opts.JobTimeout)
	defer cancel()
	if err := q.opts.Callback(ctx, url, body); err != nil {
		q.log.Warn("callback not delivered", "correlation_id", j.CorrelationID, "error", err)
	}
}

// callbackURL is where the result of a job is to be posted; empty: nowhere.
func callbackURL(j *job) string {
	if j.Type != wire.JobAgentIntent || !bytes.Contains(j.Payload, []byte(`"callback_url"`)) {
		return ""
	}
	var fields map[string]json.RawMessage // not a struct, which would fold the case of keys
	var url string
	if json.Unmarshal(j.Payload, &fields) != nil || json.Unmarshal(fields["callback_url"], &url) != nil {
		return ""
	}
	return url
}
