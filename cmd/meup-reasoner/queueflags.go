package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/natsembed"
	"github.com/meup-protocol/meup/internal/program"
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
	fl.StringVar(&f.nats, "nats", "", "the queue is on this NATS, nats://host:port; several are separated by commas (default $"+reasoner.EnvNATS+", unless there is --data)")
	fl.StringVar(&f.data, "data", "", "the queue is in this folder, in a NATS server within this process")
	fl.StringVar(&f.listen, "nats-listen", natsembed.DefaultListen, "with --data: where workers and clients of other processes connect")
	fl.StringVar(&f.tokenEnv, "nats-token-env", defaultNATSTokenEnv, "environment variable with the token of NATS: what --nats is told, or --data asks for; empty: none")
	fl.StringVar(&f.name, "queue", os.Getenv(reasoner.EnvQueue), "name of the queue (default $"+reasoner.EnvQueue+", or MEUP_INTENT)")
	fl.IntVar(&f.workers, "workers", f.defaultWorkers(), "jobs of the queue at the same time ($REASONING_QUEUE_WORKERS); in serve 0 leaves them to other processes ($REASONING_QUEUE_WORKER=0)")
	fl.DurationVar(&f.ackWait, "ack-wait", queue.DefaultAckWait, "how long after a worker's last sign of life its job goes to another one")
	fl.IntVar(&f.maxDeliver, "max-deliver", queue.DefaultMaxDeliver, "how often a job is begun before it is answered with an error")
	fl.DurationVar(&f.jobTimeout, "job-timeout", queue.DefaultJobTimeout, "for one job of the queue")
	fl.IntVar(&f.replicas, "replicas", 1, "with --nats: on how many servers a new queue is kept, 1 to 5")
	fl.Int64Var(&f.maxJobs, "queue-max", queue.DefaultMaxJobs, "jobs that may wait in a new queue; more are refused with 503")
	fl.DurationVar(&f.resultTTL, "result-ttl", queue.DefaultResultTTL, "how long a new queue keeps results")
	fl.BoolVar(&f.apiKeys, "queue-api-keys", false, "take jobs that bring llm.api_key, which then lies in the queue's files")
	fl.DurationVar(&f.statusEvery, "status-interval", f.milliseconds("REASONING_QUEUE_STATUS_MS", queue.DefaultStatusEvery), "longest pause between two status lines of the queue ($REASONING_QUEUE_STATUS_MS)")
	fl.DurationVar(&f.statusPoll, "status-poll", f.milliseconds("REASONING_QUEUE_STATUS_POLL_MS", queue.DefaultStatusPoll), "how often it is looked whether the queue has changed ($REASONING_QUEUE_STATUS_POLL_MS)")
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
		return program.Usagef("--nats and --data: the queue is in one place alone")
	case f.replicas != 1 && f.data != "":
		return program.Usagef("--replicas %d: --data is one server with one copy; more are on a cluster that --nats names", f.replicas)
	case f.workers < 0 || f.maxDeliver < 1 || f.maxJobs < 1 || f.replicas < 1 || f.replicas > 5:
		return program.Usagef("--workers is 0 or more, --max-deliver and --queue-max are 1 or more, --replicas is 1 to 5")
	case f.ackWait <= 0 || f.jobTimeout <= 0 || f.resultTTL <= 0 || f.statusEvery <= 0 || f.statusPoll <= 0:
		return program.Usagef("--ack-wait, --job-timeout, --result-ttl, --status-interval and --status-poll are longer than nothing")
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
		return "", program.Usagef("--nats-token-env %s: the variable has no token in it", f.tokenEnv)
	}
	return t, nil
}

func (f *queueFlags) defaultWorkers() int {
	if os.Getenv("REASONING_QUEUE_WORKER") == "0" {
		return 0
	}
	return f.number("REASONING_QUEUE_WORKERS", queue.DefaultWorkers)
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
