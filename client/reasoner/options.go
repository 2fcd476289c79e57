package reasoner

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Defaults of [Options].
const (
	DefaultURL     = "http://127.0.0.1:9000"
	DefaultTimeout = 5 * time.Second
	DefaultRetries = 2
)

// NoRetries is the value of Options.Retries for none.
const NoRetries = -1

// The values of Options.Transport.
const (
	HTTP = "http"
	NATS = "nats"
)

// Options say where a service is and how long to wait for it.
type Options struct {
	// Transport is what Open opens: HTTP (also if it is empty) or NATS. New and
	// NewQueue do not look at it.
	Transport string
	// Timeout bounds one attempt; 0 stands for 5 s.
	Timeout time.Duration
	// Retries is how often an attempt is repeated; 0 stands for 2.
	Retries int
	// Tools are the names that an answer may choose from, where a request
	// offers none of its own.
	Tools []string

	// Of New.

	URL   string // the service's; empty stands for DefaultURL
	Token string // sent as a bearer token; never logged nor in an error
	// Version is what the service is asked to speak; empty stands for v1.
	Version string
	// HTTPClient makes the requests; nil stands for one of the client's own.
	HTTPClient *http.Client

	// Of NewQueue.

	// Conn is a connection to use; the caller closes it, after the client.
	// Without it the client makes its own to NATSURL.
	Conn *nats.Conn
	// NATSURL is where NATS is; several are separated by commas. Empty stands
	// for nats://127.0.0.1:4222.
	NATSURL string
	// NATSOptions are further options for a connection to NATSURL.
	NATSOptions []nats.Option
	// Queue is its name; empty stands for wire.DefaultQueue.
	Queue string
	// AllowAPIKeys lets requests bring a provider's key with them, which then
	// lies in NATS's files until the job is settled. The workers must allow it
	// too.
	AllowAPIKeys bool

	// Rand draws the pauses between attempts, in [0,1); nil: math/rand.
	Rand func() float64
	// NewID makes correlation ids where a request has none; nil: random ones.
	NewID func() string
	// Now is the clock of what is written into jobs; nil: time.Now.
	Now func() time.Time
}

// Open returns the client that Options.Transport names.
func Open(o Options) (Client, error) {
	switch o.Transport {
	case "", HTTP:
		return New(o)
	case NATS:
		return NewQueue(o)
	}
	return nil, fmt.Errorf("transport %q: expected %s or %s", o.Transport, HTTP, NATS)
}

func (o Options) withDefaults() (Options, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Retries == 0 {
		o.Retries = DefaultRetries
	}
	o.Retries = max(o.Retries, 0)
	if o.URL == "" {
		o.URL = DefaultURL
	}
	if o.Version == "" {
		o.Version = wire.Version
	}
	if o.NATSURL == "" {
		o.NATSURL = nats.DefaultURL
	}
	if o.Rand == nil {
		o.Rand = mathrand.Float64
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	switch {
	case o.Timeout < 0:
		return o, errors.New("timeout: it is below zero")
	case o.Retries > maxRetries:
		return o, fmt.Errorf("retries: %d is more than %d", o.Retries, maxRetries)
	}
	return o, nil
}

const (
	maxRetries = 100
	minPause   = 100 * time.Millisecond
	maxPause   = 2 * time.Second
)

// pause returns how long to wait after a failed attempt, counted from 0: the
// bound doubles, and at least half of it is waited.
func (o *Options) pause(attempt int) time.Duration {
	bound := min(float64(minPause)*math.Pow(2, float64(attempt)), float64(maxPause))
	return time.Duration(bound * (1 + o.Rand()) / 2)
}

func serviceURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the service's URL: expected http://host:port or https://host:port")
	}
	return strings.TrimSuffix(raw, "/"), nil
}
