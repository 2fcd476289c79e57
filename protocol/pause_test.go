package protocol

import (
	"testing"
	"time"
)

func TestPauseDuration(t *testing.T) {
	for payload, want := range map[string]time.Duration{
		`{}`:                             0,
		`{"timeout_seconds":0}`:          0,
		`{"timeout_seconds":-1}`:         0,
		`{"timeout_seconds":"5"}`:        0,
		`{"timeout_seconds":1.5}`:        1500 * time.Millisecond,
		`{"timeout_seconds":1e-12}`:      1,
		`{"timeout_seconds":40000000}`:   40_000_000 * time.Second,
		`{"timeout_seconds":1e300}`:      maxPause,
		`{"timeout_seconds":3153600001}`: maxPause,
	} {
		t.Run(payload, func(t *testing.T) {
			doc, err := ParseJSON([]byte(payload), MaxDepth)
			if err != nil {
				t.Fatal(err)
			}
			if got := PauseDuration(doc.Root()); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}
