package main

import (
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/kit/program"
)

const envLogLevel = "REASONING_LOG_LEVEL"

// envQueuePoll has no effect: workers are notified of jobs.
const envQueuePoll = "REASONING_QUEUE_POLL_MS"

// known are the variables that this program or clients of the API read or ignore, and
// that begin with one of knownPrefixes.
var (
	knownPrefixes = []string{"REASONING_LOG_", "REASONING_QUEUE_", "REASONING_API_", "REASONING_NATS_"}
	known         = []string{
		envLogLevel, envLogFile, envLogStdout,
		"REASONING_QUEUE_WORKER", "REASONING_QUEUE_WORKERS", "REASONING_QUEUE_STATUS_MS", "REASONING_QUEUE_STATUS_POLL_MS", envQueuePoll,
		reasoner.EnvURL, reasoner.EnvToken, reasoner.EnvTimeout, reasoner.EnvRetries, reasoner.EnvVersion, reasoner.EnvNATS,
	}
)

// serviceLink matches the variables that Kubernetes sets for a service, such as
// reasoning-api.
var serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT|PORT)(_[A-Z0-9_]+)?$`)

// checkEnvironment returns an error for an unknown variable with a prefix of the
// API's, which may be misspelled, and for an unknown transport.
func checkEnvironment() error {
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if value == "" || slices.Contains(known, name) {
			continue
		}
		prefixed := slices.ContainsFunc(knownPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		if prefixed && !serviceLink.MatchString(name) {
			return program.Usagef("the environment variable %s is unknown: remove it; those that begin like it are %s", name, strings.Join(known, ", "))
		}
	}
	switch t := os.Getenv(reasoner.EnvTransport); t {
	case "", reasoner.HTTP, reasoner.NATS:
		return nil
	case "mongo":
		return program.Usagef("REASONING_TRANSPORT=mongo is not supported: the queue is on NATS; use --nats or --data here, and REASONING_TRANSPORT=nats with REASONING_NATS_URL for clients")
	default:
		return program.Usagef("REASONING_TRANSPORT=%q: expected http or nats", t)
	}
}

// warnIgnored logs the variables of earlier implementations that have no effect,
// and that other programs may need.
func warnIgnored(log *slog.Logger) {
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		uvicorn := strings.HasPrefix(name, "UVICORN_") && name != envHost && name != envPort && !serviceLink.MatchString(name)
		if value != "" && (uvicorn || name == "MONGO_URI" || name == "MONGO_HOST" || name == envQueuePoll) {
			log.Warn("the environment variable has no effect", "name", name)
		}
	}
}
