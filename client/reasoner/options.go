package reasoner

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
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
	// Tools are the tools that a response may name if the request offers none;
	// empty: wire.SearchTool and the tool that the request forces.
	Tools []string

	// Options of New.

	URL   string // of the service; empty: DefaultURL
	Token string // sent as a bearer token; neither logged nor in an error
	// Version is the requested version of the API; empty: v1, the only one.
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
	// NATSToken is sent to NATSURL; neither logged nor in an error.
	NATSToken string
	// NATSOptions are additional options for a connection to NATSURL.
	NATSOptions []nats.Option
	// Queue is the name of the queue; empty: wire.DefaultQueue.
	Queue string
	// AllowAPIKeys permits requests that contain a provider's API key, which is
	// then stored in the files of NATS until the job is settled. The workers
	// must permit it too.
	AllowAPIKeys bool
	// WaitForQueue makes a missing queue a temporary error: the client waits
	// within Timeout until a worker creates it.
	WaitForQueue bool
	// Waiting is called, at most once for each request, when a job has to wait
	// because NATS is unreachable, has no queue (ErrNoQueue), or because no
	// worker is there (ErrNoWorker). It must not block. It may be nil: then the
	// client does not look for workers.
	Waiting func(err error)

	// Rand returns random numbers in [0,1) for the delays between attempts;
	// nil: math/rand.
	Rand func() float64
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

// Names of environment variables.
const (
	EnvURL       = "REASONING_API_URL"
	EnvToken     = "REASONING_API_TOKEN"
	EnvTimeout   = "REASONING_API_TIMEOUT_MS"
	EnvRetries   = "REASONING_API_RETRIES"
	EnvVersion   = "REASONING_API_VERSION"
	EnvTransport = "REASONING_TRANSPORT" // http or nats
	EnvQueue     = "REASONING_QUEUE"
	EnvNATS      = "REASONING_NATS_URL"
	EnvNATSToken = "MEUP_NATS_TOKEN" //nolint:gosec // the name of the variable
)

// mongo is the value of EnvTransport for clients of earlier implementations.
const mongo = "mongo"

// FromEnvironment reads Options from the environment; getenv is os.Getenv.
// Unset variables leave the defaults.
func FromEnvironment(getenv func(string) string) (Options, error) {
	o := Options{
		Transport: getenv(EnvTransport),
		URL:       getenv(EnvURL), Token: getenv(EnvToken), Version: getenv(EnvVersion),
		NATSURL: getenv(EnvNATS), NATSToken: getenv(EnvNATSToken), Queue: getenv(EnvQueue),
	}
	switch o.Transport {
	case "", HTTP, NATS:
	case mongo:
		return o, fmt.Errorf("%s=%s is not supported: the queue is on NATS; set %s=%s, and %s to its server", EnvTransport, mongo, EnvTransport, NATS, EnvNATS)
	default:
		return o, fmt.Errorf("%s=%q: expected %s or %s", EnvTransport, o.Transport, HTTP, NATS)
	}
	if o.Version != "" && o.Version != wire.Version {
		return o, fmt.Errorf("%s=%q: this client supports only %s", EnvVersion, o.Version, wire.Version)
	}
	if text := getenv(EnvTimeout); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil || ms == 0 {
			return o, fmt.Errorf("%s=%q: expected milliseconds, more than 0", EnvTimeout, text)
		}
		o.Timeout = time.Duration(ms) * time.Millisecond
	}
	if text := getenv(EnvRetries); text != "" {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil || n > maxRetries {
			return o, fmt.Errorf("%s=%q: expected a number from 0 to %d", EnvRetries, text, maxRetries)
		}
		o.Retries = int(n)
		if n == 0 {
			o.Retries = NoRetries
		}
	}
	return o, nil
}

func (o Options) withDefaults() (Options, error) {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Retries = max(cmp.Or(o.Retries, DefaultRetries), 0)
	o.URL = cmp.Or(o.URL, DefaultURL)
	o.Version = cmp.Or(o.Version, wire.Version)
	if o.Rand == nil {
		o.Rand = mathrand.Float64
	}
	switch {
	case o.Version != wire.Version:
		return o, fmt.Errorf("Options.Version is %q: this client supports only %s", o.Version, wire.Version)
	case o.Timeout < 0:
		return o, errors.New("Options.Timeout must not be negative")
	case o.Retries > maxRetries:
		return o, fmt.Errorf("Options.Retries is %d: must be at most %d", o.Retries, maxRetries)
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
