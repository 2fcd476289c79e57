package mcpserver

import (
	"context"
	"errors"
	"testing"
)

// A notification that could mean the requests of two clients cancels none.
func TestRequests_Ambiguous(t *testing.T) {
	q := new(requests)
	key := requestKey{agent: "test", id: "1"}
	one, cancelOne := context.WithCancelCause(t.Context())
	removeOne := q.add(key, cancelOne)
	two, cancelTwo := context.WithCancelCause(t.Context())
	removeTwo := q.add(key, cancelTwo)
	q.cancel(key)
	q.cancel(requestKey{agent: "other", id: "1"})
	if one.Err() != nil || two.Err() != nil {
		t.Error("canceled, although two requests have the id")
	}
	removeOne()
	q.cancel(key)
	if one.Err() != nil || !errors.Is(context.Cause(two), errCanceled) {
		t.Error("the only request with the id is not canceled")
	}
	removeTwo()
	if len(q.all) != 0 {
		t.Errorf("%d keys of requests that have ended", len(q.all))
	}
}
