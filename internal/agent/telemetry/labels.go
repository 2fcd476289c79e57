package telemetry

import (
	"sync"

	"github.com/meup-protocol/meup/internal/textutil"
)

const (
	// maxLabels bounds the values of one label: tool owners choose the names of
	// tools, and each value creates a permanent series.
	maxLabels = 64
	// maxLabel bounds one value, in bytes.
	maxLabel = 128
	// otherLabel replaces all further values.
	otherLabel = "_OTHER"
)

// labels holds the values of one label.
type labels struct {
	mask func(string) string

	mu   sync.Mutex
	seen map[string]struct{}
}

// known returns the label value for text if it exists, or else otherLabel.
func (l *labels) known(text string) string {
	if text == "" {
		return ""
	}
	label := textutil.Truncate(l.mask(text), maxLabel)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.seen[label]; known {
		return label
	}
	return otherLabel
}

// value returns the label value for text and adds it if there is room.
func (l *labels) value(text string) string {
	if text == "" {
		return ""
	}
	label := textutil.Truncate(l.mask(text), maxLabel)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.seen[label]; known {
		return label
	}
	if len(l.seen) >= maxLabels {
		return otherLabel
	}
	l.seen[label] = struct{}{}
	return label
}
