package planner

import (
	"crypto/sha256"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

// Bounds of loop detection, and of retries by rules.
const (
	loopWindow  = 12 // latest calls that are compared
	loopRepeats = 3  // calls in the window that are the same with the same result
)

// repeats reports whether a call would bring nothing new: the last result of
// the same call was a success and no other call followed, or the same call had
// the same result loopRepeats times within the latest loopWindow calls. A
// failed call may be retried, and so may a call if other calls may have changed
// its result.
func (s *State) repeats(c contextwindow.Call) bool {
	key := c.Key()
	type outcome struct {
		key    string
		result [sha256.Size]byte
	}
	var window []outcome
	last, lastStep := (*contextwindow.Result)(nil), -1
	for i := range s.Steps {
		step := &s.Steps[i]
		for k, done := range step.Calls {
			o := outcome{key: done.Key()}
			if k < len(step.Results) {
				r := &step.Results[k]
				o.result = sha256.Sum256([]byte(r.Text + "\x00" + r.Error))
				if o.key == key {
					last, lastStep = r, i
				}
			}
			window = append(window, o)
		}
	}
	if last == nil {
		return false
	}
	if last.OK() && !calledSince(s.Steps[lastStep+1:]) {
		return true
	}
	window = window[max(0, len(window)-loopWindow):]
	same := make(map[outcome]int)
	for _, o := range window {
		if same[o]++; o.key == key && same[o] >= loopRepeats {
			return true
		}
	}
	return false
}

// calledSince reports whether any step made a call.
func calledSince(steps []contextwindow.Record) bool {
	for i := range steps {
		if len(steps[i].Calls) > 0 {
			return true
		}
	}
	return false
}
