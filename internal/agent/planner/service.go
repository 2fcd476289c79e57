package planner

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/reasoner"
)

// reasonerTime bounds one attempt of a Reasoning API, which queries a model.
const reasonerTime = 2 * time.Minute

// openService opens the client of a Reasoning API. The scheme of
// Options.Reasoner selects the transport; everything that the options do not
// set comes from the environment.
func openService(o *Options) (*Opened, error) {
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	settings, err := reasoner.FromEnvironment(getenv)
	if err == nil {
		err = setAddress(&settings, o.Reasoner)
	}
	if err != nil {
		return nil, fmt.Errorf("open reasoning service: %w", err)
	}
	settings.Token = o.ReasonerToken
	if settings.Timeout == 0 {
		settings.Timeout = reasonerTime
	}
	if settings.Transport == reasoner.NATS {
		if settings.Retries == 0 {
			settings.Retries = reasoner.NoRetries // a further attempt would wait for the same job
		}
		settings.WaitForQueue = true
		if o.Logger != nil {
			settings.Waiting = func(err error) {
				o.Logger.Warn("the decision waits for the queue of the reasoning service", "error", err)
			}
		}
	}
	c, err := reasoner.Open(settings)
	if err != nil {
		return nil, fmt.Errorf("open reasoning service: %w", err)
	}
	return &Opened{Decider: &Remote{Client: c}, Approach: ReasonerName, Close: c.Close}, nil
}

// setAddress sets the transport and the address, which may be empty.
func setAddress(settings *reasoner.Options, address string) error {
	scheme, _, _ := strings.Cut(address, "://")
	transport := reasoner.HTTP
	switch scheme {
	case "":
		return nil
	case "http", "https":
		settings.URL = address
	case "nats", "tls":
		transport, settings.NATSURL = reasoner.NATS, address
	default:
		return errors.New("its address must begin with http://, https://, nats:// or tls://")
	}
	if settings.Transport != "" && settings.Transport != transport {
		return fmt.Errorf("%s=%s does not fit an address that begins with %s://", reasoner.EnvTransport, settings.Transport, scheme)
	}
	settings.Transport = transport
	return nil
}
