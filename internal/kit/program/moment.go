package program

import (
	"strconv"
	"strings"
	"time"
)

// Moment parses the value of a flag that names a point in time: a day, a time, or a
// duration before now, also in days. "" is the zero time.
func Moment(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly, time.DateTime} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, Usagef("--%s %q is not a day (2026-11-22), a time (2026-11-22T18:00:00Z) or a duration (24h, 30d)", flag, s)
}
