package textutil

import (
	"fmt"
	"time"
)

// Duration formats a duration in words, rounded up to a second: "1 second",
// "5 minutes 30 seconds", "2 hours 1 minute".
func Duration(d time.Duration) string {
	s := int((d + time.Second - 1) / time.Second)
	switch {
	case s < 60:
		return Count(s, "second")
	case s < 3600 && s%60 == 0:
		return Count(s/60, "minute")
	case s < 3600:
		return Count(s/60, "minute") + " " + Count(s%60, "second")
	case s%3600 == 0:
		return Count(s/3600, "hour")
	}
	return Count(s/3600, "hour") + " " + Count(s%3600/60, "minute")
}

// Took formats the duration of something that has ended, rounded up: "38ms", "9s", "1m 12s".
func Took(d time.Duration) string {
	if d <= 999*time.Millisecond {
		return fmt.Sprintf("%dms", max(0, (d+time.Millisecond-1)/time.Millisecond))
	}
	return ShortDuration(d + time.Second - 1)
}

// ShortDuration formats a duration, rounded down to a second: "9s", "1m 12s".
func ShortDuration(d time.Duration) string {
	s := int(d / time.Second)
	if s < 60 {
		return fmt.Sprintf("%ds", s)
	}
	return fmt.Sprintf("%dm %ds", s/60, s%60)
}
