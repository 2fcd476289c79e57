package telemetry

import "sync"

const (
	// maxLabels bounds the values of one label: names of tools are chosen by
	// strangers, and each makes a series that stays.
	maxLabels = 64
	// maxLabel bounds one of them, in bytes.
	maxLabel = 128
	// otherLabel stands for all values beyond.
	otherLabel = "_OTHER"
)

// labels are the values of one label.
type labels struct {
	mask func(string) string

	mu   sync.Mutex
	seen map[string]struct{}
}

// known returns what text counts as, unless it has not been counted yet: then
// it is one of the others.
func (l *labels) known(text string) string {
	if text == "" {
		return ""
	}
	label := cut(l.mask(text), maxLabel)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.seen[label]; known {
		return label
	}
	return otherLabel
}

// value returns what text counts as.
func (l *labels) value(text string) string {
	if text == "" {
		return ""
	}
	label := cut(l.mask(text), maxLabel)
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
