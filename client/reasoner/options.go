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

// NoRetries is the value of Options.Retries that disables retries.
const NoRetries = -1

// Values of Options.Transport.
const (
	HTTP = "http"
	NATS = "nats"
)

// Options configures a Client.
type Options struct {
	// Transport selects the transport for Open: HTTP (also if empty) or NATS.
	// New and NewQueue ignore it.
	Transport string
	// Timeout bounds one attempt; 0: 5 s.
	Timeout time.Duration
	// Retries is the number of retries; 0: 2.
	Retries int
	// Tools are the tools that a response may name if the request offers none.
	Tools []string

	// Options of New.

	URL   string // of the service; empty: DefaultURL
	Token string // sent as a bearer token; neither logged nor in an error
	// Version is the requested version of the API; empty: v1.
	Version string
	// HTTPClient makes the requests; nil: the client creates one.
	HTTPClient *http.Client

	// Options of NewQueue.

	// Conn is the connection to use; the caller closes it after the client. If
	// it is nil, the client connects to NATSURL.
	Conn *nats.Conn
	// NATSURL is the URL of NATS, or several, separated by commas. Empty:
	// nats://127.0.0.1:4222.
	NATSURL string
	// NATSOptions are additional options for a connection to NATSURL.
	NATSOptions []nats.Option
	// Queue is the name of the queue; empty: wire.DefaultQueue.
	Queue string
	// AllowAPIKeys permits requests that contain a provider's API key, which is
	// then stored in the files of NATS until the job is settled. The workers
	// must permit it too.
	AllowAPIKeys bool

	// Rand returns random numbers in [0,1) for the delays between attempts;
	// nil: math/rand.
	Rand func() float64
	// NewID generates the correlation ids of requests without one; nil: random
	// ids.
	NewID func() string
	// Now is the clock for timestamps in jobs; nil: time.Now.
	Now func() time.Time
}

// Open returns a client for Options.Transport.
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

// pause returns the delay after a failed attempt, counted from 0: the bound
// doubles, and the delay is between half of it and all of it.
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
