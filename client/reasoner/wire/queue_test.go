package wire

import (
	"errors"
	"strings"
	"testing"
)

func TestQueueNames(t *testing.T) {
	n, err := NewQueueNames("")
	if err != nil || n.JobsStream() != "MEUP_INTENT_JOBS" || n.ResultsStream() != "MEUP_INTENT_RESULTS" {
		t.Errorf("%+v, %v", n, err)
	}
	n, err = NewQueueNames("Two-B_2")
	if err != nil {
		t.Fatal(err)
	}
	key := n.Key("a.b *>\x00")
	if len(key) != 43 || strings.ContainsAny(key, ".*> ") || key == n.Key("a.b") {
		t.Errorf("key %q", key)
	}
	for got, want := range map[string]string{
		n.Job("*"): "two-b_2.job.*", n.Result("k"): "two-b_2.result.k", n.Done("k"): "two-b_2.done.k", n.Canceled("k"): "two-b_2.canceled.k",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, bad := range []string{"a.b", "a b", "ä", "*"} {
		if _, err := NewQueueNames(bad); err == nil {
			t.Errorf("%q is a name", bad)
		}
	}
}

func TestCheckCorrelationID(t *testing.T) {
	for id, good := range map[string]bool{"": false, "a": true, strings.Repeat("x", MaxCorrelationID): true, strings.Repeat("x", MaxCorrelationID+1): false} {
		if err := CheckCorrelationID(id); (err == nil) != good || err != nil && !errors.Is(err, ErrCorrelationID) {
			t.Errorf("%d bytes: %v", len(id), err)
		}
	}
}
