package natsconn

import (
	"math/rand/v2"
	"time"
)

// Service is what the connected server does for a client.
type Service int

// The services, from the worst to the best.
const (
	Unserved Service = iota // the server responds to nothing, or has no leader
	Unknown                 // for example while the client connects
	Served
)

// Leaving decides when a client leaves a server that does not serve it, for
// another one of the cluster. The wait doubles with each server that is left, as
// the others may be no better and a client that leaves loses messages, until one
// serves the client.
type Leaving struct {
	Min, Max time.Duration                     // of the wait
	Jitter   func(time.Duration) time.Duration // draws the wait

	wait time.Duration
	due  time.Time // zero unless Unserved
}

// Due reports whether to leave the server now.
func (l *Leaving) Due(now time.Time, s Service) bool {
	switch {
	case s == Served:
		l.wait, l.due = 0, time.Time{}
	case s == Unknown:
		l.due = time.Time{}
	case l.due.IsZero():
		l.due = now.Add(l.Jitter(max(l.wait, l.Min)))
	case now.After(l.due):
		l.wait, l.due = min(2*max(l.wait, l.Min), l.Max), time.Time{}
		return true
	}
	return false
}

// Jitter returns about d, so that clients do not act in step.
func Jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) + d/4
}
