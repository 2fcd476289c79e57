package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/kit/natsembed"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
)

// queueFlags configure the queue and its workers. serve and worker have them;
// without --nats and --data there is no queue.
type queueFlags struct {
	nats, data, listen string
	tokenEnv           string
	name               string

	workers, maxDeliver     int
	ackWait, jobTimeout     time.Duration
	replicas                int
	maxJobs                 int64
	resultTTL               time.Duration
	apiKeys                 bool
	statusEvery, statusPoll time.Duration
	drain                   time.Duration // 0: the queue's default

	wrong error // of the environment
}

// defaultNATSTokenEnv is the default variable of the NATS token.
const defaultNATSTokenEnv = "MEUP_NATS_TOKEN" //nolint:gosec // the name of the variable

func (f *queueFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.nats, "nats", "", "NATS server of the queue, nats://host:port, or several, separated by commas (default $"+reasoner.EnvNATS+", unless --data is given)")
	fl.StringVar(&f.data, "data", "", "folder of the queue; starts a NATS server in this process")
	fl.StringVar(&f.listen, "nats-listen", natsembed.DefaultListen, "with --data: address for workers and clients in other processes")
	fl.StringVar(&f.tokenEnv, "nats-token-env", defaultNATSTokenEnv, "environment variable with the NATS token: sent to --nats, required by the server of --data; empty: no token")
	fl.StringVar(&f.name, "queue", os.Getenv(reasoner.EnvQueue), "name of the queue (default $"+reasoner.EnvQueue+", or MEUP_INTENT)")
	workers := 0
	if os.Getenv("REASONING_QUEUE_WORKER") != "0" {
		workers = f.number("REASONING_QUEUE_WORKERS", queue.DefaultWorkers)
	}
	fl.IntVar(&f.workers, "workers", workers, "concurrent jobs of the queue ($REASONING_QUEUE_WORKERS); with 0, serve leaves them to other processes ($REASONING_QUEUE_WORKER=0)")
	fl.DurationVar(&f.ackWait, "ack-wait", queue.DefaultAckWait, "time after the last heartbeat of a worker until another one gets its job")
	fl.IntVar(&f.maxDeliver, "max-deliver", queue.DefaultMaxDeliver, "how often a job is started before it fails")
	fl.DurationVar(&f.jobTimeout, "job-timeout", queue.DefaultJobTimeout, "maximum time of one job of the queue")
	fl.IntVar(&f.replicas, "replicas", 1, "with --nats: number of copies of a new queue, 1 to 5")
	fl.Int64Var(&f.maxJobs, "queue-max", queue.DefaultMaxJobs, "maximum number of waiting jobs in a new queue; more are rejected with 503")
	fl.DurationVar(&f.resultTTL, "result-ttl", queue.DefaultResultTTL, "how long a new queue keeps results")
	fl.BoolVar(&f.apiKeys, "queue-api-keys", false, "accept jobs with llm.api_key, which is then stored in the files of the queue")
	fl.DurationVar(&f.statusEvery, "status-interval", f.milliseconds("REASONING_QUEUE_STATUS_MS", queue.DefaultStatusEvery), "maximum interval between status lines of the queue ($REASONING_QUEUE_STATUS_MS)")
	fl.DurationVar(&f.statusPoll, "status-poll", f.milliseconds("REASONING_QUEUE_STATUS_POLL_MS", queue.DefaultStatusPoll), "interval of checks for changes of the queue ($REASONING_QUEUE_STATUS_POLL_MS)")
}

// wanted reports whether a queue was requested. The address from the
// environment is not a flag default, since --help would print it with its
// password.
func (f *queueFlags) wanted() bool {
	if f.nats == "" && f.data == "" {
		f.nats = os.Getenv(reasoner.EnvNATS)
	}
	return f.nats != "" || f.data != ""
}

// check validates the flags before anything is started.
func (f *queueFlags) check() error {
	switch {
	case f.wrong != nil:
		return program.Usage(f.wrong)
	case f.nats != "" && f.data != "":
		return program.Usagef("--nats and --data exclude each other")
	case f.replicas != 1 && f.data != "":
		return program.Usagef("--replicas %d needs --nats: the server of --data has one copy", f.replicas)
	case f.workers < 0 || f.maxDeliver < 1 || f.maxJobs < 1 || f.replicas < 1 || f.replicas > 5:
		return program.Usagef("--workers must be at least 0, --max-deliver and --queue-max at least 1, --replicas 1 to 5")
	case f.ackWait <= 0 || f.jobTimeout <= 0 || f.resultTTL <= 0 || f.statusEvery <= 0 || f.statusPoll <= 0:
		return program.Usagef("--ack-wait, --job-timeout, --result-ttl, --status-interval and --status-poll must be positive")
	}
	return nil
}

// token reads the NATS token. An explicitly named variable must have one.
func (f *queueFlags) token() (string, error) {
	if f.tokenEnv == "" {
		return "", nil
	}
	t := os.Getenv(f.tokenEnv)
	if t == "" && f.tokenEnv != defaultNATSTokenEnv {
		return "", program.Usagef("--nats-token-env %s: the variable is empty", f.tokenEnv)
	}
	return t, nil
}

func (f *queueFlags) milliseconds(name string, otherwise time.Duration) time.Duration {
	return time.Duration(f.number(name, int(otherwise.Milliseconds()))) * time.Millisecond
}

// number reads a positive integer from the environment.
func (f *queueFlags) number(name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		f.wrong = fmt.Errorf("the environment variable %s=%q: expected a whole number above 0", name, text)
		return otherwise
	}
	return int(n)
}
