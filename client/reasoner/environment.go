package reasoner

import (
	"fmt"
	"strconv"
	"time"
)

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
)

// FromEnvironment reads Options from the environment; getenv is os.Getenv.
// Unset variables leave the defaults.
func FromEnvironment(getenv func(string) string) (Options, error) {
	o := Options{
		Transport: getenv(EnvTransport),
		URL:       getenv(EnvURL), Token: getenv(EnvToken), Version: getenv(EnvVersion),
		NATSURL: getenv(EnvNATS), Queue: getenv(EnvQueue),
	}
	switch o.Transport {
	case "", HTTP, NATS:
	default:
		return o, fmt.Errorf("%s=%q: expected %s or %s", EnvTransport, o.Transport, HTTP, NATS)
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
		if o.Retries = int(n); n == 0 {
			o.Retries = NoRetries
		}
	}
	return o, nil
}
