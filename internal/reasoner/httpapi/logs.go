package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/reasoner"
)

// Diagnostics are the parts of GET /reasoning_diagnostics that do not change or
// come from elsewhere.
type Diagnostics struct {
	Started       time.Time
	Configuration map[string]any
	// Queue returns the state of the queue; nil: there is none.
	Queue func(ctx context.Context) (wire.QueueCounts, error)
}

// Parameters of the two routes.
var (
	filterParameters = []string{"session_id", "intent_id", "correlation_id", "since", "until"}
	pageParameters   = append(slices.Clone(filterParameters), "limit", "cursor")
)

func (h *handler) reasoningLogs(r *http.Request, _ []byte) (int, any, error) {
	q, err := logQuery(r.URL.RawQuery, pageParameters)
	if err != nil {
		return 0, nil, err
	}
	records, next := h.o.Logs.Find(q)
	page := wire.LogPage{Records: records}
	if next > 0 {
		page.NextCursor = strconv.FormatInt(next, 10)
	}
	return http.StatusOK, page, nil
}

func (h *handler) reasoningDiagnostics(r *http.Request, _ []byte) (int, any, error) {
	q, err := logQuery(r.URL.RawQuery, filterParameters)
	if err != nil {
		return 0, nil, err
	}
	d := h.o.Diagnostics
	out := wire.Diagnostics{
		Version: h.o.Version + " " + runtime.Version(), Started: d.Started.UTC(), UptimeSeconds: int64(time.Since(d.Started).Seconds()),
		Configuration: d.Configuration, Decisions: h.o.Logs.Totals(q), Log: h.o.Logs.State(),
	}
	if d.Queue != nil {
		if counts, err := d.Queue(r.Context()); err == nil {
			out.Queue = &counts
		}
	}
	if out.Configuration == nil {
		out.Configuration = map[string]any{}
	}
	return http.StatusOK, out, nil
}

// logQuery parses the parameters of a query. The error is an *reasoner.Fault.
func logQuery(raw string, allowed []string) (q reasoner.DecisionQuery, err error) {
	params, err := url.ParseQuery(raw)
	if err != nil {
		return q, reasoner.Invalid("", "The query of the URL is invalid: encode its values.")
	}
	for name, values := range params {
		value := values[0]
		switch {
		case !slices.Contains(allowed, name):
			return q, reasoner.Invalid("", "There is no such parameter: use session_id, intent_id, correlation_id, since, until; for /reasoning_logs also limit and cursor.")
		case len(values) > 1 || value == "":
			return q, reasoner.Invalid("", "The parameter "+name+" must have one value.")
		}
		switch name {
		case "session_id":
			q.SessionID = value
		case "intent_id":
			q.IntentID = value
		case "correlation_id":
			q.CorrelationID = value
		case "since":
			q.Since, err = time.Parse(time.RFC3339, value)
		case "until":
			q.Until, err = time.Parse(time.RFC3339, value)
		case "limit":
			q.Limit, err = strconv.Atoi(value)
			if q.Limit < 1 || q.Limit > reasoner.MaxLogLimit {
				err = strconv.ErrRange
			}
		case "cursor":
			q.Before, err = strconv.ParseInt(value, 10, 64)
			if q.Before < 1 {
				err = strconv.ErrRange
			}
		}
		if err != nil {
			return q, reasoner.Invalid("", "The parameter "+name+" is invalid: since and until are times such as 2026-11-22T09:00:00Z, limit is 1 to 1000, cursor is a next_cursor.")
		}
	}
	return q, nil
}
